"""Real programs under a real supervisor."""

import json
import os
import signal
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from flowli.world import SYSTEM
from flowli_runner.process.handle import Handle, is_alive, is_here, signal_to
from flowli_runner.process.launch import Limits, Program, launch, reattach
from flowli_runner.process.supervisor import marked

AGENT = str(Path(__file__).with_name("fake_agent.py"))
LIMITS = Limits(timeout_s=120.0, grace_s=0.2, max_output=4096, orphan_s=60.0)


@pytest.fixture
def start(tmp_path):
    """Starts the fake agent; whatever a test leaves behind is ended."""
    started: list[Program] = []

    async def one(*deeds: str, limits: Limits = LIMITS, env=None, name="a1") -> Program:
        folder = tmp_path / name
        folder.mkdir()
        (folder / "prompt").write_text("\n".join(deeds))

        async def record(data) -> None:
            (folder / "handle").write_text(json.dumps(data))

        attempt = f"{tmp_path.name}-{name}"
        argv = [sys.executable, AGENT, str(folder / "prompt")]
        environment = {"PATH": os.environ["PATH"], **(env or {})}
        made = await launch(
            SYSTEM, folder, attempt, argv, cwd=tmp_path, env=environment, stdin=None, limits=limits, record=record
        )
        started.append(made)
        return made

    yield one
    for made in started:
        signal_to(SYSTEM, made.handle, signal.SIGKILL)
        for pid in marked(made.handle.attempt):
            os.kill(pid, signal.SIGKILL)


async def until(holds):
    while not holds():
        await SYSTEM.sleep(0.01)


async def test_output_and_exit_code_are_told(start):
    program = await start("@say hello", "@exit 7")
    end = await program.wait()
    assert (end.reason, end.exit_code, end.left) == ("exited", 7, 0)
    assert program.output() == b"hello\n"


async def test_the_first_and_the_last_of_a_flood_are_kept(start):
    program = await start("@flood 5000")
    end = await program.wait()
    output = program.output()
    assert end.output_bytes == 5000 * 14
    assert output.startswith(b"line 00000000\n")
    assert output.endswith(b"line 00004999\n")
    head, _, rest = output.partition(b"\n... ")
    left_out, _, tail = rest.partition(b" bytes left out ...\n")
    assert len(head) + 1 + int(left_out) + len(tail) == end.output_bytes
    assert {len(line) for line in [*head.splitlines(), *tail.splitlines()]} == {13}  # no line is cut


async def test_a_program_that_writes_too_much_is_ended(start):
    program = await start("@flood 5000", "@hang", limits=replace(LIMITS, stop_output=20_000))
    assert (await program.wait()).reason == "output"


async def test_descendants_in_other_sessions_end_with_the_program(start):
    program = await start("@fork", "@fork", "@exit 0")
    end = await program.wait()
    assert (end.reason, end.left) == ("exited", 2)
    assert marked(program.handle.attempt) == []


async def test_who_does_not_listen_is_killed_with_all_descendants(start):
    program = await start("@deaf", "@fork", "@say ready", "@hang")
    await until(lambda: program.output() == b"ready\n")
    end = await program.stop()
    assert (end.reason, end.signal) == ("cancelled", signal.SIGKILL)
    assert marked(program.handle.attempt) == []


async def test_a_deadline_ends_it(start):
    program = await start("@hang", limits=replace(LIMITS, timeout_s=0.1))
    assert (await program.wait()).reason == "timeout"


async def test_work_that_no_runner_looks_at_any_more_is_ended(start):
    program = await start("@hang", limits=replace(LIMITS, orphan_s=0.3))
    await until(lambda: not is_alive(SYSTEM, program.handle))
    assert (await program.wait()).reason == "orphaned"


async def test_a_program_that_is_not_there_is_told(start, tmp_path):
    folder = tmp_path / "b"
    folder.mkdir()

    async def record(data) -> None:
        pass

    program = await launch(
        SYSTEM, folder, "b", ["/no/such"], cwd=tmp_path, env={}, stdin=None, limits=LIMITS, record=record
    )
    end = await program.wait()
    assert end.reason == "not_started"
    assert "/no/such" in end.error


async def test_nothing_runs_before_its_handle_is_recorded(tmp_path):
    async def record(data) -> None:
        raise OSError("the bucket is away")

    argv = [sys.executable, "-c", f"open({str(tmp_path / 'ran')!r}, 'w')"]
    with pytest.raises(OSError, match="away"):
        await launch(SYSTEM, tmp_path, "c", argv, cwd=tmp_path, env={}, stdin=None, limits=LIMITS, record=record)
    assert not (tmp_path / "ran").exists()
    assert not (tmp_path / "result.json").exists()


async def test_it_is_found_again_by_its_handle(start, tmp_path):
    first = await start("@say one", f"@wait {tmp_path / 'go'}", "@exit 3")
    found = reattach(SYSTEM, json.loads((tmp_path / "a1" / "handle").read_text()))
    assert found is not None
    assert is_alive(SYSTEM, found.handle)
    (tmp_path / "go").touch()
    assert (await found.wait()).exit_code == 3
    again = reattach(SYSTEM, first.handle.to_data())
    assert again is not None
    assert (await again.wait()).exit_code == 3


async def test_a_killed_supervisor_takes_everything_with_it(start):
    program = await start("@fork", "@say ready", "@hang")
    await until(lambda: program.output() == b"ready\n")
    assert signal_to(SYSTEM, program.handle, signal.SIGKILL)
    end = await program.wait()
    assert end.reason == "lost"
    await until(lambda: not marked(program.handle.attempt))


@pytest.mark.parametrize("field", ["host", "boot_id", "pid_namespace", "started"])
async def test_a_foreign_pid_is_never_believed(start, field):
    program = await start("@hang")
    foreign = replace(program.handle, **{field: "another"})
    assert not is_alive(SYSTEM, foreign)
    assert not signal_to(SYSTEM, foreign, signal.SIGKILL)
    assert is_here(SYSTEM, foreign) == (field == "started")
    assert (reattach(SYSTEM, foreign.to_data()) is None) == (field != "started")
    assert is_alive(SYSTEM, program.handle)
    await program.stop()


def test_what_is_no_handle_is_none():
    assert Handle.of(None) is None
    assert Handle.of({"pid": 1}) is None


async def test_the_environment_holds_only_what_was_given(start, monkeypatch):
    monkeypatch.setenv("CANARY", "secret")
    program = await start("@env", env={"GIVEN": "yes"})
    await program.wait()
    found = json.loads(program.output())
    assert set(found) - {"LC_CTYPE"} == {"PATH", "GIVEN", "FLOWLI_RUNNER_ATTEMPT"}


async def test_the_specification_is_private_and_holds_no_environment(start, tmp_path):
    program = await start("@exit 0", env={"TOKEN": "secret"})
    assert (tmp_path / "a1" / "spec.json").stat().st_mode & 0o077 == 0
    await program.wait()
    kept = [path.read_bytes() for path in (tmp_path / "a1").iterdir()]
    assert not [body for body in kept if b"secret" in body]
