"""A runner that takes over what another one left: it goes on with it, or it ends it and begins anew."""

from __future__ import annotations

import asyncio
import signal
from dataclasses import replace
from pathlib import Path

import pytest

from flowli import MemoryBackend
from flowli.world import SYSTEM
from flowli_runner.contracts import Outcome
from flowli_runner.process.handle import Handle, is_alive, signal_to
from flowli_runner.process.supervisor import marked
from flowli_runner.runner import Runner
from flowli_runner.work.config import RunnerConfig

from .runner_kit import Bench, config_of, envelope, git, handle_of, make_repository, record_of, until


@pytest.fixture
def repository(tmp_path) -> Path:
    return make_repository(tmp_path / "repo")


async def left(bench: Bench, config: RunnerConfig, task_id: str, but: str = "") -> Handle:
    """An agent that has written ``src/x`` and hangs; its runner has gone."""
    runner = Runner(config, bench.ports)
    running = asyncio.ensure_future(runner.run())
    handle = await handle_of(bench, task_id, but)
    written = Path(config.work_dir) / "trees" / handle.attempt / "src/x"
    await until(lambda: written.exists() and written.read_text() == "1\n")
    await runner.drain()
    await running
    assert is_alive(SYSTEM, handle)
    return handle


async def test_work_that_was_interrupted_too_often_is_told_so_and_all_of_it_is_kept(tmp_path, repository):
    bench = Bench(MemoryBackend(SYSTEM).ports)
    config = config_of(tmp_path, repository, drain_s=0.0, max_attempts=2)
    task_id = await bench.delegate(envelope("@write src/x 1", "@fork", "@hang"))
    first = await left(bench, config, task_id)
    assert signal_to(SYSTEM, first, signal.SIGKILL)
    second = await left(bench, config, task_id, but=first.attempt)
    assert (await record_of(bench, task_id))["attempts"] == 2
    assert signal_to(SYSTEM, second, signal.SIGKILL)
    await Runner(config, bench.ports).run_once()
    report = await bench.report()
    assert report.outcome is Outcome.INTERRUPTED
    assert "2 times" in report.summary
    assert report.resume.ref.endswith(second.attempt)
    for one in (first, second):
        assert git(repository, "show", f"refs/flowli/kept/{one.attempt}:src/x") == "1"
        assert marked(one.attempt) == []
    assert len(git(repository, "worktree", "list").splitlines()) == 1


async def test_a_runner_that_cannot_go_on_with_the_work_ends_it_and_begins_anew(tmp_path, repository):
    """Its configuration gives the task to another agent."""
    bench = Bench(MemoryBackend(SYSTEM).ports)
    config = config_of(tmp_path, repository, drain_s=0.0)
    task_id = await bench.delegate(envelope("@write src/x 1", "@hang"))
    first = await left(bench, config, task_id)
    script = tmp_path / "other.py"
    script.write_text("open('src/y', 'w').write('2')")
    other = replace(config.agents["fake"], argv=("python3", str(script)))
    await Runner(replace(config, agents={"other": other}), bench.ports).run_once()
    report = await bench.report()
    assert (report.outcome, [one.path for one in report.changes]) == (Outcome.COMPLETED, ["src/y"])
    await until(lambda: not is_alive(SYSTEM, first))
    assert marked(first.attempt) == []
    assert git(repository, "show", f"refs/flowli/kept/{first.attempt}:src/x") == "1"
    assert len(git(repository, "worktree", "list").splitlines()) == 1
