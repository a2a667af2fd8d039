"""Real processes on one folder: one starts, another works, a third looks."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
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
        watchdog = threading.Timer(60, process.kill)
        watchdog.daemon = True
        watchdog.start()
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
    assert re.search(r"^waits on +a message on channel parcels$", status, re.MULTILINE)
    assert re.search(r"^key +A-1$", status, re.MULTILINE)
    assert re.search(r"by human ada$", status, re.MULTILINE)

    assert flowli("signal", eid[:30], "parcels", "--arg", "number=JD-7") == f"{eid}  message 1 on channel parcels\n"
    flowli.work()
    assert flowli("start", "purchase", "--json", ORDER, "--key", "A-1", "--wait", "10s") == '"receipt-A-1: JD-7"\n'
    assert "joined it" in flowli.errors

    shown = flowli("show", eid, "--values")
    assert re.search(r'^charge#1 +step +completed +\S+ +"receipt-A-1"$', shown, re.MULTILINE)
    assert re.search(r"^parcels#1 +receive +completed", shown, re.MULTILINE)
    journal = flowli("journal", eid).splitlines()
    assert "execution.started" in journal[0]
    assert "execution.completed" in journal[-1]
    assert "receipt" not in "".join(journal)


def test_a_worker_drains_on_sigterm(flowli):
    flowli("start", "purchase", "--json", ORDER)
    worker = flowli.begin("worker", "--grace", "5", "--log-level", "debug")
    eid = flowli.json("list")[0]["eid"]
    wait_for(lambda: flowli.json("status", eid)["status"] == "suspended")
    worker.send_signal(signal.SIGTERM)
    assert worker.wait(timeout=20) == 0
    assert "SIGTERM: finishing what runs, up to 5 s" in worker.stdout.read()


def test_a_second_signal_ends_a_worker_at_once(flowli):
    eid = flowli("start", "slow").strip()
    worker = flowli.begin("worker", "--grace", "60")
    wait_for(lambda: flowli.json("status", eid)["status"] == "running")
    worker.send_signal(signal.SIGTERM)
    until(iter(worker.stdout.readline, ""), "SIGTERM: finishing what runs, up to 60 s; once more to quit at once")
    worker.send_signal(signal.SIGTERM)
    assert worker.wait(timeout=10) == 128 + signal.SIGTERM
    assert "quitting at once" in worker.stdout.read()


def test_dev_starts_anew_when_a_source_file_changes(flowli):
    flowli("init", "hello")
    flowli.folder /= "hello"
    flowli.environment["FLOWLI_APP"] = "app:registry"
    dev = flowli.begin("dev", "--reload")
    lines = iter(dev.stdout.readline, "")
    until(lines, "to start one: flowli start fulfil --arg order=...")
    source = flowli.folder / "app.py"
    source.write_text(source.read_text().replace("async def fulfil(", "async def ship_order("))
    until(lines, "app.py changed; starting anew")
    until(lines, "to start one: flowli start ship_order --arg order=...")
    source.write_text("this is no Python\n")
    until(lines, "SyntaxError")
    until(lines, "waiting for a change of the source files")
    dev.send_signal(signal.SIGTERM)
    assert dev.wait(timeout=20) != -signal.SIGKILL


def test_dev_shows_what_happens_one_line_an_event(flowli):
    dev = flowli.begin("dev")
    lines = iter(dev.stdout.readline, "")
    until(lines, "to start one: flowli start purchase --arg order=...")
    eid = flowli("start", "purchase", "--json", ORDER).strip()
    assert eid in until(lines, "created")
    assert "charge#1 completed in" in until(lines, "charge")
    until(lines, "waits on a message on channel parcels")
    flowli("signal", eid, "parcels", "--arg", "number=1")
    assert '"receipt-A-1: 1"' in until(lines, "completed:")
    dev.send_signal(signal.SIGINT)
    assert dev.wait(timeout=20) == 0


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
