"""``Timers`` in memory."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence

from flowli.adapters.memory.turn import turn
from flowli.domain.timers import Timer
from flowli.timestamp import Timestamp

__all__ = ["MemoryTimers"]


class MemoryTimers:
    """Timers by id; ids sort by due time."""

    def __init__(self) -> None:
        self._timers: dict[str, Timer] = {}
        self._ids: list[str] = []

    async def set(self, timer: Timer) -> None:
        """Put if absent."""
        await turn()
        if timer.timer_id not in self._timers:
            self._timers[timer.timer_id] = timer
            insort(self._ids, timer.timer_id)

    async def due(self, now: Timestamp, *, limit: int = 1000) -> Sequence[Timer]:
        """Those before the first id that lies in the future."""
        await turn()
        end = bisect_left(self._ids, f"{now}.")  # "." is the character after the "-" that follows the instant
        return [self._timers[timer_id] for timer_id in self._ids[: min(end, limit)]]

    async def cancel(self, timer: Timer) -> bool:
        """Remove."""
        await turn()
        if self._timers.pop(timer.timer_id, None) is None:
            return False
        del self._ids[bisect_left(self._ids, timer.timer_id)]
        return True

    async def pending(self, *, limit: int = 1000) -> Sequence[Timer]:
        """The first of all."""
        await turn()
        return [self._timers[timer_id] for timer_id in self._ids[:limit]]
