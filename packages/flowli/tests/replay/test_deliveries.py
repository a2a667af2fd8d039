"""The order in which outcomes reach the code: that of the journal, one at a time (RPL-2, RPL-9)."""

from __future__ import annotations

import asyncio
import itertools
import random
from typing import Any

import pytest

from flowli.domain.entries import (
    ExecutionCancelled,
    ExecutionCancelRequested,
    ExecutionCompleted,
    ExecutionPatched,
    ExecutionResumed,
    FrameDeferred,
    FrameFailed,
    FrameStarted,
    JournalEntry,
)
from flowli.domain.errors import ErrorInfo
from flowli.domain.retry import RetryPolicy
from flowli.domain.waits import OnChannel, OnChild, OnTimer
from flowli.runtime.context import Context
from flowli.runtime.replay.calls import ReceiveMessage, RunStep, StartChild, WaitUntil
from flowli.runtime.replay.session import Session
from flowli.testing.replay import new_session, replay

from .live import Live, calm, execution_of, settle
from .programs import fails, registry, smaller, value

EVENTS = ("step", "message", "timer", "child", "cancel")


async def five_things(ctx: Context) -> list[str]:
    """Waits for five things at once, and says in which order they came and what it then did."""
    said: list[str] = []

    async def one(name: str, frame: Any) -> None:
        try:
            await frame
        except asyncio.CancelledError:
            said.append(f"{name} cancelled")
            await ctx.step(value, 0, name=f"undo-{name}")
            raise
        said.append(name)
        await ctx.step(value, len(said), name=f"after-{name}")
        said.append(f"after {name}")

    things = {
        "step": ctx.step(value, 1),
        "message": ctx.receive("a"),
        "timer": ctx.sleep(5),
        "child": ctx.child(smaller, 1),
    }
    try:
        async with asyncio.TaskGroup() as group:
            for name, frame in things.items():
                group.create_task(one(name, frame))
    except asyncio.CancelledError:
        said.append("cancelled")
    await ctx.step(fails if "cancelled" in said else value, 1, name="last", retry=RetryPolicy(1))
    return said


def happen(session: Session, event: str) -> None:
    """One outcome, as the owner would deliver it."""
    for frame in list(session.frames.values()):
        match event, frame.action:
            case "step", RunStep():
                session.complete(frame, 1)
            case "message", ReceiveMessage(channel):
                session.fulfil(frame, OnChannel(channel), {"n": 1}, message_seq=1)
            case "timer", WaitUntil(due):
                session.fulfil(frame, OnTimer(due), None)
            case "child", StartChild(eid):
                session.fulfil(frame, OnChild(eid), 1)
            case _:
                continue
        break
    if event == "cancel":
        session.request_cancel("because", "request-1")
    settle(session)


@pytest.mark.parametrize("order", list(itertools.permutations(EVENTS)), ids="-".join)
def test_every_order_of_five_events_replays_from_every_prefix(order: tuple[str, ...]) -> None:
    """RPL-2."""
    session = new_session(five_things, execution_of(five_things), registry=registry)
    session.begin()
    settle(session)
    for event in (*order, *("step",) * 8):
        happen(session, event)
    journal = session.take_buffer()
    assert session.ending is not None
    for n in range(1, len(journal) + 1):
        again = new_session(five_things, execution_of(five_things), registry=registry)
        again.load(journal[:n])
        settle(again)
        assert again.divergence is None
        made = [entry.body for entry in again.take_buffer()]
        assert made == [entry.body for entry in journal[n : n + len(made)]]
    assert again.ending == session.ending


def test_outcomes_that_come_at_once_are_still_given_one_by_one() -> None:
    """RPL-2."""

    async def racing(ctx: Context) -> list[str]:
        said: list[str] = []

        async def one(n: int) -> None:
            said.append(f"got {await ctx.step(value, n)}")
            await ctx.step(value, n, name="then")

        await asyncio.gather(one(1), one(2))
        return said

    live = calm(racing)
    one, two = list(live.session.frames.values())
    live.session.complete(two, 2)
    live.session.complete(one, 1)
    settle(live.session)
    bodies = [entry.body for entry in live.session.take_buffer()]
    assert [getattr(body, "fid", "") for body in bodies] == [
        "root/value#2",
        "root/then#1",
        "root/value#1",
        "root/then#2",
    ]


