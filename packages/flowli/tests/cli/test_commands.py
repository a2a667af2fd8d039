"""The commands one by one, in process, on a folder."""

import json
import re
import shutil

import pytest

ORDER = '{"order": {"id": "A-1", "cents": 3490}}'


def test_scripts_get_json(flowli):
    eid = json.loads(flowli("--json", "start", "echo", "--arg", "text=17", "--version", "1"))["eid"]
    flowli.work()
    assert flowli.json("status", eid)["value"] == ["17"]
    (listed,) = flowli.json("list", "--status", "completed")
    assert (listed["eid"], listed["workflow"], listed["version"]) == (eid, "echo", "1")
    assert flowli.json("list", "--status", "failed") == flowli.json("list", "--workflow", "none") == []
    assert flowli.json("show", eid)["status"] == "completed"
    entries = [json.loads(line) for line in flowli("journal", eid, "--json").splitlines()]
    assert len(entries) >= 2
    assert json.loads(flowli("--json", "start", "echo", "--arg", "text=a", "--wait", "0.2", code=4) or "null") is None
    assert json.loads(flowli.errors.splitlines()[-1])["error"]["kind"] == "ResultTimeout"


def test_an_execution_that_fails_is_refused_and_shown(flowli):
    eid = flowli("start", "fail").strip()
    flowli.work()
    assert flowli("start", "fail", "--key", "again", "--wait", "0.1", code=4) == ""
    assert re.search(r"^error +RuntimeError: it broke$", flowli("status", eid), re.MULTILINE)
    assert "RuntimeError: it broke" in flowli("list")
    flowli.work()
    flowli("start", "fail", "--key", "again", "--wait", code=1)
    assert flowli.errors.splitlines()[-1].endswith("failed: RuntimeError: it broke")
    flowli("signal", eid, "x", code=1)


def test_failed_attempts_stand_below_their_frame(flowli):
    eid = flowli("start", "stumble").strip()
    flowli.work("--with-sweeper")
    shown = flowli("show", eid)
    assert re.search(r"^flaky#1 +step +completed", shown, re.MULTILINE)
    assert re.search(r"^  attempt 1 +failed +\S+ +ValueError: not yet$", shown, re.MULTILINE)


def test_the_verbs_of_an_operator(flowli):
    eid = flowli("start", "purchase", "--json", ORDER).strip()
    flowli.work()
    assert "pause requested" in flowli("pause", eid, "--reason", "audit")
    flowli.work()
    assert "an operator: paused" in flowli("status", eid)
    assert f"flowli resume {eid}" in flowli("status", eid)
    flowli("resume", eid)
    flowli.work()
    assert "message on channel parcels" in flowli("status", eid)
    flowli("cancel", eid, "--reason", "wrong order")
    flowli.work()
    assert flowli.json("status", eid)["status"] == "cancelled"
    flowli("cancel", eid, code=1)

    other = flowli("start", "purchase", "--json", ORDER).strip()
    assert "terminated" in flowli("terminate", other, "--reason", "stuck")
    assert flowli.json("status", other)["reason"] == "stuck"


def test_migrate_moves_an_execution_to_a_known_version(flowli):
    eid = flowli("start", "echo", "--arg", "text=a", "--version", "1").strip()
    flowli("migrate", eid, "--version", "9", code=2)
    assert "known are '1', '2'" in flowli.errors
    flowli("migrate", eid, "--version", "2")
    flowli.work()
    assert flowli.json("status", eid)["value"] == ["A"]


def test_an_ambiguous_prefix_lists_what_it_fits(flowli):
    ids = [flowli("start", "echo", "--arg", "text=a").strip() for _ in range(2)]
    shared = "".join(a for a, b in zip(*ids, strict=True) if a == b)
    flowli("status", shared[:6], code=1)
    assert all(eid in flowli.errors for eid in ids)
    assert "type more of it" in flowli.errors
    flowli("status", shared[:6] + "zz", code=2)
    wrong = shared[:8] + ("0" if ids[0][9] != "0" else "f")
    flowli("status", wrong, code=1)
    assert ids[0] in flowli.errors or "no execution begins" in flowli.errors


def test_a_sweeper_pass_says_what_it_did(flowli):
    eid = flowli("start", "nap", "--arg", "seconds=3600").strip()
    flowli.work()
    assert re.search(r"^waits on +timer \S+ \(in (1h|59m 5\ds)\)$", flowli("status", eid), re.MULTILINE)
    report = flowli.json("sweeper", "--once")
    assert (report["timers"], report["resumed"]) == (0, 0)  # the jobs are those of whatever plugins are installed
    assert re.search(r"^timers +0$", flowli("sweeper", "--once"), re.MULTILINE)


def test_retention_archives_and_the_journal_stays_readable(flowli):
    eid = flowli("start", "echo", "--arg", "text=a").strip()
    flowli.work()
    for dry in (["--dry-run"], []):
        report = flowli.json("retention", "--older-than", "0s", *dry)
        assert (report["dry_run"], report["archived"]) == (bool(dry), [eid])
    assert flowli.json("retention", "--older-than", "0s")["archived"] == []
    assert flowli.json("retention", "--older-than", "1d", "--status", "failed", "--workflow", "echo")["archived"] == []
    assert "execution.completed" in flowli("journal", eid)


