"""Listing by what one looks for, and verbs on all that fit."""

from __future__ import annotations

import json

import pytest


@pytest.fixture
def shop(flowli):
    """Three purchases that wait for a parcel, two that failed, one echo that completed."""
    for number in (1, 2, 3):
        flowli("start", "purchase", "--arg", f'order={{"id": "INV-{number}", "cents": 5}}', "--key", f"order:{number}")
    for _ in range(2):
        flowli("start", "fail")
    flowli("start", "echo", "--arg", "text=hello", "--version", "1")
    flowli.work()
    return flowli


def eids(flowli, *options: str) -> set[str]:
    return {row["eid"] for row in flowli.json("list", *options)}


def keys(flowli, *options: str) -> set[str]:
    return {row["key"] for row in flowli.json("list", *options)}


def test_each_filter_chooses(shop):
    assert len(eids(shop)) == 6
    assert len(eids(shop, "--status", "failed")) == 2
    assert len(eids(shop, "--status", "failed", "--status", "completed")) == 3
    assert keys(shop, "--workflow", "purchase") == {"order:1", "order:2", "order:3"}
    assert keys(shop, "--of-key", "order:2") == {"order:2"}
    assert keys(shop, "--text", "order:3") == {"order:3"}
    assert len(eids(shop, "--waiting-on", "channel:parcels")) == 3
    assert len(eids(shop, "--waiting-on", "parcels")) == 3
    assert eids(shop, "--waiting-on", "timer") == set()
    assert len(eids(shop, "--of-queue", "default")) == 6
    assert eids(shop, "--of-version", "2") == set()
    assert eids(shop, "--created-before", "1h") == set()
    assert len(eids(shop, "--created-after", "1h")) == 6
    assert len(eids(shop, "--updated-after", "2020-01-31")) == 6
    assert eids(shop, "--updated-before", "2020-01-31T12:00Z") == set()
    assert eids(shop, "--attribute", "country=CH") == set()


def test_columns_are_chosen(shop):
    head = shop("list", "--columns", "key,took", "--workflow", "purchase").splitlines()
    assert head[0].split() == ["EXECUTION", "KEY", "TOOK"]
    assert "order:3" in head[1]
    assert shop("list", "--columns", "+key").splitlines()[0].split()[-2:] == ["KEY", "DETAIL"]
    shop("list", "--columns", "statsu", code=2)
    assert "did you mean 'status'" in shop.errors


def test_pages_follow_each_other(shop):
    first = shop("list", "--limit", "4").splitlines()
    cursor = shop.errors.split("--after ")[1].split(" ")[0]
    second = shop("list", "--limit", "4", "--after", cursor).splitlines()
    found = [line.split()[0] for line in (*first[1:], *second[1:])]
    assert (len(found), len(set(found))) == (6, 6)
    shop("list", "--after", "nonsense", code=2)


@pytest.mark.parametrize("moment", ["soon", "2026-13-01"])
def test_an_instant_that_is_none_is_told(invoke, bucket, moment):
    done = invoke("list", "--created-after", moment)
    assert done.exit_code == 2
    assert moment in done.stderr


def test_nothing_is_done_without_a_yes(shop):
    shop("cancel", "--workflow", "purchase", code=1)
    assert "3 executions fit for cancel" in shop.errors
    assert "--yes does it without asking" in shop.errors
    assert len(eids(shop, "--status", "suspended")) == 3


def test_a_dry_run_only_lists(shop):
    told = shop.json("retry", "--workflow", "fail", "--dry-run")
    assert (told["verb"], len(told["would"])) == ("retry", 2)
    assert len(eids(shop)) == 6


def test_all_that_fit_are_cancelled_and_again_does_nothing_twice(shop):
    told = json.loads(shop("--json", "cancel", "--workflow", "purchase", "--yes", "--batch", "b-1", "--reason", "no"))
    assert {one["source"] for one in told["done"]} == eids(shop, "--workflow", "purchase")
    assert told["batch"] == "b-1"
    shop("cancel", "--workflow", "purchase", "--yes", "--batch", "b-1", "--reason", "no")
    shop.work()
    assert len(eids(shop, "--status", "cancelled")) == 3
    assert shop("journal", told["done"][0]["eid"]).count("execution.cancel_requested") == 1


def test_a_batch_that_is_gone_on_with_makes_no_second_execution(shop):
    one = json.loads(shop("--json", "retry", "--status", "failed", "--yes", "--batch", "b-2"))
    other = json.loads(shop("--json", "retry", "--status", "failed", "--yes", "--batch", "b-2"))
    made = {done["source"]: done["eid"] for done in one["done"]}
    assert len(made) == 2
    assert {done["source"]: done["eid"] for done in other["done"]} == made


def test_those_that_refuse_are_told_and_the_others_done(shop):
    first, *_ = sorted(eids(shop, "--workflow", "purchase"))
    shop("pause", first)
    shop.work()
    shop("resume", "--workflow", "purchase", "--yes", code=1)
    assert "2 of 3 executions refused" in shop.errors


def test_neither_or_both_of_an_id_and_filters_are_refused(shop):
    shop("cancel", code=2)
    assert "no EID is given" in shop.errors
    shop("cancel", "0", "--status", "failed", code=2)
    shop("cancel", "--status", "suspended", "--key", "k", code=2)


def test_many_are_erased(shop):
    shop("erase", "--status", "failed", "--yes", "--reason", "ticket 7")
    for eid in eids(shop, "--status", "failed"):
        assert shop.json("explain", eid)["reason"] == "erased"


def test_an_index_of_another_layout_is_built_anew_and_that_is_told(shop, tmp_path):
    import sqlite3

    assert len(eids(shop)) == 6
    (file,) = (tmp_path / "cache" / "flowli").glob("*.db")
    with sqlite3.connect(file) as db:
        db.execute("UPDATE projection SET version = 0")
    assert len(eids(shop)) == 6
    assert "built anew" in shop.errors
