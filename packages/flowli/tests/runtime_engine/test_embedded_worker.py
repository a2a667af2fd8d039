"""WRK-9: ``async with engine.worker()`` works in the background until its block drives it."""

from __future__ import annotations

import asyncio

import pytest

from flowli import Context, Registry
from flowli.adapters.memory import MemoryBackend
from flowli.domain.execution import ExecutionStatus
from flowli.domain.ids import Eid
from flowli.domain.provenance import Site
from flowli.runtime.engine import Engine
from flowli.testing.clock import ManualClock, ManualWorld

registry = Registry()


@registry.workflow
async def naps(ctx: Context, seconds: float) -> str:
    if seconds:
        await ctx.sleep(seconds)
    return "rested"


def engine_on(clock: ManualClock) -> Engine:
    return Engine(MemoryBackend(ManualWorld(clock)).ports, Site("web"), registry=registry, world=ManualWorld(clock))


async def status(engine: Engine, eid: Eid) -> ExecutionStatus:
    return (await engine.status(eid)).status


async def test_a_block_that_only_waits_has_a_worker() -> None:
    clock = ManualClock()
    engine = engine_on(clock)

    async def service() -> list[str]:
        async with engine.worker():
            return [await engine.run(naps, 0.0), await engine.run(naps, 1.0)]

    assert await clock.run(service()) == ["rested", "rested"]


async def test_leaving_the_block_drains_it() -> None:
    clock = ManualClock()
    engine = engine_on(clock)

    async def service() -> Eid:
        async with engine.worker():
            eid = (await engine.start_args(naps, (1.0,), {})).eid
            await clock.sleep(0.5)
            return eid

    eid = await clock.run(service())
    assert await status(engine, eid) in (ExecutionStatus.SUSPENDED, ExecutionStatus.COMPLETED)
    later = await engine.start(naps, 0.0)
    await clock.advance(60)
    assert await status(engine, later) is ExecutionStatus.PENDING


async def test_run_once_as_the_first_thing_takes_no_more_than_it_says() -> None:
    clock = ManualClock()
    engine = engine_on(clock)
    eids = [await engine.start(naps, 0.0) for _ in range(3)]

    async def tick() -> tuple[int, int]:
        async with engine.worker(concurrency=1) as worker:
            first = await worker.run_once()
            left = [await status(engine, eid) for eid in eids].count(ExecutionStatus.PENDING)
            return first, left

    first, left = await clock.run(tick())
    assert first >= 1
    assert left == 2


async def test_a_block_that_begins_to_drive_later_is_told_what_was_taken_before() -> None:
    clock = ManualClock()
    engine = engine_on(clock)

    async def service() -> int:
        async with engine.worker() as worker:
            await engine.run(naps, 0.0)
            eid = await engine.start(naps, 0.0)
            count = await worker.run_until_idle()
            assert await status(engine, eid) is ExecutionStatus.COMPLETED
            # nobody takes anything now but the block itself
            other = await engine.start(naps, 0.0)
            await clock.sleep(30)
            assert await status(engine, other) is ExecutionStatus.PENDING
            return count + await worker.run_once()

    assert await clock.run(service()) == 3


async def test_what_ends_the_background_is_raised_on_leaving(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = ManualClock()
    engine = engine_on(clock)

    async def broken(*args: object, **options: object) -> list[object]:
        raise LookupError("no such thing")

    monkeypatch.setattr(engine.ports.queue, "dequeue", broken)

    async def service() -> None:
        async with engine.worker():
            await clock.sleep(100)

    with pytest.raises(LookupError, match="no such thing"):
        await clock.run(service())


async def test_run_takes_over_and_stops_when_told() -> None:
    clock = ManualClock()
    engine = engine_on(clock)

    async def service() -> str:
        async with engine.worker() as worker:
            running = asyncio.create_task(worker.run())
            value = await engine.run(naps, 0.0)
            worker.stop()
            await running
            return value

    assert await clock.run(service()) == "rested"
