"""After a death: what was due stays due, nothing is counted twice, and nobody stands in the way."""

from __future__ import annotations

import random
from typing import Any

import pytest

from flowli import Context, step_info
from flowli.domain.entries import ExecutionResumed, FrameStarted
from flowli.domain.errors import ExecutionCancelled
from flowli.domain.ids import Eid
from flowli.domain.tasks import QueueSettings

from .fleet import Fleet

MINUTE_S = 60.0


def seconds(fleet: Fleet) -> float:
    return fleet.clock.elapsed_us / 1e6


async def takeovers(fleet: Fleet, eid: Eid) -> int:
    return sum(isinstance(entry.body, ExecutionResumed) for entry in await fleet.entries(eid))


async def test_a_sleep_that_was_interrupted_by_a_death_ends_when_it_was_due(fleet: Fleet) -> None:
    """WAI-20, K30."""

    @fleet.registry.workflow
    async def nap(ctx: Context) -> None:
        await ctx.sleep(6 * MINUTE_S)

    first = fleet.process("w-1", hold_s=60 * MINUTE_S, poll_s=5.0).work()
    eid = await fleet.engine.start(nap)
    await fleet.clock.advance(4 * MINUTE_S)
    assert await fleet.tags(eid) == ["execution.started", "frame.started"], "it is held, not suspended"
    first.kill()
    await fleet.clock.advance(MINUTE_S)
    fleet.process("w-2", poll_s=5.0).work()
    await fleet.value(eid)
    assert 6 * MINUTE_S <= seconds(fleet) < 6 * MINUTE_S + 30


async def test_an_execution_timeout_is_counted_from_the_start(fleet: Fleet) -> None:
    """OPR-9, K30."""

    @fleet.registry.workflow
    async def nap(ctx: Context) -> None:
        await ctx.sleep(24 * 60 * MINUTE_S)

    first = fleet.process("w-1", poll_s=5.0).work()
    eid = await fleet.engine.start(nap, timeout=4 * MINUTE_S)
    await fleet.clock.advance(3 * MINUTE_S)
    first.kill()
    await fleet.clock.advance(0.5 * MINUTE_S)
    fleet.process("w-2", poll_s=5.0).work()
    with pytest.raises(ExecutionCancelled, match="timeout of 240 s"):
        await fleet.value(eid)
    assert 4 * MINUTE_S <= seconds(fleet) < 4 * MINUTE_S + 60


async def test_a_timer_that_has_fired_is_consumed_once(fleet: Fleet) -> None:
    """WAI-20, K30."""
    woken: list[str] = []

    async def note() -> None:
        woken.append(step_info().fid)

    @fleet.registry.workflow
    async def nap(ctx: Context) -> None:
        await ctx.sleep(300)
        await ctx.step(note)

    first = fleet.process("w-1").work()
    eid = await fleet.engine.start(nap)
    await fleet.until_status(eid, "suspended")

    async def die() -> None:
        first.kill()

    first.trouble["journal.append"] = die
    await fleet.clock.advance(310)
    assert first.dead
    assert await fleet.ports.timers.pending() == []
    fleet.process("w-2").work()
    await fleet.value(eid)
    assert woken == ["root/note#1"]


async def test_a_long_step_is_given_to_nobody_else_while_it_is_renewed(fleet: Fleet) -> None:
    """WRK-4, K27."""
    runs: list[int] = []

    async def long() -> None:
        runs.append(step_info().epoch)
        await fleet.clock.sleep(300)

    @fleet.registry.workflow
    async def one(ctx: Context) -> None:
        await ctx.step(long)

    for n in range(3):
        fleet.process(f"w-{n}").work()
    eid = await fleet.engine.start(one)
    await fleet.value(eid)
    assert runs == [1]


@pytest.mark.parametrize("skews", [(-600.0, 600.0), (600.0, -600.0), (-3600.0, 0.0)])
async def test_clocks_that_disagree_delay_a_takeover_and_never_hasten_it(
    fleet: Fleet, skews: tuple[float, float]
) -> None:
    """OWN-7, K11."""
    runs: list[int] = []

    async def long() -> None:
        runs.append(step_info().epoch)
        await fleet.clock.sleep(90 if len(runs) == 1 else 1)

    @fleet.registry.workflow
    async def two(ctx: Context) -> None:
        await ctx.step(long)
        await ctx.step(long)

    first = fleet.process("w-1", skew_s=skews[0]).work(sweep=False)
    eid = await fleet.engine.start(two)
    await fleet.clock.advance(5)
    fleet.process("w-2", skew_s=skews[1]).work()
    await fleet.clock.advance(80)
    assert runs == [1], "a living owner is left alone"
    first.kill()
    died = seconds(fleet)

    async def taken() -> bool:
        return await takeovers(fleet, eid) == 1

    await fleet.until(taken)
    assert seconds(fleet) - died < 2 * 30 + 15
    await fleet.value(eid, limit_s=3 * 3600)
    assert runs == [1, 2, 2]
    instants = [entry.at for entry in await fleet.entries(eid)]
    assert instants == sorted(instants)


