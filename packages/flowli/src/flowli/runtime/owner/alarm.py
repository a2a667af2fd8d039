"""``Alarm``: rings at an instant. It may ring early, never late."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from flowli.timestamp import Timestamp
from flowli.world import World

__all__ = ["Alarm"]


class Alarm:
    """One sleeping task at most, kept while it wakes early enough.

    Args:
        ring: called when the instant has come.
    """

    def __init__(self, world: World, ring: Callable[[], None]) -> None:
        self._world = world
        self._ring = ring
        self._due: Timestamp | None = None
        self._task: asyncio.Task[None] | None = None

    def set(self, due: Timestamp) -> None:
        """Ring at ``due`` or before."""
        if self._due is None or due < self._due:
            self.stop()
            self._due = due
            self._task = asyncio.create_task(self._sleep((due.us - self._world.now().us) / 1_000_000))

    def stop(self) -> None:
        """Do not ring."""
        if self._task is not None:
            self._task.cancel()
        self._due = self._task = None

    async def _sleep(self, seconds: float) -> None:
        await self._world.sleep(max(0.0, seconds))
        self._due = self._task = None
        self._ring()
