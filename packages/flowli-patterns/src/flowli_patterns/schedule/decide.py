"""Which slots of a schedule are started now and which are left out: a pure function of what is known.

A decision covers all slots up to an instant, ``upto``. Slots are counted as missed when they are more than a minute
late. Jitter does not count, nor does a slot before that its jitter has made later: slots are decided in their order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeAlias

from flowli.domain.data import Data
from flowli.timestamp import Timestamp
from flowli_patterns.schedule.model import CatchUp, Overlap, Schedule
from flowli_patterns.schedule.when import slots_between

__all__ = ["CancelFirst", "Decision", "NotYet", "decide"]

LATE = timedelta(seconds=60)
"""A slot that is later than this was missed."""

_AT_ONCE = 20
_LOOKED_AT = 5_000
_TOO_OLD = "missed, too long ago"
_LEFT_OUT = {
    CatchUp.SKIP: "missed",
    CatchUp.LAST: "missed, a later one was made up for",
    CatchUp.ALL: "missed, more than the limit",
}
_Reasons: TypeAlias = list[tuple[int, str]]


@dataclass(frozen=True, slots=True)
class Decision:
    """What becomes of the slots up to ``upto``.

    Attributes:
        start: the slots that are started, ascending.
        left_out: how many are not.
        why: the reason.
        late: how many of ``start`` were missed before.
    """

    upto: Timestamp
    start: tuple[Timestamp, ...] = ()
    left_out: int = 0
    why: str = ""
    late: int = 0

    def to_data(self) -> dict[str, Data]:
        """Its recorded form."""
        return {
            "upto": str(self.upto),
            "start": [str(slot) for slot in self.start],
            "left_out": self.left_out,
            "why": self.why,
        }

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Decision:
        """Read the recorded form."""
        start = tuple(map(Timestamp.parse, data["start"]))
        return cls(Timestamp.parse(data["upto"]), start, int(data["left_out"]), str(data["why"]))


@dataclass(frozen=True, slots=True)
class NotYet:
    """Nothing is decided now. ``at`` is when to look again; None if only something else changes that."""

    at: Timestamp | None = None


@dataclass(frozen=True, slots=True)
class CancelFirst:
    """What runs is to be cancelled; the slots are decided when it has ended."""


@dataclass(frozen=True, slots=True)
class _Due:
    """What is known of the slots that are not decided.

    Attributes:
        older: those that the window of the schedule leaves behind.
        slots: those that are due, ascending.
        late: how many of them, the first ones, were missed.
        more: whether others are due that were not looked at.
        following: when the next one is due.
    """

    older: Sequence[Timestamp]
    slots: Sequence[Timestamp] = ()
    late: int = 0
    more: bool = False
    following: Timestamp | None = None


def decide(
    schedule: Schedule, upto: Timestamp, now: Timestamp, *, busy: bool, room: int
) -> Decision | NotYet | CancelFirst:
    """Decide about the slots after ``upto``.

    Args:
        upto: all slots up to here are decided.
        busy: whether a run of an earlier slot has not ended.
        room: how many missed slots may be started now.
    """
    if schedule.paused:
        return NotYet()
    oldest = max(upto, Timestamp(max(0, now.us - round(schedule.catch_up_window_s * 1e6))))
    due = _due(schedule, upto, oldest, now)
    reasons: _Reasons = [(len(due.older), _TOO_OLD)]
    if len(due.older) == _LOOKED_AT:
        return _leave_out(due.older[-1], reasons)
    if not due.slots:
        return _leave_out(oldest, reasons) if due.older else NotYet(due.following)
    wanted = _wanted(schedule, due)
    reasons.append((len(due.slots) - len(wanted), _LEFT_OUT[schedule.catch_up]))
    if due.more and due.late == len(due.slots):
        # those that the policy leaves out in any case, so that the next look sees the rest
        certain = len(due.slots) - _kept(schedule)
        return _leave_out(due.slots[certain - 1], [reasons[0], (certain, _LEFT_OUT[schedule.catch_up])])
    if not wanted:
        return _leave_out(due.slots[-1], reasons)
    match schedule.overlap:
        case Overlap.SKIP if busy:
            return _leave_out(due.slots[-1], [*reasons, (len(wanted), "an earlier run had not ended")])
        case Overlap.QUEUE if busy:
            return NotYet()
        case Overlap.CANCEL_PREVIOUS if busy:
            return CancelFirst()
        case Overlap.ALLOW:
            begun = wanted[:_AT_ONCE]
        case Overlap.CANCEL_PREVIOUS:
            begun = wanted[-1:]
            reasons.append((len(wanted) - 1, "a later slot was due as well"))
        case _:
            begun = wanted[:1]
    return _within(due, begun, wanted, reasons, room)


def _within(
    due: _Due, begun: Sequence[Timestamp], wanted: Sequence[Timestamp], reasons: _Reasons, room: int
) -> Decision | NotYet:
    """The decision, with no more missed slots than there is room for."""
    late = [slot for slot in begun if due.late and slot <= due.slots[due.late - 1]]
    begun = late[:room] if late else begun
    if not begun:
        return NotYet()
    # what is left out lies before the first that starts, so that this decision covers it in any case
    upto = due.slots[-1] if begun[-1] == wanted[-1] else begun[-1]
    count, why = _told(reasons)
    return Decision(upto, tuple(begun), count, why, min(len(late), len(begun)))


def _leave_out(upto: Timestamp, reasons: _Reasons) -> Decision:
    """Nothing up to there is started."""
    return Decision(upto, (), *_told(reasons))


def _told(reasons: _Reasons) -> tuple[int, str]:
    """How many are left out, and why: with their numbers, if not all have the same reason."""
    told = [(count, why) for count, why in reasons if count]
    if len(told) < 2:
        return (told or [(0, "")])[0]
    return sum(count for count, _ in told), "; ".join(f"{count} {why}" for count, why in told)


def _due(schedule: Schedule, upto: Timestamp, oldest: Timestamp, now: Timestamp) -> _Due:
    """Look along the slots after ``upto``; those up to ``oldest`` are not made up for any more."""
    first, last = upto, None if schedule.not_after is None else Timestamp.from_datetime(schedule.not_after)
    begins = None if schedule.not_before is None else Timestamp.from_datetime(schedule.not_before)
    if begins is not None:
        first = max(first, Timestamp(max(0, begins.us - 1)))
    left_behind = oldest if last is None else min(oldest, last)
    older = slots_between(schedule.when, first, left_behind, _LOOKED_AT) if left_behind > first else []
    slots, late, most = list[Timestamp](), 0, _LOOKED_AT + _kept(schedule)
    after = max(first, oldest)
    # slots before it, of which the jitter may reach beyond it
    moment = Timestamp(max(0, after.us - round(schedule.jitter_s * 1e6), 0 if begins is None else begins.us - 1))
    at = moment
    for found in schedule.when.after(moment.to_datetime()):
        slot = Timestamp.from_datetime(found)
        if last is not None and slot > last:
            return _Due(older, slots, late)
        at = max(at, slot + schedule.delay(slot))
        if slot <= after:
            continue
        if at > now or len(slots) == most:
            return _Due(older, slots, late, at <= now, at)
        slots.append(slot)
        late += at + LATE < now
    return _Due(older, slots, late)


def _wanted(schedule: Schedule, due: _Due) -> list[Timestamp]:
    """The slots that the catch-up policy keeps."""
    late, fresh = list(due.slots[: due.late]), list(due.slots[due.late :])
    match schedule.catch_up:
        case CatchUp.SKIP:
            return fresh
        case CatchUp.LAST:
            return fresh or late[-1:]
        case CatchUp.ALL:
            return late[-schedule.catch_up_limit :] + fresh


def _kept(schedule: Schedule) -> int:
    """How many missed slots the catch-up policy keeps at most."""
    match schedule.catch_up:
        case CatchUp.SKIP:
            return 0
        case CatchUp.LAST:
            return 1
        case CatchUp.ALL:
            return schedule.catch_up_limit