async def test_three_sweepers_take_one_dead_execution_over_once(fleet: Fleet) -> None:
    """SWP-2, K33."""
    attempts: list[int] = []

    async def long() -> None:
        attempts.append(step_info().attempt)
        await fleet.clock.sleep(20 if len(attempts) > 1 else 1000)

    @fleet.registry.workflow
    async def one(ctx: Context) -> None:
        await ctx.step(long)

    first = fleet.process("w-1").work(sweep=False)
    eid = await fleet.engine.start(one)
    await fleet.clock.advance(5)
    first.kill()
    for n in range(3):
        fleet.process(f"s-{n}").sweep()
    for n in range(2, 4):
        fleet.process(f"w-{n}").work(sweep=False)
    await fleet.value(eid)
    assert attempts == [1, 1]
    assert await takeovers(fleet, eid) == 1
    started = [entry.body.attempt for entry in await fleet.entries(eid) if isinstance(entry.body, FrameStarted)]
    assert started == [1]


@pytest.mark.parametrize("point", ["at once", "between steps", "at the end"])
async def test_a_slot_of_a_dead_worker_comes_back(fleet: Fleet, point: str) -> None:
    """QUE-9, K26."""

    async def work(n: int) -> int:
        await fleet.clock.sleep(5)
        return n

    @fleet.registry.workflow
    async def two(ctx: Context) -> int:
        return await ctx.step(work, 1) + await ctx.step(work, 2)

    await fleet.ports.queue.configure("default", QueueSettings(concurrency=1))
    first = fleet.process("w-1", exec_ttl_s=6.0, task_ttl_s=6.0)
    bad, good = await fleet.engine.start(two), await fleet.engine.start(two)
    calls = {"at once": "ownership.acquire", "between steps": "journal.append", "at the end": "queue.ack"}

    async def die() -> None:
        first.kill()

    first.trouble[calls[point]] = die
    first.work(sweep=False)
    await fleet.clock.advance(15)
    assert first.dead
    fleet.process("w-2", exec_ttl_s=6.0, task_ttl_s=6.0).work()
    assert await fleet.value(bad, limit_s=120) == 3
    assert await fleet.value(good, limit_s=120) == 3


@pytest.mark.parametrize("seed", range(3))
async def test_forty_signals_are_counted_once_each_whatever_dies(fleet: Fleet, seed: int) -> None:
    chance = random.Random(seed)

    @fleet.registry.workflow
    async def counter(ctx: Context, until: int) -> list[Any]:
        heard: list[Any] = []
        while len(heard) < until:
            heard.append(await ctx.receive("tick"))
        return heard

    settings = {"exec_ttl_s": 4.0, "task_ttl_s": 4.0}
    eid = await fleet.engine.start(counter, 40)
    worker = fleet.process("w-0", **settings).work()
    clients = [fleet.process(f"c-{n}") for n in range(4)]
    for n in range(40):
        await fleet.run(clients[n % 4].engine.signal(eid, "tick", n))
        await fleet.clock.advance(chance.random() * 0.7)
        if chance.random() < 0.15:
            worker.dies_at, worker.dies_after = len(worker.calls) + chance.randrange(1, 12), chance.random() < 0.5
            worker = fleet.process(f"w-{n + 1}", **settings).work()
    heard = await fleet.value(eid)
    assert sorted(heard) == list(range(40))


async def test_what_was_taken_ahead_is_given_back_when_steps_get_long(fleet: Fleet) -> None:
    async def work(pause_s: float) -> None:
        await fleet.clock.sleep(pause_s)

    @fleet.registry.workflow
    async def one(ctx: Context, pause_s: float) -> None:
        await ctx.step(work, pause_s)

    first = fleet.process("w-1").work(concurrency=4, sweep=False)
    quick = [await fleet.engine.start(one, 0.1) for _ in range(40)]
    await fleet.clock.advance(0.2)
    slow = [await fleet.engine.start(one, 300.0) for _ in range(4)]
    await fleet.clock.advance(0.1)
    others = [await fleet.engine.start(one, 1.0) for _ in range(8)]
    for eid in quick:
        await fleet.engine.result(eid)
    await fleet.clock.advance(20)
    held = [view.task.target for view in await fleet.ports.queue.list("default") if view.holder is not None]
    assert set(held) == set(slow), "what it cannot begin is not kept from others"
    fleet.process("w-2").work(sweep=False)
    began = seconds(fleet)
    for eid in others:
        await fleet.value(eid)
    assert seconds(fleet) - began < 100
    assert first.worker is not None
