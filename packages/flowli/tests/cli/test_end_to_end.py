"""Real processes on one folder: one starts, another works, a third looks."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

HERE = Path(__file__).parent


class Shell:
    """Runs ``flowli`` as processes of their own, in one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        kept = {name: value for name, value in os.environ.items() if not name.startswith("FLOWLI")}
        path = os.pathsep.join(filter(None, [str(HERE), os.environ.get("PYTHONPATH")]))
        self.environment = kept | {
            "PYTHONPATH": path,
            "FLOWLI_APP": "shop:registry",
            "FLOWLI_STORAGE": f"file:{folder}/bucket",
            "FLOWLI_ACTOR": "ada",
            "FLOWLI_EXEC_TTL": "3",
            "FLOWLI_TASK_TTL": "3",
            "XDG_CACHE_HOME": str(folder / "cache"),
            "COLUMNS": "80",
        }
        self.running: list[subprocess.Popen[str]] = []

    def __call__(self, *arguments: str, code: int = 0, **environment: str) -> str:
        """Standard output of a command that ends with ``code``."""
        done = subprocess.run(
            [sys.executable, "-m", "flowli.cli", *arguments],
            env=self.environment | environment,
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == code, done.stdout + done.stderr
        self.errors = done.stderr
        return done.stdout

    def json(self, *arguments: str) -> object:
        return json.loads(self(*arguments, "--json"))

    def begin(self, *arguments: str) -> "subprocess.Popen[str]":
        """A command that runs on; what it prints comes line by line."""
        process = subprocess.Popen(
            [sys.executable, "-u", "-m", "flowli.cli", *arguments],
            env=self.environment,
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.running.append(process)
        return process

    def work(self, *arguments: str) -> None:
        self("worker", "--until-idle", "--log-level", "error", *arguments)


@pytest.fixture
def flowli(tmp_path) -> Iterator[Shell]:
    shell = Shell(tmp_path)
    yield shell
    for process in shell.running:
        if process.poll() is None:
            process.kill()
        process.wait()
        if process.stdout:
            process.stdout.close()


ORDER = '{"order": {"id": "A-1", "cents": 3490}}'
EID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\n")


def test_an_execution_is_started_run_signalled_and_looked_at_by_processes_of_their_own(flowli):
    printed = flowli("start", "purchase", "--json", ORDER, "--key", "A-1")
    assert EID.fullmatch(printed)
    eid = printed.strip()
    assert re.search(rf"^{eid}  purchase 1  pending +", flowli("list"), re.MULTILINE)

    flowli.work()
    status = flowli("status", eid)
    assert re.search(r"^status +suspended$", status, re.MULTILINE)
    assert re.search(r"^waits on +message on channel parcels$", status, re.MULTILINE)
    assert re.search(r"^key +A-1$", status, re.MULTILINE)
    assert re.search(r"by human ada$", status, re.MULTILINE)

    assert flowli("signal", eid[:30], "parcels", "--arg", "number=JD-7") == f"{eid}  message 1 on channel parcels\n"
    flowli.work()
    assert flowli("start", "purchase", "--json", ORDER, "--key", "A-1", "--wait", "10s") == '"receipt-A-1: JD-7"\n'
    assert "joined it" in flowli.errors

    shown = flowli("show", eid, "--values")
    assert re.search(r'^charge#1 +step +completed +\S+ +"receipt-A-1"$', shown, re.MULTILINE)
    assert re.search(r"^receive\S+ +receive +completed", shown, re.MULTILINE)
    journal = flowli("journal", eid).splitlines()
    assert "execution.started" in journal[0]
    assert "execution.completed" in journal[-1]
    assert "receipt" not in "".join(journal)


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


def test_a_sweeper_pass_fires_what_is_due(flowli):
    eid = flowli("start", "nap", "--arg", "seconds=2.2").strip()
    flowli.work()
    assert "timer" in flowli("status", eid)
    assert flowli("start", "nap", "--arg", "seconds=0", "--key", "k", "--wait", "0.01", code=4) == ""
    report = flowli.json("sweeper", "--once")
    assert isinstance(report, dict)
    assert report


def test_a_worker_drains_on_sigterm(flowli):
    flowli("start", "purchase", "--json", ORDER)
    worker = flowli.begin("worker", "--grace", "5", "--log-level", "debug")
    eid = flowli.json("list")[0]["eid"]
    wait_for(lambda: flowli.json("status", eid)["status"] == "suspended")
    worker.send_signal(signal.SIGTERM)
    assert worker.wait(timeout=20) == 0
    assert "SIGTERM: finishing what runs, up to 5 s" in worker.stdout.read()


def test_dev_shows_what_happens_one_line_an_event(flowli):
    dev = flowli.begin("dev")
    lines = iter(dev.stdout.readline, "")
    until(lines, "to start one: flowli start purchase --arg order=...")
    eid = flowli("start", "purchase", "--json", ORDER).strip()
    assert eid in until(lines, "created")
    assert "charge#1 completed in" in until(lines, "charge")
    until(lines, "suspended on message on channel parcels")
    flowli("signal", eid, "parcels", "--arg", "number=1")
    assert '"receipt-A-1: 1"' in until(lines, "completed:")
    dev.send_signal(signal.SIGINT)
    assert dev.wait(timeout=20) == 0


def test_retention_archives_and_the_journal_stays_readable(flowli):
    eid = flowli("start", "echo", "--arg", "text=a").strip()
    flowli.work()
    assert flowli("retention", "--older-than", "0s", "--dry-run")
    assert flowli.json("status", eid)["archived_at"] is None
    flowli("retention", "--older-than", "0s")
    assert flowli.json("status", eid)["archived_at"]
    assert "execution.completed" in flowli("journal", eid)


def test_what_init_makes_runs_and_passes_its_test(flowli):
    flowli("init", "hello")
    flowli.folder /= "hello"
    eid = flowli("start", "fulfil", "--arg", "order=INV-7", FLOWLI_APP="app:registry").strip()
    flowli("worker", "--until-idle", FLOWLI_APP="app:registry")
    assert "message on channel payments" in flowli("status", eid)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"],
        cwd=flowli.folder,
        env=flowli.environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stdout


def wait_for(condition, rounds: int = 100) -> None:
    """Ask again until it holds; each round is a process of its own, so that no pause is needed."""
    for _ in range(rounds):
        if condition():
            return
    pytest.fail("it never came true")


def until(lines: Iterator[str], text: str) -> str:
    """The first line that holds ``text``."""
    seen = []
    for line in lines:
        seen.append(line)
        if text in line:
            return line
    pytest.fail(f"{text!r} never came:\n{''.join(seen)}")
