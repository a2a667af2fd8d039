"""Runners that die at any write, in this process: one answer, no work lost, nothing left behind."""

from __future__ import annotations

import asyncio
import contextlib
import os
from dataclasses import fields, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from flowli import MemoryBackend
from flowli.domain.ports import Ports
from flowli.runtime.consumer import DRAINING
from flowli.world import SYSTEM
from flowli_runner.contracts import Outcome
from flowli_runner.process.supervisor import marked
from flowli_runner.runner import Runner
from flowli_runner.work.config import RunnerConfig
from flowli_runner.work.records import record_eid

from .runner_kit import Bench, config_of, envelope, git, make_repository

ROUNDS = int(os.environ.get("FLOWLI_RUNNER_ROUNDS", "3"))
READS = ("read", "get", "list", "find", "marker", "settings", "queues", "dead", "poll", "last", "bounds", "fold")


class Spy:
    """The ports of a runner: counts its writes, and ends it before or after one of them."""

    def __init__(self, ports: Ports, die_at: int | None = None, after: bool = False) -> None:
        self.writes: list[str] = []
        self.dead = asyncio.Event()
        self._die_at, self._after = die_at, after
        names = [one.name for one in fields(ports) if one.name not in ("fork", "poll_hint_s")]
        seen = {name: _Port(self, name, getattr(ports, name)) for name in names}
        self.ports = replace(ports, **seen)  # type: ignore[arg-type]

    async def call(self, name: str, method: Any, args: Any, options: Any) -> Any:
        if self.dead.is_set():
            raise asyncio.CancelledError  # a dead process does nothing more
        at = len(self.writes)
        self.writes.append(name)
        if at == self._die_at and not self._after:
            await self._die()
        result = await method(*args, **options)
        if at == self._die_at:
            await self._die()
        return result

    async def _die(self) -> None:
        self.dead.set()
        await asyncio.Event().wait()


class _Port:
    def __init__(self, spy: Spy, name: str, port: Any) -> None:
        self._spy, self._name, self._port = spy, name, port

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._port, name)
        if name.startswith(READS) or not callable(method):
            return method

        async def called(*args: Any, **options: Any) -> Any:
            return await self._spy.call(f"{self._name}.{name}", method, args, options)

        return called


class Later:
    """The real world, on whose clocks a test may let time pass."""

    def __init__(self) -> None:
        self.passed_s = 0.0

    def __getattr__(self, name: str) -> Any:
        return getattr(SYSTEM, name)

    def monotonic_s(self) -> float:
        return SYSTEM.monotonic_s() + self.passed_s

    def boottime_s(self) -> float:
        return SYSTEM.boottime_s() + self.passed_s

    def now(self) -> Any:
        return SYSTEM.now() + timedelta(seconds=self.passed_s)


async def run_until_dead(runner: Runner, spy: Spy) -> bool:
    """Run once; True if the runner died on the way."""
    running = asyncio.ensure_future(runner.run_once())
    dying = asyncio.ensure_future(spy.dead.wait())
    await asyncio.wait({running, dying}, return_when=asyncio.FIRST_COMPLETED)
    died = not running.done()
    for task in asyncio.all_tasks() - {asyncio.current_task()}:
        task.cancel(DRAINING)  # so that the agent is left alone, as by a process that is gone
    with contextlib.suppress(asyncio.CancelledError):
        await asyncio.gather(running, dying, return_exceptions=True)
    if not died:
        running.result()
    return died


def work(place) -> dict[str, Any]:
    return envelope(f"@write {place / 'runs'} run", "@write src/x 1", "@write secret.txt 2", "@say done")


@pytest.fixture
def repository(tmp_path):
    return make_repository(tmp_path / "repo")


