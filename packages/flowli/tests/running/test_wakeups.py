"""Wake-ups that share an ownership, and workers that go."""

from __future__ import annotations

import asyncio
from typing import Any

from flowli import Context
from flowli.domain.entries import (
    ExecutionResumed,
    ExecutionSuspended,
)
from flowli.domain.ids import Eid

from .fleet import Fleet
from .ledger import Ledger

TTL_S = 30.0


def seconds(fleet: Fleet) -> float:
    return fleet.clock.elapsed_us / 1e6


async def resumed(fleet: Fleet, eid: Eid) -> list[int]:
    bodies = [entry.body for entry in await fleet.entries(eid)]
    return [body.epoch for body in bodies if isinstance(body, ExecutionResumed)]


async def sites(fleet: Fleet, eid: Eid) -> list[str]:
    return list(dict.fromkeys(entry.by.site.worker_id for entry in await fleet.entries(eid)))


async def test_wake_ups_of_one_execution_share_one_ownership(fleet: Fleet) -> None:
    """WRK-1."""

    @fleet.registry.workflow
    async def counter(ctx: Context) -> list[Any]:
        return [await ctx.receive("go") for _ in range(21)]

    eid = await fleet.engine.start(counter)
    first = fleet.process("w-1").work(sweep=False)
    await fleet.until_status(eid, "suspended")
    await fleet.run(first.stop())
    for n in range(20):
        await fleet.engine.signal(eid, "go", n)
    assert len(await fleet.tasks()) == 20
    fleet.process("w-2").work(sweep=False)
    await fleet.clock.advance(10)
    assert await fleet.tasks() == []
    assert {entry.by.site.epoch for entry in await fleet.entries(eid)} == {1, 2}
    suspended = [e for e in await fleet.entries(eid) if isinstance(e.body, ExecutionSuspended)]
    assert len(suspended) == 2
    await fleet.engine.signal(eid, "go", 20)
    assert await fleet.value(eid) == list(range(21))


async def test_wake_ups_of_a_busy_execution_take_no_room_from_others(fleet: Fleet, ledger: Ledger) -> None:
    @fleet.registry.workflow
    async def busy(ctx: Context) -> list[Any]:
        async def listen() -> list[Any]:
            return [await ctx.receive("go") for _ in range(10)]

        heard, _ = await ctx.gather(listen(), ctx.step(ledger.write, 0, 200.0))
        return heard

    fleet.process("w").work(concurrency=2, sweep=False)
    eid = await fleet.engine.start(busy)
    await fleet.clock.advance(10)
    for n in range(10):
        await fleet.engine.signal(eid, "go", n)
    quick = await fleet.engine.start("steps", 3)
    began = seconds(fleet)
    assert await fleet.value(quick) == 3
    assert seconds(fleet) - began < 20
    assert [task.target for task in await fleet.tasks() if task.kind == "RESUME"] == [], "acked once journaled"
    assert await fleet.value(eid) == list(range(10))


async def test_the_resume_of_a_message_that_was_found_anyway_is_withdrawn(fleet: Fleet) -> None:
    """WAI-22."""

    @fleet.registry.workflow
    async def twice(ctx: Context) -> list[Any]:
        first = await ctx.receive("go")
        await ctx.step(quick)
        return [first, await ctx.receive("go")]

    async def quick() -> None:
        await fleet.clock.sleep(5)

    worker = fleet.process("w").work(sweep=False, queues=("default",))
    eid = await fleet.engine.start(twice)
    await fleet.until_status(eid, "suspended")
    held = asyncio.Event()

    async def hold() -> None:
        await held.wait()

    await fleet.engine.signal(eid, "go", 1)
    await fleet.clock.advance(2)
    worker.trouble["queue.dequeue"] = hold
    await fleet.engine.signal(eid, "go", 2)
    assert await fleet.value(eid) == [1, 2]
    held.set()


async def test_a_drain_lets_a_short_step_end_and_suspends_what_waits(fleet: Fleet, ledger: Ledger) -> None:
    """WRK-2."""

    @fleet.registry.workflow
    async def wait(ctx: Context) -> Any:
        await ctx.step(ledger.write, 1, 10.0)
        return await ctx.receive("go")

    first = fleet.process("w-1").work()
    eid = await fleet.engine.start(wait)
    await fleet.clock.advance(5)
    began = seconds(fleet)
    await fleet.run(first.stop())
    assert seconds(fleet) - began < 10
    assert (await fleet.fold(eid)).status == "suspended"
    fleet.process("w-2").work(sweep=False)
    await fleet.engine.signal(eid, "go", "on")
    assert await fleet.value(eid) == "on"
    assert len(ledger.ran) == 1
    assert await resumed(fleet, eid) == []


async def test_a_drain_hands_a_long_step_over_after_its_grace(fleet: Fleet, ledger: Ledger) -> None:
    """WRK-2."""
    first = fleet.process("w-1", grace_s=20.0).work()
    eid = await fleet.engine.start("steps", 3, 100.0)
    await fleet.clock.advance(5)
    began = seconds(fleet)
    await fleet.run(first.stop())
    assert 18 < seconds(fleet) - began < 25
    fold = await fleet.fold(eid)
    assert fold.suspended is not None
    assert fold.suspended.on == ()
    (view,) = await fleet.ports.queue.list("default")
    assert (view.holder, view.deaths) == (None, 0), "no lease is left behind"
    fleet.process("w-2").work(sweep=False)
    assert await fleet.value(eid) == 3
    assert len(ledger.ran) == 4
    assert await resumed(fleet, eid) == []


async def test_a_drained_worker_takes_nothing_more_and_gives_back_what_it_took_ahead(
    fleet: Fleet, ledger: Ledger
) -> None:
    """WRK-2."""
    first = fleet.process("w-1").work(concurrency=2, sweep=False)
    eids = [await fleet.engine.start("steps", 1, 3.0) for _ in range(12)]
    await fleet.clock.advance(4)
    await fleet.run(first.stop())
    views = await fleet.ports.queue.list("default")
    assert views
    assert [view for view in views if view.holder is not None] == []
    fleet.process("w-2").work()
    for eid in eids:
        await fleet.value(eid)
    assert len(ledger.ran) == 12


async def test_the_resume_of_a_request_that_was_found_in_the_lease_is_withdrawn(fleet: Fleet, ledger: Ledger) -> None:
    """WAI-22."""

    @fleet.registry.workflow
    async def stubborn(ctx: Context) -> str:
        try:
            await ctx.step(ledger.write, 1, 100.0)
        except asyncio.CancelledError:
            await ctx.receive("go")
        return "on"

    worker = fleet.process("w").work(concurrency=1, sweep=False)
    eid = await fleet.engine.start(stubborn)
    await fleet.clock.advance(3)
    await fleet.engine.cancel(eid, "stop", key="c-1")
    assert [task.key for task in await fleet.tasks()] == ["", "request:c-1"]
    await fleet.until_status(eid, "suspended")
    await fleet.clock.advance(1)
    assert await fleet.tasks() == []
    assert worker.calls.count("queue.withdraw") == 1
    await fleet.engine.signal(eid, "go")
    assert await fleet.value(eid) == "on"
