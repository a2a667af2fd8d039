"""Which slots are started and which are left out, and what is said of them: the pure function alone."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from flowli.timestamp import Timestamp
from flowli_patterns.schedule.decide import CancelFirst, Decision, NotYet, decide
from flowli_patterns.schedule.model import CatchUp, Overlap, Schedule
from flowli_patterns.schedule.when import Every

NOON = Timestamp.parse("2026-03-01T12:00:00.000000Z")
MINUTE = timedelta(minutes=1)


def schedule(every_s: float = 60.0, **options: Any) -> Schedule:
    return Schedule(id="s", workflow="w", when=Every(every_s), **{"overlap": Overlap.ALLOW, **options})


def after(minutes: float) -> Timestamp:
    return NOON + minutes * MINUTE


def asked(one: Schedule, minutes: float, *, busy: bool = False, room: int = 1000) -> Decision | NotYet | CancelFirst:
    return decide(one, NOON, after(minutes), busy=busy, room=room)


def settled(one: Schedule, upto: Timestamp, now: Timestamp) -> tuple[list[Timestamp], int, list[str]]:
    """All decisions, one after another: what is started, how many are left out, and the reasons."""
    started, left_out, reasons = list[Timestamp](), 0, list[str]()
    while isinstance(found := decide(one, upto, now, busy=False, room=1000), Decision):
        assert found.upto > upto
        upto = found.upto
        started += found.start
        left_out += found.left_out
        reasons += [found.why] if found.left_out else []
    return started, left_out, reasons


@pytest.mark.parametrize(
    ("options", "minutes", "left_out", "why"),
    [
        ({"catch_up": CatchUp.ALL, "catch_up_window_s": 600}, 30.5, 20, "missed, too long ago"),
        ({"catch_up": CatchUp.ALL, "catch_up_limit": 4}, 30.5, 25, "missed, more than the limit"),
        (
            {"catch_up": CatchUp.ALL, "catch_up_limit": 4, "catch_up_window_s": 600},
            30.5,
            25,
            "20 missed, too long ago; 5 missed, more than the limit",
        ),
        ({"catch_up": CatchUp.SKIP}, 30.5, 29, "missed"),
        (
            {"catch_up": CatchUp.LAST, "catch_up_window_s": 600},
            30.5,
            29,
            "20 missed, too long ago; 9 missed, a later one was made up for",
        ),
        (
            {"catch_up": CatchUp.ALL, "catch_up_window_s": 600, "overlap": Overlap.CANCEL_PREVIOUS},
            30.5,
            29,
            "20 missed, too long ago; 9 a later slot was due as well",
        ),
    ],
)
def test_what_is_left_out_is_said_with_its_own_reason(
    options: dict[str, Any], minutes: float, left_out: int, why: str
) -> None:
    """PAT-21."""
    found = asked(schedule(**options), minutes)
    assert isinstance(found, Decision)
    assert (found.left_out, found.why) == (left_out, why)


def test_a_slot_whose_turn_does_not_come_is_told_from_those_that_were_missed() -> None:
    options: dict[str, Any] = {"catch_up": CatchUp.ALL, "catch_up_window_s": 600, "overlap": Overlap.SKIP}
    found = asked(schedule(**options), 30.5, busy=True)
    assert isinstance(found, Decision)
    assert found.start == ()
    assert (found.left_out, found.why) == (30, "20 missed, too long ago; 10 an earlier run had not ended")


@pytest.mark.parametrize(
    ("policy", "limit", "kept"), [(CatchUp.SKIP, 100, 0), (CatchUp.LAST, 100, 1), (CatchUp.ALL, 100, 100)]
)
def test_a_policy_holds_over_more_slots_than_are_looked_at_at_once(policy: CatchUp, limit: int, kept: int) -> None:
    """PAT-21: a slot every two seconds, and a day without a sweeper; the window is half of it."""
    one = schedule(2.0, catch_up=policy, catch_up_limit=limit, catch_up_window_s=43_200)
    day_on = after(24 * 60)
    started, left_out, _ = settled(one, NOON, day_on)
    fresh = [slot for slot in started if slot + MINUTE >= day_on]
    missed = [slot for slot in started if slot + MINUTE < day_on]
    assert len(missed) == (0 if policy is CatchUp.LAST else kept)
    assert len(fresh) == 31
    assert len(started) + left_out == 43_200
    assert missed == sorted(missed)[-kept:] if kept else missed == []


def test_the_last_one_is_made_up_for_once_where_no_slot_is_due_now() -> None:
    one = schedule(2.0, catch_up=CatchUp.LAST, not_after=after(24 * 60).to_datetime())
    started, left_out, _ = settled(one, NOON, after(24 * 60 + 5))
    assert started == [after(24 * 60)]
    assert left_out == 43_199


def test_what_lies_behind_the_bound_of_a_schedule_is_not_counted_as_left_out() -> None:
    one = schedule(catch_up_window_s=60, not_after=after(10).to_datetime())
    assert settled(one, NOON, after(600)) == ([], 10, ["missed, too long ago"])


def test_jitter_greater_than_the_distance_of_slots_makes_no_slot_a_missed_one() -> None:
    one = schedule(catch_up=CatchUp.SKIP, jitter_s=900.0)
    upto, started, moment = NOON, list[Timestamp](), NOON
    while moment < after(120):
        moment = moment + timedelta(seconds=5)  # a sweeper that looks every five seconds
        while isinstance(found := decide(one, upto, moment, busy=False, room=0), Decision):
            assert found.left_out == 0
            assert found.start == tuple(sorted(found.start))
            upto = found.upto
            started += found.start
    assert started == [after(n + 1) for n in range(len(started))]
    assert len(started) >= 104
    wait = decide(one, upto, moment, busy=False, room=0)
    assert isinstance(wait, NotYet)
    assert wait.at is not None
    assert moment < wait.at


def test_nothing_is_decided_while_it_is_paused_or_before_it_is_due() -> None:
    assert asked(schedule(paused=True), 30) == NotYet()
    assert asked(schedule(), 0.5) == NotYet(after(1))
    assert asked(schedule(overlap=Overlap.QUEUE), 1, busy=True) == NotYet()
    assert asked(schedule(overlap=Overlap.CANCEL_PREVIOUS), 1, busy=True) == CancelFirst()
    over = schedule(not_after=datetime.fromisoformat("2026-03-01T12:00:30Z"))
    assert asked(over, 30) == NotYet()