async def test_a_consumer_writes_its_answer_its_evidence_and_its_leases_and_nothing_else(tmp_path, repository):
    bench = Bench(MemoryBackend(SYSTEM).ports)
    spy = Spy(bench.ports)
    task_id = await bench.delegate(work(tmp_path))
    leases: list[Any] = []
    acquire = spy.ports.ownership.acquire

    class Named:
        def __getattr__(self, name):
            return getattr(spy.ports.ownership, name)

        async def acquire(self, eid, *args, **options):
            leases.append(eid)
            return await acquire(eid, *args, **options)

    await Runner(config_of(tmp_path, repository), replace(spy.ports, ownership=Named())).run_once()
    assert (await bench.report()).outcome is Outcome.PARTIAL
    assert {name.partition(".")[0] for name in spy.writes} == {"queue", "channel", "evidence", "ownership"}
    assert spy.writes.count("channel.send") == 1
    order = [name for name in spy.writes if name in ("channel.send", "queue.ack", "ownership.remove")]
    assert order == ["channel.send", "queue.ack", "ownership.remove"]
    # the resume of the waiting execution is put by the delivery of the answer
    assert [name for name in spy.writes if name == "queue.enqueue"] == ["queue.enqueue"]
    assert leases[0] == record_eid(task_id)
    assert bench.eid not in leases


async def test_a_death_at_any_write_leaves_one_answer_and_nothing_behind(tmp_path, repository):
    """Before the first and after each write of a whole piece of work; then another runner comes."""
    world = Later()
    bench = Bench(MemoryBackend(world).ports)
    config = config_of(tmp_path, repository)
    spy = Spy(bench.ports)
    await bench.delegate(work(tmp_path))
    await Runner(config, spy.ports).run_once()
    points = [at for at, name in enumerate(spy.writes) if name != "queue.renew"]
    await die_at(bench, config, world, points[0], after=False)
    for at in points:
        await die_at(bench, config, world, at, after=True)
    assert len(points) > 12
    assert len(git(repository, "worktree", "list").splitlines()) == 1


async def die_at(bench: Bench, config: RunnerConfig, world: Later, at: int, *, after: bool) -> None:
    task_id = await bench.delegate(work(Path(config.work_dir).parent))
    dying = Spy(bench.ports, at, after)
    died = await run_until_dead(Runner(config, dying.ports), dying)
    told = (at, after, dying.writes[-1])
    assert died, told
    world.passed_s += 1000.0
    second = Runner(config, bench.ports)
    await second.run_once()
    assert await bench.tasks() == 0, told
    assert len(await bench.answers()) == 1, told
    report = await bench.report()
    assert [one.path for one in report.changes] == ["secret.txt", "src/x"], told
    assert marked(report.attempt) == [], told
    record = await bench.ports.ownership.read(record_eid(task_id))
    assert record is None or record.holder is None or not record.state, told


async def test_eight_runners_on_one_repository_do_not_disturb_each_other(tmp_path, repository):
    """K47: every attempt has a tree of its own, and no lock of git surfaces."""
    bench = Bench(MemoryBackend(SYSTEM).ports)
    rounds = int(os.environ.get("FLOWLI_RUNNER_ROUNDS", "2"))
    reports = []
    for _ in range(min(rounds, 20)):
        tasks = [await delegated(bench, f"part{number}") for number in range(8)]
        config = config_of(tmp_path, repository)
        runners = [Runner(config, bench.ports) for _ in range(8)]
        while await bench.tasks():
            await asyncio.gather(*(one.run_once() for one in runners))
            await SYSTEM.sleep(0.1)
        reports += [await report_of(bench, task) for task in tasks]
    assert {one.outcome for one in reports} == {Outcome.COMPLETED}
    assert len({one.attempt for one in reports}) == len(reports)
    assert len({one.branch for one in reports}) == len(reports)
    assert len(git(repository, "worktree", "list").splitlines()) == 1


async def delegated(bench: Bench, part: str) -> tuple[Any, int]:
    await bench.delegate(envelope(f"@write {part}/x {part}", write_scopes=[]) | {"write_scopes": [f"{part}/**"]})
    return bench.eid, bench.count


async def report_of(bench: Bench, task: tuple[Any, int]) -> Any:
    return await Bench(bench.ports, *task).report()


async def test_folders_of_attempts_that_were_half_made_or_half_removed_go(tmp_path, repository):
    """One whose tree stands is left alone: its runner may be about to write down whose it is."""
    for path in ("attempts/removed", "attempts/making", "trees/making"):
        (tmp_path / "work" / path).mkdir(parents=True)
    (tmp_path / "work/attempts/removed/alive").touch()
    bench = Bench(MemoryBackend(SYSTEM).ports)
    assert await Runner(config_of(tmp_path, repository), bench.ports).run_once() == 0
    assert [path.name for path in (tmp_path / "work/attempts").iterdir()] == ["making"]
