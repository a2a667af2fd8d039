"""``Hub``: the short way between parts of one process. Everything it says can also be read from the bucket."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

from flowli.domain.ids import Eid
from flowli.world import World

__all__ = ["Hub"]

K = TypeVar("K", bound=Hashable)


class Hub:
    """Wakes workers for queues, owners for their executions, and waiters for ends, without a round trip to the
    bucket.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self._owners: dict[Eid, Callable[[str], None]] = {}
        self._queue_waiters: dict[str, dict[asyncio.Event, None]] = defaultdict(dict)
        self._end_waiters: dict[Eid, dict[asyncio.Event, None]] = defaultdict(dict)
        self._queue_wakes: dict[str, int] = defaultdict(int)

    def owned(self, eid: Eid, wake: Callable[[str], None]) -> None:
        """An owner in this process takes wake-ups for ``eid`` from now on."""
        self._owners[eid] = wake

    def disowned(self, eid: Eid) -> None:
        """No owner of this process runs ``eid`` any more."""
        self._owners.pop(eid, None)

    def wake_execution(self, eid: Eid, cause: str) -> bool:
        """Tell the owner in this process to look at what it waits for; False if there is none."""
        wake = self._owners.get(eid)
        if wake is not None:
            wake(cause)
        return wake is not None

    def wake_queue(self, queue: str) -> None:
        """Something was put on ``queue``."""
        self._queue_wakes[queue] += 1
        for event in self._queue_waiters.get(queue, ()):
            event.set()

    def ended(self, eid: Eid) -> None:
        """The end of ``eid`` is durable."""
        self.changed(eid)

    def changed(self, eid: Eid) -> None:
        """Something is durable that ends what others do for ``eid``: who waits for its end looks at the journal."""
        for event in self._end_waiters.get(eid, ()):
            event.set()

    def queue_mark(self, queues: Iterable[str]) -> int:
        """How often ``queues`` were woken so far; take it before looking for work."""
        return sum(self._queue_wakes[queue] for queue in queues)

    async def wait_queue(self, queues: Iterable[str], timeout_s: float, *, mark: int | None = None) -> bool:
        """Wait until one of ``queues`` is woken; False after ``timeout_s`` seconds.

        Args:
            mark: from ``queue_mark``: a wake since then counts.
        """
        queues = tuple(queues)
        if mark is not None and self.queue_mark(queues) != mark:
            return True
        return await self._wait(self._queue_waiters, queues, timeout_s)

    async def wait_end(self, eid: Eid, timeout_s: float) -> bool:
        """Wait until this process sees the end of ``eid``, or something like it; False after ``timeout_s`` seconds."""
        return await self._wait(self._end_waiters, (eid,), timeout_s)

    async def _wait(self, waiters: dict[K, dict[asyncio.Event, None]], keys: tuple[K, ...], timeout_s: float) -> bool:
        event = asyncio.Event()
        for key in keys:
            waiters[key][event] = None
        woken = asyncio.ensure_future(event.wait())
        timer = asyncio.ensure_future(self._world.sleep(timeout_s))
        try:
            await asyncio.wait((woken, timer), return_when=asyncio.FIRST_COMPLETED)
        finally:
            woken.cancel()
            timer.cancel()
            for key in keys:
                waiters[key].pop(event, None)
                if not waiters[key]:
                    del waiters[key]
        return event.is_set()