def test_two_cancels_at_once_are_two_deliveries() -> None:
    """OPR-1."""
    caught: list[str] = []

    async def stubborn(ctx: Context) -> str:
        for _ in range(2):
            try:
                await ctx.receive("silent")
            except asyncio.CancelledError:
                caught.append("cancel")
        return "ends by itself"

    live = calm(stubborn)
    live.session.request_cancel("once", "r1")
    live.session.request_cancel("twice", "r2")
    settle(live.session)
    journal = [*live.journal, *live.session.take_buffer()]
    assert caught == ["cancel", "cancel"]
    assert live.session.ending == ExecutionCompleted("ends by itself")
    assert sum(isinstance(entry.body, ExecutionCancelRequested) for entry in journal) == 2
    replay(stubborn, journal).check()


async def with_clean_up(ctx: Context) -> int:
    """A few short steps in a row, with something to undo."""
    total = 0
    try:
        for n in range(4):
            total += await ctx.step(value, n)
        async with asyncio.timeout(50):
            total += (await ctx.receive("a"))["n"]
    finally:
        await ctx.step(value, total, name="undo")
    return total


@pytest.mark.parametrize("position", range(7))
def test_a_cancel_at_every_position_is_delivered_there_and_once(position: int) -> None:
    """WAI-9."""
    live = calm(with_clean_up)
    for _ in range(position):
        assert live.step()
    live.session.request_cancel("operator", "r1")
    live._settle()
    journal = live.run()
    requested = [entry for entry in journal if isinstance(entry.body, ExecutionCancelRequested)]
    assert len(requested) == 1
    undone = any(isinstance(e.body, FrameStarted) and e.body.name == "undo" for e in journal)
    assert undone
    if position < 6:  # later, the cancel meets the clean-up itself, or the end
        assert live.session.ending == ExecutionCancelled("operator")
    replay(with_clean_up, journal).check()
    for n in range(1, len(journal)):
        assert replay(with_clean_up, journal[:n]).difference is None


def test_attempts_and_deferrals_are_no_commands() -> None:
    async def patient(ctx: Context) -> int:
        try:
            await ctx.step(fails, 1, retry=RetryPolicy(3))
        except Exception:
            return await ctx.step(value, 7)
        return 0

    seen = set()
    for seed in range(12):
        live = Live(patient, chance=random.Random(seed), defers=0.4, crashes=1)
        journal = live.run()
        seen |= {type(entry.body) for entry in journal}
        assert live.session.ending == ExecutionCompleted(7)
        assert len([e for e in journal if isinstance(e.body, FrameFailed)]) == 3
        for n in range(1, len(journal) + 1):
            assert replay(patient, journal[:n]).difference is None
    assert FrameDeferred in seen
    assert ExecutionResumed in seen


def test_a_frame_that_waits_for_its_next_attempt_is_replayed_as_waiting() -> None:
    async def trying(ctx: Context) -> int:
        return await ctx.step(fails, 1, retry=RetryPolicy(5))

    live = calm(trying)
    (frame,) = live.session.frames.values()
    live.session.fail(frame, ErrorInfo("ValueError", "no"), retryable=True, retry_at=live.clock)
    live._settle()
    again = new_session(trying, live.execution)
    again.load(live.journal)
    settle(again)
    (found,) = again.frames.values()
    assert (found.retry_at, found.deferred, found.attempt) == (live.clock, False, 1)
    live.session.try_again(frame, 2)
    live._settle()
    later = new_session(trying, live.execution)
    later.load(live.journal)
    settle(later)
    (found,) = later.frames.values()
    assert (found.retry_at, found.attempt, found.relaunched) == (None, 2, True)


def patches_of(journal: list[JournalEntry]) -> list[ExecutionPatched]:
    return [entry.body for entry in journal if isinstance(entry.body, ExecutionPatched)]


async def shop(ctx: Context) -> str:
    """The old code."""
    await ctx.step(value, 1)
    await ctx.receive("a")
    return "old"


async def shop_with_check(ctx: Context) -> str:
    """The new code: a check before the message is awaited."""
    await ctx.step(value, 1)
    if ctx.patched("check"):
        await ctx.step(value, 2, name="check")
    await ctx.receive("a")
    return f"new {ctx.patched('check')}"


