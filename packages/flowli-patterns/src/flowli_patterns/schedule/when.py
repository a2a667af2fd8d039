"""When a schedule is due: a cron expression, an interval, single instants, or ticks from outside.

Cron expressions are read by cronsim in local time without a zone (``zones`` maps what it finds to instants, since its
own arithmetic leaves slots out where clocks change by other than whole hours). The policy is that of Debian's cron:

* If neither minute nor hour begins with ``*``, the job is for a time of day. A time that is missing on the day of the
  change is due at the end of the gap; one that comes twice is due the first time only.
* Otherwise the job follows the clock as it passes: an hourly one is due in both of two hours of the same name, and not
  in one that is missing.

Slots are strictly later than one another in UTC. Where two times of a day fall on one instant, that is one slot.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from difflib import get_close_matches
from itertools import pairwise
from typing import TypeAlias
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from cronsim import CronSim, CronSimError

from flowli.domain.errors import UsageError
from flowli.timestamp import Timestamp
from flowli_patterns.schedule.zones import by_the_clock, by_time_of_day

__all__ = ["LONGEST_S", "At", "Cron", "Every", "Ticks", "When", "next_after", "slots_between"]

LONGEST_S = 3.2e9
"""No time that a schedule knows is longer, seconds: a hundred years."""

_ALIASES = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_FIELDS = ("second", "minute", "hour", "day of the month", "month", "day of the week")
_ANY_DAY = datetime(2024, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Cron:
    """A cron expression in a time zone.

    Attributes:
        expression: five fields, or six with seconds in front; names, ranges, lists, steps, ``L``, ``MON#2``; or one of
            ``@yearly @monthly @weekly @daily @hourly``.
        zone: an IANA name such as ``Europe/Helsinki``.

    Raises:
        UsageError: the expression is malformed (the field and its place are named), it is never due, or there is no
            such zone.
    """

    expression: str
    zone: str = "UTC"

    def __post_init__(self) -> None:
        _zone(self.zone)
        _check_expression(self.expression)

    def after(self, moment: datetime) -> Iterator[datetime]:
        """Slots strictly after ``moment``, in UTC, without end unless the expression has one."""
        whole = _ALIASES.get(self.expression, self.expression)
        fields = whole.split()
        of_day = len(fields) == 5 and not fields[0].startswith("*") and not fields[1].startswith("*")
        walk = by_time_of_day if of_day else by_the_clock
        return walk(lambda local: CronSim(whole, local), _zone(self.zone), moment.astimezone(UTC))

    def __str__(self) -> str:
        return f"{self.expression} ({self.zone})"


@dataclass(frozen=True, slots=True)
class Every:
    """A fixed distance, counted from an instant: the grid does not drift and knows no zones.

    Attributes:
        seconds: at least one, at most a hundred years.
        since: the first slot; by default the beginning of 1970, so that ``Every(3600)`` is due at full hours of UTC.

    Raises:
        UsageError: the distance is below a second or above a hundred years, or ``since`` has no time zone.
    """

    seconds: float
    since: datetime = datetime(1970, 1, 1, tzinfo=UTC)

    def __post_init__(self) -> None:
        if not self.seconds >= 1:
            raise UsageError(f"every {self.seconds:g} seconds is too often; a schedule takes one second or more")
        if self.seconds > LONGEST_S:
            raise UsageError(
                f"every {self.seconds:g} seconds is never; give at most {LONGEST_S:.0f}, or single instants"
            )
        _aware("since", self.since)

    def after(self, moment: datetime) -> Iterator[datetime]:
        """Slots strictly after ``moment``, in UTC, to the end of the calendar."""
        step, since = timedelta(seconds=self.seconds), self.since.astimezone(UTC)
        number = max(0, (moment - since) // step + 1)
        with suppress(OverflowError):
            while True:
                yield since + number * step
                number += 1

    def __str__(self) -> str:
        return f"every {timedelta(seconds=self.seconds)}"


@dataclass(frozen=True, slots=True)
class At:
    """Single instants.

    Attributes:
        instants: aware, in ascending order.

    Raises:
        UsageError: there is none, one has no time zone, or they do not ascend.
    """

    instants: tuple[datetime, ...]

    def __post_init__(self) -> None:
        if not self.instants:
            raise UsageError("a schedule for single instants names none; give at least one")
        for one in self.instants:
            _aware("an instant", one)
        for one, following in pairwise(self.instants):
            if following <= one:
                raise UsageError(f"the instants do not ascend: {following.isoformat()} follows {one.isoformat()}")

    def after(self, moment: datetime) -> Iterator[datetime]:
        """Slots strictly after ``moment``, in UTC."""
        yield from (one.astimezone(UTC) for one in self.instants if one > moment)

    def __str__(self) -> str:
        first, rest = self.instants[0].astimezone(UTC).isoformat(timespec="seconds"), len(self.instants) - 1
        return f"at {first}" + (f" and {rest} more" if rest else "")


@dataclass(frozen=True, slots=True)
class Ticks:
    """No slots of its own: an external scheduler delivers each tick with its instant (``engine.schedules.tick``)."""

    def after(self, moment: datetime) -> Iterator[datetime]:
        """Nothing."""
        return iter(())

    def __str__(self) -> str:
        return "ticks from outside"


When: TypeAlias = Cron | Every | At | Ticks
"""When a schedule is due."""


def slots_between(when: When, after: Timestamp, until: Timestamp, limit: int) -> list[Timestamp]:
    """The first ``limit`` slots that are later than ``after`` and not later than ``until``."""
    found: list[Timestamp] = []
    end = until.to_datetime()
    for slot in when.after(after.to_datetime()):
        if slot > end or len(found) == limit:
            break
        found.append(Timestamp.from_datetime(slot))
    return found


def next_after(when: When, after: Timestamp) -> Timestamp | None:
    """The first slot later than ``after``; None if there is none any more."""
    slot = next(iter(when.after(after.to_datetime())), None)
    return None if slot is None else Timestamp.from_datetime(slot)


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        near = get_close_matches(name, available_timezones(), n=2)
        hint = f"did you mean {' or '.join(map(repr, near))}?" if near else "use an IANA name such as 'Europe/Helsinki'"
        raise UsageError(f"there is no time zone {name!r}; {hint}") from None


def _aware(what: str, moment: datetime) -> None:
    if moment.tzinfo is None:
        raise UsageError(f"{what} {moment.isoformat()} has no time zone; give one, for example tzinfo=datetime.UTC")
    try:
        moment.astimezone(UTC)
    except OverflowError:
        raise UsageError(
            f"{what} {moment.isoformat()} is out of the calendar in UTC; give a later or earlier one"
        ) from None


def _check_expression(expression: str) -> None:
    whole = _ALIASES.get(expression, expression)
    if whole.startswith("@"):
        raise UsageError(f"there is no {expression!r}; known are {', '.join(sorted(_ALIASES))}")
    parts = [(found.group(), found.start()) for found in re.finditer(r"\S+", whole)]
    names = _FIELDS[-len(parts) :]
    if len(parts) not in (5, 6):
        raise UsageError(
            f"the cron expression {expression!r} has {len(parts)} fields; write five: minute, hour, day of the month, "
            "month, day of the week (or six, with seconds in front)"
        )
    for at, (part, start) in enumerate(parts):
        alone = ["*"] * len(parts)
        alone[at] = part
        try:
            CronSim(" ".join(alone), _ANY_DAY)
        except CronSimError:
            raise UsageError(
                f"the cron expression {expression!r} is malformed at character {start + 1}: {part!r} is no {names[at]}"
            ) from None
    try:
        due = next(iter(CronSim(whole, _ANY_DAY)), None)
    except CronSimError:
        due = None
    if due is None:
        raise UsageError(f"the cron expression {expression!r} is never due: no such day exists")
