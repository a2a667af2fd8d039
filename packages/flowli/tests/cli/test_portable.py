"""Executions leave a bucket as a file, and are taken into another one after it was verified."""

from __future__ import annotations

import json

import pytest


@pytest.fixture
def filled(flowli):
    """An echo that completed, one that failed, a purchase that waits."""
    flowli("start", "echo", "--arg", "text=hello", "--key", "order:1")
    flowli("start", "fail")
    flowli("start", "purchase", "--arg", 'order={"id": "INV-1", "cents": 5}')
    flowli.work()
    return flowli


@pytest.fixture
def file(filled, tmp_path):
    name = tmp_path / "executions.jsonl"
    assert filled("export", "--text", "", "--created-after", "1h", "--output", str(name)).startswith("3 executions in ")
    return name


def elsewhere(tmp_path) -> tuple[str, str]:
    return ("--storage", f"file:{tmp_path}/elsewhere?durability=os")


def test_what_has_ended_is_taken_in_and_shown_as_before(filled, file, tmp_path):
    there = elsewhere(tmp_path)
    told = json.loads(filled("import", str(file), "--json", *there, code=1))
    assert sorted(one["state"] for one in told if not one["refused"]) == ["taken in", "taken in"]
    (live,) = (one for one in told if one["refused"])
    assert live["state"] == "it is suspended: only what has ended can be taken in"
    rows = json.loads(filled("list", "--json", *there))
    assert {row["workflow"] for row in rows} == {"echo", "fail"}
    for row in rows:
        shown = filled("journal", row["eid"], "--json", *there)
        assert shown == filled("journal", row["eid"], "--json")
        assert json.loads(filled("explain", row["eid"], "--json", *there))["details"]


def test_taking_it_in_again_does_nothing(filled, file, tmp_path):
    there = elsewhere(tmp_path)
    filled("import", str(file), *there, code=1)
    told = json.loads(filled("import", str(file), "--json", *there, code=1))
    assert [one["state"] for one in told if not one["refused"]] == ["there already"] * 2
    told = json.loads(filled("import", str(file), "--json", code=1))
    assert [one["state"] for one in told if not one["refused"]] == ["there already"] * 2


def test_a_dry_run_takes_nothing_in(filled, file, tmp_path):
    there = elsewhere(tmp_path)
    filled("import", str(file), "--dry-run", *there, code=1)
    assert filled("list", *there) == ""


def test_one_execution_goes_to_standard_output(filled):
    (row,) = filled.json("list", "--of-key", "order:1")
    lines = filled("export", row["eid"][:30]).splitlines()
    assert [json.loads(line).get("count") for line in lines] == [None, None, 1]
    assert json.loads(lines[0])["version"] == 1
    assert json.loads(lines[1])["execution"]["eid"] == row["eid"]


@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        (lambda lines: lines[:-1], "the end is missing"),
        (lambda lines: [lines[0], lines[1].replace("hello", "hullo"), *lines[2:]], "was changed"),
        (lambda lines: [lines[0], *lines[2:]], "tells of other lines"),
        (lambda lines: [*lines, lines[-1]], "something follows"),
        (lambda lines: [lines[0].replace('"version":1', '"version":2'), *lines[1:]], "upgrade flowli"),
        (lambda lines: lines[1:], "no export"),
        (lambda lines: ["nonsense"], "no JSON"),
        (lambda lines: [], "the end is missing"),
    ],
)
def test_a_file_that_is_not_whole_is_refused_before_anything_is_written(filled, file, tmp_path, damage, problem):
    lines = filled("export", "--workflow", "echo").splitlines()
    broken = tmp_path / "broken.jsonl"
    broken.write_text("".join(f"{line}\n" for line in damage(lines)))
    filled("import", str(broken), *elsewhere(tmp_path), code=2)
    assert problem in filled.errors


def test_an_id_that_stands_for_something_else_is_refused(filled, tmp_path):
    (row,) = filled.json("list", "--of-key", "order:1")
    before = tmp_path / "before.jsonl"
    filled("export", row["eid"], "--output", str(before))
    filled("erase", row["eid"], "--yes")
    told = json.loads(filled("import", str(before), "--json", code=1))
    assert told[0]["state"].endswith("is in this bucket with another journal, and stays as it is")
    after = filled("export", row["eid"])
    assert "hello" not in after
    (tmp_path / "after.jsonl").write_text(after)
    filled("import", str(tmp_path / "after.jsonl"), *elsewhere(tmp_path))
    assert json.loads(filled("explain", row["eid"], "--json", *elsewhere(tmp_path)))["reason"] == "erased"


def test_neither_ids_nor_filters_is_refused(filled):
    filled("export", code=2)
    assert "name executions" in filled.errors
