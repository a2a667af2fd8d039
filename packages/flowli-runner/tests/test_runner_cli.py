"""The command ``flowli-runner``."""

import json
import signal
import subprocess
import sys

import pytest
from click.testing import CliRunner

from flowli import CairnBackend
from flowli.world import SYSTEM
from flowli_runner.cli.main import runner
from flowli_runner.contracts import Outcome
from flowli_runner.process.handle import Handle, is_alive
from flowli_runner.work.records import record_eid

from .runner_kit import AGENT, Bench, envelope, make_repository, until

CONFIG = """
storage = "file:{place}/bucket"
worker_id = "runner-1"
repository = "{place}/repo"
work_dir = "{place}/work"
drain_s = 0.0

[agents.fake]
argv = ["{python}", "{agent}", "{{prompt_file}}"]
grace_s = 0.2
orphan_s = 300.0
"""


@pytest.fixture
def place(tmp_path):
    make_repository(tmp_path / "repo")
    (tmp_path / "bucket").mkdir()
    (tmp_path / "runner.toml").write_text(CONFIG.format(place=tmp_path, python=sys.executable, agent=AGENT))
    return tmp_path


def call(*args: str):
    return CliRunner().invoke(runner, args)


def doctor(place, **changes: str):
    text = (place / "runner.toml").read_text()
    for old, new in changes.items():
        text = text.replace(old, new)
    (place / "runner.toml").write_text(text)
    return call("doctor", "--config", str(place / "runner.toml"))


def test_help_tells_what_a_runner_does():
    shown = call("--help").output
    for part in ("run ", "doctor ", "schema ", "flowli-runner run --config runner.toml"):
        assert part in shown
    assert "--worker-id" in call("run", "--help").output
    assert call().output == shown


def test_the_doctor_finds_everything_in_order(place):
    done = doctor(place)
    assert done.exit_code == 0, done.output
    assert [line.split()[0] for line in done.output.splitlines()] == ["ok"] * 5
    assert "is it the right bucket?" in done.output  # no workflow was ever started there


def test_help_reads_well_in_80_columns():
    for page in ([], ["run"], ["doctor"], ["schema"]):
        done = CliRunner(env={"COLUMNS": "80"}).invoke(runner, [*page, "--help"])
        assert max(map(len, done.output.splitlines())) <= 80
        assert "..." not in done.output.replace("[ARGS]...", "")


@pytest.fixture
def token(monkeypatch):
    monkeypatch.setenv("FLOWLI_TOKEN", "x" * 20)


@pytest.mark.parametrize(
    ("url", "said"), [("http://127.0.0.1:1", "cannot be reached"), ("ftp://host", "no address of a service")]
)
def test_the_doctor_names_what_is_wrong_with_a_service(place, token, url, said):
    pytest.importorskip("flowli_api")
    pytest.importorskip("httpx")
    done = call("doctor", "--config", str(place / "runner.toml"), "--url", url)
    assert done.exit_code == 1
    (bad,) = [line for line in done.output.splitlines() if line.startswith("BAD")]
    assert said in bad


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"/repo": "/nowhere"}, "no such folder"),
        ({"work_dir": 'default_base = "nowhere"\nwork_dir'}, "names no commit"),
        ({"work_dir": 'default_base = "--output=x"\nwork_dir'}, "is refused"),
        ({sys.executable: "/no/such/agent"}, "is not found"),
        ({"argv =": 'kind = "clod"\nargv ='}, "which nothing provides"),
        ({"{prompt_file}": "{prompt}"}, "no placeholder"),
        ({"file:": "s4:"}, "s4"),
    ],
)
def test_the_doctor_names_what_is_wrong(place, changes, said):
    done = doctor(place, **changes)
    assert done.exit_code == 1, done.output
    (bad,) = [line for line in done.output.splitlines() if line.startswith("BAD")]
    assert said in bad


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = ", "no TOML"),
        ("", "names no agent"),
        ("[agents.a]\ntimeout = 3", "runner.toml.agents.a.timeout: there is no such field"),
        ("parallel = 'two'", "runner.toml.parallel"),
    ],
)
def test_a_configuration_that_is_wrong_is_refused_by_the_name_of_its_field(place, text, said):
    (place / "runner.toml").write_text(text)
    done = call("doctor", "--config", str(place / "runner.toml"))
    assert done.exit_code == 2
    assert said in done.output


def test_a_configuration_that_is_not_there_is_named(tmp_path):
    done = call("run", "--config", str(tmp_path / "none.toml"))
    assert (done.exit_code, "none.toml" in done.output) == (2, True)


def test_the_schemas_are_json():
    assert json.loads(call("schema", "envelope").output)["title"] == "Envelope"
    assert json.loads(call("schema", "report").output)["title"] == "Report"


def test_work_through_a_service_needs_a_token(place, monkeypatch):
    monkeypatch.delenv("FLOWLI_TOKEN", raising=False)
    done = call("run", "--config", str(place / "runner.toml"), "--url", "http://127.0.0.1:1")
    assert done.exit_code == 2
    assert "FLOWLI_TOKEN" in done.output or "flowli-api" in done.output


def begin(place, *more: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", "from flowli_runner.cli.main import main; main()"]
    return subprocess.Popen([*command, "run", "--config", str(place / "runner.toml"), *more], stdout=subprocess.DEVNULL)


async def handle_of(bench: Bench, task_id: str, process: subprocess.Popen[bytes]) -> Handle:
    for _ in range(3000):
        lease = await bench.ports.ownership.read(record_eid(task_id))
        text = None if lease is None or not isinstance(lease.state, dict) else lease.state.get("handle")
        if text and (handle := Handle.of(json.loads(str(text)))):
            return handle
        assert process.poll() is None
        await SYSTEM.sleep(0.05)
    raise AssertionError("no agent was started")


async def test_work_of_a_runner_that_was_killed_or_drained_is_gone_on_with_by_the_next(place):
    bench = Bench(CairnBackend.configure({"storage": f"file:{place / 'bucket'}"}).ports)
    task_id = await bench.delegate(envelope("@write src/x 1", f"@wait {place / 'go'}"))
    first = begin(place)
    handle = await handle_of(bench, task_id, first)
    await until((place / "work/trees" / handle.attempt / "src/x").exists)  # before it, nothing may outlive its runner
    first.kill()
    await until(lambda: first.poll() is not None)
    assert is_alive(SYSTEM, handle)
    before = await epoch_of(bench, task_id)
    second = begin(place)
    while await epoch_of(bench, task_id) == before:
        assert second.poll() is None
        await SYSTEM.sleep(0.05)
    second.send_signal(signal.SIGTERM)
    await until(lambda: second.poll() is not None)
    assert second.returncode == 0
    assert is_alive(SYSTEM, handle)
    (place / "go").touch()
    third = begin(place, "--once")
    await until(lambda: third.poll() is not None)
    report = await bench.report()
    assert (report.outcome, report.attempt) == (Outcome.COMPLETED, handle.attempt)
    await until(lambda: not is_alive(SYSTEM, handle))


async def epoch_of(bench: Bench, task_id: str) -> int:
    lease = await bench.ports.ownership.read(record_eid(task_id))
    return 0 if lease is None else lease.epoch
