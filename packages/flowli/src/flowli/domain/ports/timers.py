"""``Timers``: the future resumes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from flowli.domain.timers import Timer
from flowli.timestamp import Timestamp

__all__ = ["Timers"]


class Timers(Protocol):
    """A set of timers in the order of their due times. Setting one twice is one timer."""

    async def set(self, timer: Timer) -> None:
        """Add a timer."""

    async def due(self, now: Timestamp, *, limit: int = 1000) -> Sequence[Timer]:
        """The timers with ``due_at <= now``, earliest first. Costs what is due, not what is pending."""

    async def cancel(self, timer: Timer) -> bool:
        """Remove a timer; False if it was not there."""

    async def pending(self, *, limit: int = 1000) -> Sequence[Timer]:
        """The first timers, due or not, for tools."""
