"""Local times to instants, through every change of a zone's clocks.

Between two changes local time is time without a zone, shifted by one offset. So the walk goes from change to change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

__all__ = ["by_the_clock", "by_time_of_day"]

Local = Callable[[datetime], Iterator[datetime]]
"""Local times, ascending, strictly after one; without a zone, as all that stands here with the name ``local``."""

_DAY = timedelta(days=1)
_SECOND = timedelta(seconds=1)
_BACK = timedelta(hours=25)  # no zone has ever changed by more than a day


def by_time_of_day(following: Local, zone: ZoneInfo, moment: datetime) -> Iterator[datetime]:
    """Each local time once: the first of two, or the end of the gap that it falls into.

    Args:
        moment: in UTC; the slots are strictly later.
    """
    last = moment
    for local in following(_local(zone, moment) - _BACK):
        slot = local.replace(tzinfo=zone).astimezone(UTC)
        if _local(zone, slot) != local:
            slot = _change(zone, slot - _DAY, slot)
        if slot > last:
            last = slot
            yield slot


def by_the_clock(following: Local, zone: ZoneInfo, moment: datetime) -> Iterator[datetime]:
    """Whenever the clock shows a local time: in both of two hours of the same name, and not in one that is missing.

    Args:
        moment: in UTC; the slots are strictly later.
    """
    while True:
        offset = _offset(zone, moment)
        change = None
        for local in following((moment + offset).replace(tzinfo=None)):
            slot = (local - offset).replace(tzinfo=UTC)
            change = _first_change(zone, moment, slot)
            if change is not None:
                break
            moment = slot
            yield slot
        if change is None:
            return
        moment = change - _SECOND
        if _local(zone, change) in _one(following, _local(zone, change) - _SECOND):
            yield change
        moment = change


def _one(following: Local, local: datetime) -> list[datetime]:
    found = next(iter(following(local)), None)
    return [] if found is None else [found]


def _first_change(zone: ZoneInfo, after: datetime, until: datetime) -> datetime | None:
    """The first instant in ``(after, until]`` with another offset than at ``after``."""
    offset = _offset(zone, after)
    while after < until:
        to = min(after + _DAY, until)
        if _offset(zone, to) != offset:
            return _change(zone, after, to)
        after = to
    return None


def _change(zone: ZoneInfo, before: datetime, after: datetime) -> datetime:
    """The instant, to the second, at which the offset of ``before`` has ended; at ``after`` it is another one."""
    offset = _offset(zone, before)
    low, high = 0, int((after - before).total_seconds())
    while low + 1 < high:
        middle = (low + high) // 2
        if _offset(zone, before + middle * _SECOND) == offset:
            low = middle
        else:
            high = middle
    return before + high * _SECOND


def _offset(zone: ZoneInfo, moment: datetime) -> timedelta:
    found = moment.astimezone(zone).utcoffset()
    assert found is not None
    return found


def _local(zone: ZoneInfo, moment: datetime) -> datetime:
    return moment.astimezone(zone).replace(tzinfo=None)
