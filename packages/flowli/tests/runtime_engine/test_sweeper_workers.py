from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

from flowli.descriptors import SweepJobType
from flowli.domain.entries import (
    Announced,
    ControlEntry,
    ExecutionCreated,
)
from flowli.domain.waits import OnChannel, OnOperator
from flowli.plugins import Manager, Source
from flowli.runtime.signs import SWEEPER, last_seen

if TYPE_CHECKING:
    from .conftest import Bench

HOUR = 3600.0


def codes(version: str, ref: str) -> Announced:
    return Announced("worker", {"worker": "w", "queues": ["default"], "codes": {"sign": {version: ref}}})


async def announce(bench: Bench, announced: Announced) -> None:
    await bench.ports.control.append([ControlEntry(announced, bench.by)])


async def parked_by(bench: Bench, *refs: str) -> Any:
    eid = await bench.engine.start("sign", "contract", version="1")
    await bench.drain()
    for ref in refs:
        await (await bench.own(eid)).suspend(OnOperator("nondeterminism", "a became b", ref))
    return eid


async def test_a_worker_with_other_code_is_given_what_its_code_was_parked_for(bench: Bench) -> None:
    eid = await parked_by(bench, "old")
    await announce(bench, codes("1", "old"))
    sweepers = [bench.new_engine(name=name).sweeper() for name in ("a", "b")]
    assert (await sweepers[0].sweep_once()).tried == 0
    await announce(bench, codes("2", "new"))
    assert (await sweepers[0].sweep_once()).tried == 0
    await announce(bench, codes("1", "new"))
    assert (await sweepers[0].sweep_once()).tried == 1
    assert (await sweepers[1].sweep_once()).tried == 0
    (task,) = await bench.drain()
    assert (task.target, task.key, task.reason) == (eid, "code:new", "code")
    assert task.cause_at == (await bench.engine.journal(eid))[-1].at
    await announce(bench, codes("1", "new"))
    assert (await sweepers[0].sweep_once()).tried == 0


async def test_a_code_that_parked_it_again_is_not_asked_a_second_time(bench: Bench) -> None:
    """RPL-22."""
    eid = await parked_by(bench, "a", "b")
    for ref in ("a", "b", "c"):
        await announce(bench, codes("1", ref))
    sweeper = bench.engine.sweeper()
    assert (await sweeper.sweep_once()).tried == 1
    assert [task.key for task in await bench.drain()] == ["code:c"]
    await (await bench.own(eid)).suspend(OnOperator("nondeterminism", "a became b", "c"))
    assert (await sweeper.sweep_once()).tried == 0
    await (await bench.own(eid)).suspend(OnChannel(f"{eid}.signature"))
    await (await bench.own(eid)).suspend(OnOperator("nondeterminism", "a became b", "c"))
    assert (await sweeper.sweep_once()).tried == 2


async def test_what_is_parked_by_a_bad_deploy_is_offered_to_the_workers_that_are_still_there(bench: Bench) -> None:
    await announce(bench, codes("1", "good"))
    await announce(bench, codes("1", "bad"))
    sweeper = bench.engine.sweeper()
    await sweeper.sweep_once()
    await parked_by(bench, "bad")
    assert (await sweeper.sweep_once()).tried == 1
    assert [task.key for task in await bench.drain()] == ["code:good"]


async def test_jobs_of_plugins_are_done_in_each_pass(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """SWP-9."""
    done: list[str] = []

    def job(name: str) -> Any:
        async def act(engine: object) -> None:
            done.append(name)

        return act

    def load() -> Any:
        return job("plugin")

    plugin = ModuleType("acme.plugin")
    plugin.flowli_sweep_jobs = lambda: [SweepJobType("ballots", "Close ballots", load)]  # type: ignore[attr-defined]
    found = Manager([Source("acme", "acme-dist", "1.0", "acme.plugin", lambda: plugin)])
    monkeypatch.setattr("flowli.runtime.sweep_jobs.manager", lambda: found)
    sweeper = bench.engine.sweeper(jobs=[job("given")])
    assert (await sweeper.sweep_once()).jobs == 2
    assert (await sweeper.sweep_once()).jobs == 2
    assert done == ["given", "plugin"] * 2


async def test_a_job_may_follow_the_control_log_without_reading_it(bench: Bench) -> None:
    class Follows:
        def __init__(self) -> None:
            self.seen: list[int] = []
            self.turns: list[int] = []

        def take(self, entry: ControlEntry) -> None:
            self.seen.append(entry.seq)

        async def __call__(self, engine: object) -> None:
            self.turns.append(len(self.seen))

    await announce(bench, codes("1", "one"))
    job = Follows()
    sweeper = bench.engine.sweeper(jobs=[job])
    await sweeper.sweep_once()
    await announce(bench, codes("1", "two"))
    await sweeper.sweep_once()
    assert job.seen == [1, 2]
    assert job.turns == [1, 2]


async def test_one_sign_of_life_is_shown_however_many_sweepers_there_are(bench: Bench) -> None:
    """SWP-8."""
    sweepers = {name: bench.new_engine(name=name).sweeper() for name in ("a", "b", "c")}
    assert await last_seen(bench.ports, SWEEPER) is None
    written: list[str] = []
    for name in ("renew", "acquire"):
        real = getattr(bench.ports.ownership, name)

        async def counted(*args: Any, real: Any = real, name: str = name, **options: Any) -> Any:
            written.append(name)
            return await real(*args, **options)

        setattr(bench.ports.ownership, name, counted)
    for _ in range(360):
        for sweeper in sweepers.values():
            await sweeper.sweep_once()
        await bench.clock.advance(10)
    assert 55 <= len(written) <= 60
    del sweepers["a"]
    for _ in range(30):
        for sweeper in sweepers.values():
            await sweeper.sweep_once()
        await bench.clock.advance(10)
    seen = await last_seen(bench.ports, SWEEPER)
    assert seen is not None
    assert bench.world.now() - seen <= timedelta(seconds=70)


async def test_an_execution_without_its_creation_in_the_control_log_is_announced(bench: Bench) -> None:
    eid = await bench.engine.start("sign", "contract")
    await bench.engine.announcer.drain()
    control = await bench.ports.control.read()
    lost = [entry for entry in control.entries if not isinstance(entry.body, ExecutionCreated)]
    sweeper = bench.engine.sweeper()
    await (await bench.own(eid)).suspend(OnChannel(f"{eid}.signature"))
    late = await bench.ports.control.read(after=control.position)

    class Forgetful:
        async def read(self, *, after: object = None, limit: int = 1) -> Any:
            return replace(late, entries=(*lost, *late.entries), caught_up=True)

        def __getattr__(self, name: str) -> Any:
            return getattr(bench.ports.control, name)

    forgetful = bench.new_engine(ports=replace(bench.ports, control=Forgetful()))  # type: ignore[arg-type]
    sweeper = forgetful.sweeper()
    assert (await sweeper.sweep_once()).twins == 1
    created = [body for body in await bench.control() if isinstance(body, ExecutionCreated)]
    assert created == [created[0]] * 2
    assert (await sweeper.sweep_once()).twins == 0
