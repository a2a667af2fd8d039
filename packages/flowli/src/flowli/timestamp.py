"""``Timestamp``: one instant in UTC, exact to the microsecond.

It is the only value type that every layer shares. Its text form has a fixed width, so that sorting texts sorts
instants; keys that hold an instant rely on this.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

__all__ = ["Timestamp"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_MAX_US = (datetime.max.replace(tzinfo=UTC) - _EPOCH) // _MICROSECOND
_TEXT = re.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)\.(\d{6})Z", re.ASCII)


@dataclass(frozen=True, slots=True, order=True)
class Timestamp:
    """An instant between 1970-01-01 and 9999-12-31.

    Attributes:
        us: microseconds since 1970-01-01T00:00:00Z, leap seconds not counted.

    Raises:
        ValueError: the instant lies outside that range.
    """

    us: int

    def __post_init__(self) -> None:
        if not 0 <= self.us <= _MAX_US:
            raise ValueError(f"a Timestamp lies between the years 1970 and 9999; got {self.us} microseconds")

    @classmethod
    def parse(cls, text: str) -> Timestamp:
        """Read the form that ``str`` writes, and no other.

        Raises:
            ValueError: ``text`` has another form or names no instant.
        """
        found = _TEXT.fullmatch(text)
        if found is None:
            raise ValueError(f"{text!r} is not a timestamp of the form 2026-01-31T23:59:59.000000Z")
        return cls.from_datetime(datetime(*map(int, found.groups()), tzinfo=UTC))  # type: ignore[arg-type, misc]

    @classmethod
    def from_datetime(cls, moment: datetime) -> Timestamp:
        """Convert an aware ``datetime`` of any zone.

        Raises:
            ValueError: ``moment`` has no time zone.
        """
        if moment.tzinfo is None:
            raise ValueError(f"{moment.isoformat()} has no time zone; give one, for example tzinfo=datetime.UTC")
        return cls((moment - _EPOCH) // _MICROSECOND)

    @classmethod
    def from_seconds(cls, seconds: float) -> Timestamp:
        """Convert seconds since 1970, rounded to the nearest microsecond."""
        return cls(round(seconds * 1_000_000))

    def to_datetime(self) -> datetime:
        """The instant as an aware ``datetime`` in UTC."""
        return _EPOCH + timedelta(microseconds=self.us)

    @property
    def seconds(self) -> float:
        """Seconds since 1970."""
        return self.us / 1_000_000

    def __str__(self) -> str:
        return f"{self.to_datetime().isoformat(timespec='microseconds')[:26]}Z"

    def __add__(self, delta: timedelta) -> Timestamp:
        return Timestamp(self.us + delta // _MICROSECOND)

    def __sub__(self, other: Timestamp) -> timedelta:
        return timedelta(microseconds=self.us - other.us)
