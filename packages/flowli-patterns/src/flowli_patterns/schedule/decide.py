"""Which slots of a schedule are started now and which are left out: a pure function of what is known.

A decision covers all slots up to an instant, ``upto``. Slots are counted as missed when they are more than a minute
late, jitter not counted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from flowli.domain.data import Data
from flowli.timestamp import Timestamp
from flowli_patterns.schedule.model import CatchUp, Overlap, Schedule
from flowli_patterns.schedule.when import slots_between

__all__ = ["CancelFirst", "Decision", "NotYet", "decide", "is_late"]

LATE = timedelta(seconds=60)
"""A slot that is later than this was missed."""

_AT_ONCE = 20
_LOOKED_AT = 5_000


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
    slots, dropped, following = _due(schedule, upto, now)
    if not slots:
        if not dropped:
            return NotYet(following)
        return Decision(_oldest(schedule, upto, now), (), dropped, "missed, too long ago")
    wanted, why = _wanted(schedule, slots, now)
    left_out = dropped + len(slots) - len(wanted)
    if not wanted:
        return Decision(slots[-1], (), left_out, why)
    match schedule.overlap:
        case Overlap.SKIP if busy:
            return Decision(slots[-1], (), dropped + len(slots), "an earlier run had not ended")
        case Overlap.QUEUE if busy:
            return NotYet()
        case Overlap.CANCEL_PREVIOUS if busy:
            return CancelFirst()
        case Overlap.ALLOW:
            begun = wanted[:_AT_ONCE]
        case Overlap.CANCEL_PREVIOUS:
            begun = wanted[-1:]
            left_out, why = dropped + len(slots) - 1, why or "a later slot was due as well"
        case _:
            begun = wanted[:1]
    return _within(schedule, begun, wanted, slots, left_out, why, now, room)


def _within(
    schedule: Schedule,
    begun: Sequence[Timestamp],
    wanted: Sequence[Timestamp],
    slots: Sequence[Timestamp],
    left_out: int,
    why: str,
    now: Timestamp,
    room: int,
) -> Decision | NotYet:
    """The decision, with no more missed slots than there is room for."""
    late = [slot for slot in begun if is_late(schedule, slot, now)]
    begun = late[:room] if late else begun
    if not begun:
        return NotYet()
    # what is left out lies before the first that starts, so that this decision covers it in any case
    upto = slots[-1] if begun[-1] == wanted[-1] else begun[-1]
    return Decision(upto, tuple(begun), left_out, why if left_out else "", min(len(late), len(begun)))


def is_late(schedule: Schedule, slot: Timestamp, now: Timestamp) -> bool:
    """Whether the slot was missed."""
    return slot + schedule.delay(slot) + LATE < now


def _due(schedule: Schedule, upto: Timestamp, now: Timestamp) -> tuple[list[Timestamp], int, Timestamp | None]:
    """Slots that are due and young enough, how many older ones there are, and when the next one is due."""
    oldest = _oldest(schedule, upto, now)
    first, last = upto, None if schedule.not_after is None else Timestamp.from_datetime(schedule.not_after)
    if schedule.not_before is not None:
        begins = Timestamp.from_datetime(schedule.not_before)
        first = max(first, Timestamp(max(0, begins.us - 1)))
    dropped = len(slots_between(schedule.when, first, oldest, _LOOKED_AT)) if oldest > first else 0
    due: list[Timestamp] = []
    moment = max(first, oldest)
    for slot in schedule.when.after(moment.to_datetime()):
        at = Timestamp.from_datetime(slot)
        if last is not None and at > last:
            return due, dropped, None
        if at + schedule.delay(at) > now or len(due) == _LOOKED_AT:
            return due, dropped, at + schedule.delay(at)
        due.append(at)
    return due, dropped, None


def _oldest(schedule: Schedule, upto: Timestamp, now: Timestamp) -> Timestamp:
    """Slots up to here are not made up for any more."""
    return max(upto, Timestamp(max(0, now.us - round(schedule.catch_up_window_s * 1e6))))


def _wanted(schedule: Schedule, slots: Sequence[Timestamp], now: Timestamp) -> tuple[list[Timestamp], str]:
    """The slots that the catch-up policy keeps, and why the others are left out."""
    late = [slot for slot in slots if is_late(schedule, slot, now)]
    fresh = list(slots[len(late) :])
    match schedule.catch_up:
        case CatchUp.SKIP:
            return fresh, "missed"
        case CatchUp.LAST:
            return (fresh or late[-1:]), "missed, a later one was made up for"
        case CatchUp.ALL:
            return late[-schedule.catch_up_limit :] + fresh, "missed, more than the limit"