def test_a_change_is_taken_by_executions_that_come_to_it_with_the_new_code() -> None:
    """RPL-13."""
    live = calm(shop_with_check)
    journal = live.run()
    assert live.session.ending == ExecutionCompleted("new True")
    assert patches_of(journal) == [ExecutionPatched("check", True)]
    for n in range(1, len(journal) + 1):
        assert replay(shop_with_check, journal[:n]).difference is None


def test_a_change_is_not_taken_by_executions_that_are_past_it() -> None:
    """RPL-13."""
    journal = calm(shop).run()
    assert [entry.body.tag for entry in journal][-4:] == [
        "frame.started",
        "frame.fulfilled",
        "frame.completed",
        "execution.completed",
    ]
    report = replay(shop_with_check, journal[:-1])
    assert report.difference is None
    assert report.ending == ExecutionCompleted("new False")
    assert report.commands == ()


def test_a_change_is_taken_by_an_execution_whose_old_owner_died_before_it() -> None:
    """What a takeover has written since says nothing of how far the code came."""
    journal = calm(shop).run()
    (completed,) = [n for n, entry in enumerate(journal, 1) if entry.body.tag == "frame.completed"][:1]
    by = journal[completed - 1].by
    resumed = JournalEntry(ExecutionResumed(2, ("expired",)), by, completed + 1)
    report = replay(shop_with_check, [*journal[:completed], resumed])
    assert report.difference is None
    assert report.commands[0] == ExecutionPatched("check", True)
    assert [body.name for body in report.commands[1:] if isinstance(body, FrameStarted)] == ["check"]


def test_a_change_that_was_answered_once_keeps_its_answer_wherever_it_is_asked() -> None:
    """RPL-13."""

    async def asks_twice(ctx: Context) -> list[bool]:
        first = ctx.patched("a")
        await ctx.step(value, 1)
        return [first, ctx.patched("a"), ctx.patched("b")]

    live = calm(asks_twice)
    journal = live.run()
    assert live.session.ending == ExecutionCompleted([True, True, True])
    assert len(patches_of(journal)) == 2
    replay(asks_twice, journal).check()


def test_a_long_replay_gives_way_again_and_again_and_comes_to_the_same_end() -> None:
    """RPL-23."""

    async def long(ctx: Context) -> int:
        return sum([await ctx.step(value, n) for n in range(50)])

    journal = calm(long).run()[:-1]
    session = new_session(long, execution_of(long))
    session.load(journal)
    gave_way = 0
    while session.advance(lambda: True):
        gave_way += 1
        assert not session.settled
        assert session.ending is None
        assert asyncio._get_running_loop() is None
    assert gave_way >= 49
    assert session.ending == ExecutionCompleted(sum(range(50)))


def test_a_draw_more_changes_no_id() -> None:
    """K17: ids are counted, not drawn from the stream of random numbers (RPL-6)."""

    def note(uuid: str) -> str:
        return uuid

    async def before(ctx: Context) -> None:
        await ctx.step(note, str(ctx.uuid()))
        await ctx.sleep(5)
        await ctx.step(note, str(ctx.uuid()))

    async def after(ctx: Context) -> None:
        ctx.random.random()
        await ctx.step(note, str(ctx.uuid()))
        ctx.random.shuffle([1, 2, 3])
        await ctx.sleep(5)
        await ctx.step(note, str(ctx.uuid()))

    async def an_id_more(ctx: Context) -> None:
        ctx.uuid()
        await ctx.step(note, str(ctx.uuid()))

    journal = calm(before).run()
    replay(after, journal).check()
    difference = replay(an_id_more, journal).difference
    assert difference is not None
    assert difference.seq == 2
    assert "other arguments" in difference.found


def test_a_replay_makes_each_frame_once_however_long_the_journal() -> None:
    """RPL-26."""

    async def long(ctx: Context, steps: int) -> None:
        for n in range(steps):
            await ctx.step(value, n)

    counts = []
    for steps in (10, 100, 1000):
        journal = calm(long, steps).run()
        session = new_session(long, execution_of(long, steps))
        numbers = session.loop._number
        session.load(journal)
        settle(session)
        counts.append((session.loop._number - numbers) / steps)
    assert max(counts) <= 1.2 * min(counts)
