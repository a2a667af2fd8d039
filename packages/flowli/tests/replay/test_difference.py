"""The first difference between a journal and the code: worded for people, never seen by the code (RPL-5, RPL-7)."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import date
from typing import Any

import pytest

from flowli.domain.entries import FrameStarted, FrameSuspended, JournalEntry, UnknownBody
from flowli.domain.errors import NondeterminismError
from flowli.domain.waits import OnTimer
from flowli.runtime.context import Context
from flowli.testing.replay import new_session, replay

from .live import CREATED, calm, settle
from .programs import fails, value


def charge(n: int) -> int:
    return n


def ship(n: int) -> int:
    return n


def label(n: int) -> str:
    return str(n)


async def recorded(ctx: Context) -> str:
    """What ran: two steps, a message, a step."""
    await ctx.step(charge, 1)
    await ctx.step(ship, 2)
    await ctx.receive("paid", timeout=100)
    await ctx.step(value, 3)
    return "done"


async def other_arguments(ctx: Context) -> str:
    await ctx.step(charge, 9)
    return "done"


async def other_kind(ctx: Context) -> str:
    await ctx.step(charge, 1)
    await ctx.claim("ship", 1)
    return "done"


async def other_name(ctx: Context) -> str:
    await ctx.step(charge, 1, name="bill")
    return "done"


async def other_order(ctx: Context) -> str:
    await ctx.step(ship, 2)
    await ctx.step(charge, 1)
    return "done"


async def one_more(ctx: Context) -> str:
    await asyncio.gather(ctx.step(charge, 1), ctx.step(label, 1))
    return "done"


async def one_less(ctx: Context) -> str:
    await ctx.step(charge, 1)
    await ctx.receive("paid", timeout=100)
    return "done"


async def waits_otherwise(ctx: Context) -> str:
    await ctx.step(charge, 1)
    await asyncio.Event().wait()
    return "done"


async def ends_early(ctx: Context) -> str:
    await ctx.step(charge, 1)
    return "early"


async def raises_early(ctx: Context) -> str:
    await ctx.step(charge, 1)
    raise ValueError("early")


async def gives_up(ctx: Context) -> str:
    await ctx.step(charge, 1)
    await ctx.step(ship, 2)
    task = asyncio.ensure_future(ctx.receive("paid", timeout=100))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    task.cancel()
    return "done"


DIGEST = "(?:[0-9a-f]{12})"


@pytest.mark.parametrize(
    ("code", "seq", "expected", "found"),
    [
        (
            other_arguments,
            2,
            f"step 'charge' as root/charge#1 with arguments of digest {DIGEST}",
            rf"the same with other arguments \(digest {DIGEST}\)",
        ),
        (other_kind, 4, "step 'ship' as root/ship#1", "effect 'claim' as root/claim#1"),
        (other_name, 2, "step 'charge' as root/charge#1", "step 'bill' as root/bill#1"),
        (other_order, 2, "step 'charge' as root/charge#1", "step 'ship' as root/ship#1"),
        (one_more, 3, "the result of root/charge#1", "step 'label' as root/label#1"),
        (one_less, 4, "step 'ship' as root/ship#1", "receive 'paid' as root/paid#1"),
        (waits_otherwise, 4, "step 'ship' as root/ship#1", "no further command"),
        (ends_early, 4, "step 'ship' as root/ship#1", "its end"),
        (raises_early, 4, "step 'ship' as root/ship#1", "its end"),
        (gives_up, 6, "receive 'paid' as root/paid#1", "its end"),
    ],
    ids=lambda part: part.__name__ if callable(part) else "",
)
def test_the_first_difference_is_found_and_worded(code: Any, seq: int, expected: str, found: str) -> None:
    """RPL-5."""
    journal = calm(recorded).run()
    report = replay(code, journal)
    difference = report.difference
    assert difference is not None
    assert difference.seq == seq
    assert journal[seq - 1].seq == seq
    with pytest.raises(
        NondeterminismError, match=f"at entry {seq}: the journal has {expected}, the code made {found};"
    ):
        report.check()
    assert "`flowli migrate` or `flowli cancel`" in str(difference)


def test_the_code_never_sees_a_difference() -> None:
    """RPL-25."""
    said: list[str] = []

    async def careful(ctx: Context) -> str:
        try:
            await ctx.step(charge, 9)
            said.append("went on")
        except BaseException as error:
            said.append(repr(error))
            raise
        return "done"

    report = replay(careful, calm(recorded).run())
    assert report.difference is not None
    assert said == ["GeneratorExit()"]  # only that the coroutine was dropped
    assert report.commands == ()
    assert report.ending is None


def test_nothing_is_journaled_or_launched_after_a_difference() -> None:
    """RPL-25."""
    live = calm(recorded)
    journal = live.run()
    session = new_session(other_order, live.execution)
    session.load(journal)
    settle(session)
    assert session.divergence is not None
    assert session.buffered == 0
    assert not session.launches
    assert session.advance(lambda: False) is False
    assert session.buffered == 0


def test_what_a_missing_command_waits_for_is_told() -> None:
    async def before(ctx: Context) -> None:
        await asyncio.gather(*(ctx.step(value, n) for n in range(6)))

    async def after(ctx: Context) -> None:
        await asyncio.gather(*(ctx.step(value, n) for n in range(5)))

    difference = replay(after, calm(before).run()).difference
    assert difference is not None
    assert difference.found == ("no further command and waits for root/value#1, root/value#2, root/value#3 and 2 more")


def test_a_command_more_than_was_made_before_the_execution_was_suspended_is_a_difference() -> None:
    async def before(ctx: Context) -> None:
        await ctx.sleep(5)

    async def after(ctx: Context) -> None:
        await asyncio.gather(ctx.sleep(5), ctx.step(value, 1))

    live = calm(before)
    (frame,) = live.session.frames.values()
    live.session.append(FrameSuspended(frame.fid, 1, OnTimer(CREATED)))
    live._settle()
    difference = replay(after, live.journal).difference
    assert difference is not None
    assert (difference.seq, difference.found) == (3, "step 'value' as root/value#1")


def test_a_command_more_at_the_end_of_a_journal_is_new() -> None:
    """A crash may have cut off what followed; the new owner goes on from there."""

    async def before(ctx: Context) -> None:
        await ctx.step(value, 1)

    async def after(ctx: Context) -> None:
        await asyncio.gather(ctx.step(value, 1), ctx.step(value, 2))

    report = replay(after, calm(before).journal)
    assert report.difference is None
    assert [body.fid for body in report.commands if isinstance(body, FrameStarted)] == ["root/value#2"]


def test_another_order_of_frames_given_up_is_a_difference() -> None:
    async def before(ctx: Context) -> None:
        tasks = [asyncio.ensure_future(ctx.receive(name)) for name in ("a-silent", "b-silent")]
        await ctx.step(value, 1)
        for one in tasks:
            one.cancel()
        await ctx.step(value, 2)

    async def after(ctx: Context) -> None:
        tasks = [asyncio.ensure_future(ctx.receive(name)) for name in ("a-silent", "b-silent")]
        await ctx.step(value, 1)
        for one in reversed(tasks):
            one.cancel()
        await ctx.step(value, 2)

    difference = replay(after, calm(before).run()).difference
    assert difference is not None
    assert (difference.expected, difference.found) == (
        "root/a-silent#1 given up",
        "root/b-silent#1 given up",
    )


def test_a_result_that_no_longer_fits_its_hint_is_a_difference() -> None:
    def count(n: int) -> int:
        return n

    async def before(ctx: Context) -> None:
        await ctx.step(count, 1)

    def day(n: int) -> date:
        return date(2026, 1, n)

    async def after(ctx: Context) -> None:
        await ctx.step(day, 1, name="count")

    difference = replay(after, calm(before).run()).difference
    assert difference is not None
    assert difference.seq == 3
    assert difference.expected == "a result of root/count#1 that fits its type hint"
    assert difference.found.startswith("a hint that does not")


def test_an_entry_of_a_newer_version_waits_for_one_that_knows_it() -> None:
    live = calm(recorded)
    journal = live.run()
    unknown = JournalEntry(UnknownBody("frame.teleported", {"fid": "root/x#1"}), journal[2].by, 4)
    difference = replay(recorded, [*journal[:3], unknown]).difference
    assert difference is not None
    assert (difference.seq, difference.expected) == (4, "frame.teleported")
    assert "newer version of flowli" in difference.found


def test_an_end_that_differs_is_a_difference_of_a_whole_history() -> None:
    async def answers(ctx: Context) -> int:
        return await ctx.step(value, 1)

    async def answers_otherwise(ctx: Context) -> int:
        return await ctx.step(value, 1) + 1

    async def goes_on(ctx: Context) -> int:
        await ctx.step(value, 1)
        return await ctx.step(value, 2)

    async def breaks(ctx: Context) -> int:
        raise ValueError(f"no {await ctx.step(value, 1)}")

    journal = calm(answers).run()
    replay(answers, journal).check()
    for code, found in (
        (answers_otherwise, "the result 2"),
        (goes_on, "step 'value' as root/value#2"),
        (breaks, "the failure ValueError: no 1"),
    ):
        difference = replay(code, journal).difference
        assert difference is not None
        assert (difference.seq, difference.found) == (4, found)
    broken = calm(breaks).run()
    replay(breaks, broken).check()
    assert replay(answers, broken).difference is not None


def test_a_failed_step_is_equal_on_replay() -> None:
    """RPL-7."""
    said: list[Any] = []

    async def tries(ctx: Context) -> None:
        try:
            await ctx.step(fails, 1)
        except Exception as error:
            said.append((type(error), str(error), error.args, vars(error)))
            raise

    journal = calm(tries).run()
    replay(tries, journal).check()
    assert said[0] == said[1]


def test_a_replay_takes_over_the_instant_of_each_outcome_and_no_other() -> None:
    """RPL-6."""
    said: list[Any] = []

    async def looks(ctx: Context) -> None:
        for n in range(3):
            await ctx.step(value, n)
            said.append(ctx.now)

    journal = calm(looks).run()
    later = [replace(entry, by=replace(entry.by, at=entry.at)) for entry in journal]
    replay(looks, later).check()
    assert said[:3] == said[3:]
    assert said[:3] == [entry.at.to_datetime() for entry in journal if entry.body.tag == "frame.completed"]