def test_a_bucket_made_anew_in_the_same_place_has_a_new_list(flowli, bucket):
    first = flowli("start", "echo", "--arg", "text=a").strip()
    assert first in flowli("list")
    shutil.rmtree(bucket)
    second = flowli("start", "echo", "--arg", "text=b").strip()
    assert [row["eid"] for row in flowli.json("list")] == [second]


def test_the_list_is_kept_in_the_cache_and_in_memory_where_there_is_none(flowli, bucket, tmp_path, monkeypatch):
    eid = flowli("start", "echo", "--arg", "text=a").strip()
    flowli("list")
    assert [one.suffix for one in (tmp_path / "cache" / "flowli").iterdir()].count(".db") == 1
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert eid in flowli("list")


def test_an_empty_bucket_lists_nothing(flowli, bucket):
    bucket.mkdir()
    assert flowli("list") == ""
    assert flowli.errors == "flowli: no execution fits\n"
    assert flowli.json("list") == []


def test_a_list_is_cut_at_its_limit_and_says_so(flowli):
    ids = [flowli("start", "echo", "--arg", "text=a").strip() for _ in range(3)]
    shown = flowli("list", "--limit", "2")
    assert ids[0] not in shown
    assert shown.index(ids[2]) < shown.index(ids[1])
    assert "only the newest 2 are shown" in flowli.errors


def test_a_terminal_gets_colours_and_guides_and_lines_that_fit(flowli, monkeypatch):
    eid = flowli("start", "stumble").strip()
    flowli.work()
    monkeypatch.setenv("FORCE_COLOR", "1")
    shown = flowli("show", eid)
    assert "\x1b[32mcompleted" in shown
    assert "├─ attempt 1" in shown
    listed = flowli("list")
    assert max(len(re.sub(r"\x1b\[[0-9;]*m", "", line)) for line in (shown + listed).splitlines()) <= 80


def test_an_application_may_be_a_callable_or_an_engine(flowli):
    for target in ("shop:make", "shop:make_later"):
        assert flowli("start", "echo", "--arg", "text=a", "--app", target)
    assert flowli("start", "echo", "--arg", "text=a", "--app", "shop:engine", "--wait", "0.01", code=4) == ""
    assert flowli.json("list", "--app", "shop:engine") == []
    flowli("list", "--app", "shop:engine", "--storage", "file:./other", code=2)
    assert "names an Engine, which has its storage already; leave --storage out" in flowli.errors


def test_looking_and_operating_work_while_the_application_is_broken(flowli, monkeypatch):
    eid = flowli("start", "echo", "--arg", "text=a").strip()
    monkeypatch.setenv("FLOWLI_APP", "there_is_no_shop:registry")
    for command in (["status", eid], ["show", eid], ["journal", eid], ["list"], ["cancel", eid], ["terminate", eid]):
        flowli(*command)
    flowli("migrate", eid, "--version", "2", code=2)
    monkeypatch.delenv("FLOWLI_STORAGE")
    flowli("status", eid, code=2)
    assert "there is no module 'there_is_no_shop'" in flowli.errors


def test_a_workflow_that_only_workers_know_is_started_by_its_version(flowli, monkeypatch):
    monkeypatch.delenv("FLOWLI_APP")
    eid = flowli("start", "echo", "--version", "2", "--json", '["a", 2]').strip()
    monkeypatch.setenv("FLOWLI_APP", "shop:registry")
    flowli.work()
    assert flowli.json("status", eid)["value"] == ["A", "A"]


@pytest.mark.parametrize(("value", "shown"), [("17", "17"), ('"17"', '"17"'), ("null", "null"), ("a=b", "a=b")])
def test_a_text_parameter_gets_the_text_as_typed(flowli, value, shown):
    eid = flowli("start", "echo", "--arg", f"text={value}", "--arg", "times=2", "--version", "1").strip()
    flowli.work()
    assert flowli.json("status", eid)["value"] == [shown, shown]


def test_a_payload_comes_from_a_file_from_standard_input_or_not_at_all(flowli, tmp_path):
    (tmp_path / "p.json").write_text('{"number": 1}')
    eid = flowli("start", "purchase", "--json", "-", input=ORDER).strip()
    assert flowli("signal", eid, "parcels", "--json", f"@{tmp_path / 'p.json'}").endswith(
        "message 1 on channel parcels\n"
    )
    assert json.loads(flowli("--json", "signal", eid, "parcels"))["seq"] == 2
    assert json.loads(flowli("--json", "signal", eid, "parcels", "--key", "k", "--arg", "n=1"))["seq"] == 3
    assert json.loads(flowli("--json", "signal", eid, "parcels", "--key", "k", "--arg", "n=1"))["seq"] == 3
    flowli("signal", eid, "parcels", "--key", "k", "--arg", "n=2", code=1)
