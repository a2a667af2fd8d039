"""Waiting: for time, for messages, for both at once."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta
from typing import Any

import pytest

from flowli import Context
from flowli.domain.entries import ExecutionSuspended, FrameCancelled, FrameFulfilled
from flowli.domain.waits import OnChannel, OnTimer

from .fleet import Fleet


def seconds(fleet: Fleet) -> float:
    return fleet.clock.elapsed_us / 1e6


async def suspensions(fleet: Fleet, eid: Any) -> list[ExecutionSuspended]:
    return [entry.body for entry in await fleet.entries(eid) if isinstance(entry.body, ExecutionSuspended)]


async def test_a_long_sleep_holds_no_worker(fleet: Fleet) -> None:
    """WAI-1."""

    @fleet.registry.workflow
    async def night(ctx: Context) -> float:
        before = ctx.now
        await ctx.sleep(timedelta(minutes=10))
        return (ctx.now - before).total_seconds()

    fleet.process("w").work()
    eid = await fleet.engine.start(night)
    await fleet.until_status(eid, "suspended")
    assert [timer.eid for timer in await fleet.ports.timers.pending()] == [eid]
    assert await fleet.tasks() == []
    assert 600 <= await fleet.value(eid) < 603
    (suspended,) = await suspensions(fleet, eid)
    assert [type(on) for on in suspended.on] == [OnTimer]


async def test_a_short_sleep_stays_in_the_worker(fleet: Fleet) -> None:
    """WAI-13."""

    @fleet.registry.workflow
    async def nap(ctx: Context) -> None:
        await ctx.sleep(1.5)
        await asyncio.sleep(1)

    fleet.process("w").work(sweep=False)
    eid = await fleet.engine.start(nap)
    await fleet.value(eid)
    assert await suspensions(fleet, eid) == []
    assert 2.5 <= seconds(fleet) < 10


async def test_sleeping_until_a_past_instant_ends_at_once(fleet: Fleet) -> None:
    """WAI-13."""

    @fleet.registry.workflow
    async def late(ctx: Context) -> None:
        await ctx.sleep_until(ctx.now - timedelta(days=1))

    fleet.process("w").work(sweep=False)
    await fleet.result(late)
    assert seconds(fleet) < 10


async def test_sleeping_to_an_instant_ends_there(fleet: Fleet) -> None:
    @fleet.registry.workflow
    async def alarm(ctx: Context, at: datetime) -> datetime:
        await ctx.sleep_until(at)
        return ctx.now

    fleet.process("w").work()
    at = (fleet.clock.now() + timedelta(minutes=3)).to_datetime()
    woke = await fleet.result(alarm, at)
    assert at <= woke < at + timedelta(seconds=3)


async def test_plain_asyncio_timers_are_durable(fleet: Fleet) -> None:
    """RPL-16."""

    @fleet.registry.workflow
    async def race(ctx: Context) -> str:
        try:
            async with asyncio.timeout(60):
                await asyncio.sleep(3600)
        except TimeoutError:
            await asyncio.sleep(60)
            return "timed out"
        return "slept"

    fleet.process("w").work()
    assert await fleet.result(race) == "timed out"
    assert 120 <= seconds(fleet) < 140


async def test_a_message_sent_before_anybody_waits_is_kept(fleet: Fleet) -> None:
    """WAI-3."""

    @fleet.registry.workflow
    async def wait(ctx: Context) -> Any:
        return await ctx.receive("go")

    eid = await fleet.engine.start(wait)
    await fleet.engine.signal(eid, "go", {"n": 1})
    fleet.process("w").work(sweep=False)
    assert await fleet.value(eid) == {"n": 1}


async def test_a_message_during_a_step_is_kept(fleet: Fleet) -> None:
    """WAI-3."""

    async def long() -> None:
        await fleet.clock.sleep(20)

    @fleet.registry.workflow
    async def wait(ctx: Context) -> Any:
        await ctx.step(long)
        return await ctx.receive("go")

    eid = await fleet.engine.start(wait)
    fleet.process("w").work(sweep=False)
    await fleet.clock.advance(3)
    await fleet.engine.signal(eid, "go", "early")
    assert await fleet.value(eid) == "early"


async def test_a_message_wakes_a_sleeping_execution(fleet: Fleet) -> None:
    @fleet.registry.workflow
    async def wait(ctx: Context) -> Any:
        return await ctx.receive("go")

    eid = await fleet.engine.start(wait)
    fleet.process("w").work(sweep=False)
    await fleet.until_status(eid, "suspended")
    await fleet.engine.signal(eid, "go", 7)
    assert await fleet.value(eid) == 7
    (suspended,) = await suspensions(fleet, eid)
    assert suspended.on == (OnChannel(f"{eid}.go"),)


async def test_three_messages_for_three_receives_come_once_each_and_in_order(fleet: Fleet) -> None:
    """WAI-2."""

    @fleet.registry.workflow
    async def wait(ctx: Context) -> list[Any]:
        return [await ctx.receive("go") for _ in range(3)]

    eid = await fleet.engine.start(wait)
    for n in range(3):
        await fleet.engine.signal(eid, "go", n)
    fleet.process("w").work(sweep=False)
    assert await fleet.value(eid) == [0, 1, 2]


async def test_two_receives_at_once_never_get_the_same_message(fleet: Fleet) -> None:
    """WAI-2."""

    @fleet.registry.workflow
    async def pair(ctx: Context) -> list[Any]:
        return await ctx.gather(ctx.receive("go"), ctx.receive("go"))

    eid = await fleet.engine.start(pair)
    fleet.process("w").work(sweep=False)
    await fleet.until_status(eid, "suspended")
    await fleet.engine.signal(eid, "go", "first")
    await fleet.clock.advance(5)
    await fleet.engine.signal(eid, "go", "second")
    assert await fleet.value(eid) == ["first", "second"]
    fulfilled = [entry.body.message_seq for entry in await fleet.entries(eid) if isinstance(entry.body, FrameFulfilled)]
    assert fulfilled == [1, 2]


async def test_a_receive_times_out_with_none(fleet: Fleet) -> None:
    """WAI-4."""

    @fleet.registry.workflow
    async def wait(ctx: Context) -> list[Any]:
        return [await ctx.receive("go", timeout=60), await ctx.receive("go", timeout=1)]

    fleet.process("w").work()
    assert await fleet.result(wait) == [None, None]
    assert 61 <= seconds(fleet) < 80


async def test_a_message_after_the_timeout_goes_to_the_next_receive(fleet: Fleet) -> None:
    @fleet.registry.workflow
    async def wait(ctx: Context) -> list[Any]:
        return [await ctx.receive("go", timeout=60), await ctx.receive("go")]

    eid = await fleet.engine.start(wait)
    fleet.process("w").work()
    await fleet.clock.advance(100)
    await fleet.engine.signal(eid, "go", "late")
    assert await fleet.value(eid) == [None, "late"]


async def test_a_correlation_picks_its_message_and_leaves_the_others(fleet: Fleet) -> None:
    """WAI-11."""

    @fleet.registry.workflow
    async def wait(ctx: Context) -> list[Any]:
        picked = await ctx.receive("go", correlation="b")
        return [picked, await ctx.receive("go"), await ctx.receive("go")]

    eid = await fleet.engine.start(wait)
    fleet.process("w").work(sweep=False)
    await fleet.until_status(eid, "suspended")
    for correlation in ("a", "c", "b"):
        await fleet.engine.signal(eid, "go", correlation, correlation=correlation)
        await fleet.clock.advance(3)
    assert await fleet.value(eid) == ["b", "a", "c"]


async def test_a_waiting_branch_does_not_starve_its_siblings(fleet: Fleet) -> None:
    done: list[int] = []

    async def work(n: int) -> int:
        await fleet.clock.sleep(5)
        done.append(n)
        return n

    @fleet.registry.workflow
    async def mixed(ctx: Context) -> list[Any]:
        async def busy() -> list[int]:
            return [await ctx.step(work, n) for n in range(6)]

        return await ctx.gather(ctx.receive("go"), busy(), ctx.sleep(2000))

    eid = await fleet.engine.start(mixed)
    fleet.process("w").work()
    await fleet.clock.advance(60)
    assert done == [0, 1, 2, 3, 4, 5]
    await fleet.engine.signal(eid, "go", "now")
    assert await fleet.value(eid) == ["now", [0, 1, 2, 3, 4, 5], None]


async def test_a_message_is_acted_on_while_another_branch_runs(fleet: Fleet) -> None:
    """WAI-23."""
    heard: list[float] = []

    async def long() -> None:
        await fleet.clock.sleep(100)

    async def note() -> None:
        heard.append(seconds(fleet))

    @fleet.registry.workflow
    async def mixed(ctx: Context) -> None:
        async def listen() -> None:
            await ctx.receive("go")
            await ctx.step(note)

        await ctx.gather(ctx.step(long), listen())

    eid = await fleet.engine.start(mixed)
    fleet.process("w").work(sweep=False)
    await fleet.clock.advance(10)
    assert (await fleet.ports.channel.marker(f"{eid}.go", eid)) is not None, "senders learn of a wait after hold_s"
    await fleet.engine.signal(eid, "go")
    await fleet.value(eid)
    assert 10 <= heard[0] < 15


async def test_a_message_wins_against_a_timeout_and_the_timer_is_given_up(fleet: Fleet) -> None:
    """WAI-12, WAI-24."""

    @fleet.registry.workflow
    async def race(ctx: Context) -> Any:
        try:
            async with asyncio.timeout(300):
                return await ctx.receive("go")
        except TimeoutError:
            return "timeout"

    eid = await fleet.engine.start(race)
    fleet.process("w").work()
    await fleet.until_status(eid, "suspended")
    await fleet.engine.signal(eid, "go", "message")
    assert await fleet.value(eid) == "message"
    assert [entry.body.why for entry in await fleet.entries(eid) if isinstance(entry.body, FrameCancelled)] == [
        "disarmed"
    ]


async def test_a_message_sent_by_an_execution_comes_once(fleet: Fleet) -> None:
    """WAI-16."""

    @fleet.registry.workflow
    async def hear(ctx: Context) -> list[Any]:
        return [await ctx.receive("a"), await ctx.receive("a", timeout=30)]

    @fleet.registry.workflow
    async def tell(ctx: Context, eid: str) -> int:
        from uuid import UUID

        return await ctx.send(UUID(eid), "a", {"from": "tell"})

    fleet.process("w").work()
    hearer = await fleet.engine.start(hear)
    assert await fleet.result(tell, str(hearer)) == 1
    assert await fleet.value(hearer) == [{"from": "tell"}, None]


async def test_a_claim_is_decided_once(fleet: Fleet) -> None:
    """WAI-21."""

    @fleet.registry.workflow
    async def grab(ctx: Context, name: str) -> Any:
        return await ctx.claim("seat:1", name)

    fleet.process("w").work()
    eids = [await fleet.engine.start(grab, name) for name in ("ada", "bob", "eve")]
    values = {await fleet.value(eid) for eid in eids}
    assert len(values) == 1


async def test_a_delegate_is_enqueued_once_and_can_be_withdrawn(fleet: Fleet) -> None:
    """STP-24."""

    @fleet.registry.workflow
    async def hand_out(ctx: Context) -> list[Any]:
        kept = await ctx.enqueue("agents", {"n": 1})
        gone = await ctx.enqueue("agents", {"n": 2})
        return [kept, await ctx.withdraw("agents", gone), await ctx.withdraw("agents", gone)]

    fleet.process("w").work(sweep=False)
    kept, first, second = await fleet.result(hand_out)
    assert (first, second) == (True, False)
    assert [task.task_id for task in await fleet.tasks("agents")] == [kept]


async def test_what_an_execution_announces_stands_in_the_control_log(fleet: Fleet) -> None:
    @fleet.registry.workflow
    async def proud(ctx: Context) -> None:
        await ctx.announce("shipped", {"parcels": 2})
        await ctx.set_attributes(city="Oulu")

    fleet.process("w").work(sweep=False)
    await fleet.result(proud)
    bodies = [entry.body.tag for entry in (await fleet.ports.control.read()).entries]
    assert "announce" in " ".join(bodies)


@pytest.mark.parametrize("warm", [True, False])
async def test_a_warm_and_a_cold_resume_give_the_same(fleet: Fleet, warm: bool) -> None:
    """OWN-10."""

    async def step(n: int) -> int:
        return n + 1

    @fleet.registry.workflow
    async def story(ctx: Context) -> list[Any]:
        found: list[Any] = []
        for _ in range(4):
            found.append(await ctx.receive("go"))
            found.append(await ctx.step(step, len(found)))
            found.append(str(ctx.uuid()))
            found.append(ctx.random.random())
        return found

    eid = await fleet.engine.start(story)
    fleet.process("w", warm_limit=1000 if warm else 0).work(sweep=False)
    for n in range(4):
        await fleet.until_status(eid, "suspended")
        await fleet.engine.signal(eid, "go", n)
        await fleet.clock.advance(3)
    value = await fleet.value(eid)
    assert value[0::4] == [0, 1, 2, 3]
    assert value[1::4] == [2, 6, 10, 14]
    import random
    from uuid import uuid5

    draws = random.Random(eid.int)
    assert value[2::4] == [str(uuid5(eid, f"uuid/{n}")) for n in range(1, 5)]
    assert value[3::4] == [draws.random() for _ in range(4)]
