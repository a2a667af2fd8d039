"""``Hub``: the short way between parts of one process. Everything it says can also be read from the bucket."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeVar

from flowli.domain.execution import Execution
from flowli.domain.ids import Eid
from flowli.domain.memo import JournalFold
from flowli.runtime.first_of import first_of
from flowli.world import World

__all__ = ["INSTANT_S", "Ended", "Hub", "Parts", "Watch"]

K = TypeVar("K", bound=Hashable)

_LOOKS_A_SECOND = 100.0
_OWNED_LOOK_S = 10.0
INSTANT_S = 1e-5
"""Less than this is no time to wait for."""


@dataclass(frozen=True, slots=True)
class Ended:
    """An execution whose end is durable, as this process saw it."""

    execution: Execution
    fold: JournalFold


@dataclass(slots=True)
class Parts:
    """The parts of one role that this process has.

    Attributes:
        held: how many.
        trying: held by who tries to get one more, so that one process takes them one by one.
    """

    held: int = 0
    trying: asyncio.Lock = field(default_factory=asyncio.Lock)


class Watch:
    """What this process hears of one execution, from ``Hub.watch`` on; nothing is missed between two waits.

    Attributes:
        ended: set when the end was durable in this process.
    """

    def __init__(self, hub: Hub, eid: Eid) -> None:
        self._hub, self._eid = hub, eid
        self._news = asyncio.Event()
        self._stirred = asyncio.Event()
        self.ended: Ended | None = None

    def tell(self, ended: Ended | None) -> None:
        """Something is durable; ``ended`` if it is the end."""
        self.ended = self.ended or ended
        self._news.set()
        self._stirred.set()

    def stir(self) -> None:
        """Who runs the execution has changed, so that the next look may be due at another time."""
        self._stirred.set()

    async def wait(self, look_s: float, deadline_s: float | None) -> bool:
        """Wait for news; False if it is time to look at the bucket.

        While an owner of this process runs the execution, it tells, and there is little to look for. Else the looks
        of all who wait in this process are kept below a hundred a second.

        Args:
            look_s: seconds after which a lone waiter would look.
            deadline_s: the monotonic instant at which it looks in any case; None for none.
        """
        hub, since_s = self._hub, self._hub.world.monotonic_s()
        while not self._news.is_set():
            least_s = _OWNED_LOOK_S if hub.owns(self._eid) else max(look_s, hub.watches / _LOOKS_A_SECOND)
            due_s = since_s + least_s if deadline_s is None else min(since_s + least_s, deadline_s)
            left_s = due_s - hub.world.monotonic_s()
            if left_s < INSTANT_S:
                return False
            self._stirred.clear()
            await first_of(self._stirred.wait(), hub.world.sleep(left_s))
        self._news.clear()
        return True


class Hub:
    """Wakes workers for queues, owners for their executions, and waiters for ends, without a round trip to the
    bucket.

    Attributes:
        world: whose clock the waiting goes by.
        watches: how many ``Watch`` are open.
        parts: of roles that are spread over processes.
    """

    def __init__(self, world: World) -> None:
        self.world = world
        self.watches = 0
        self.parts: dict[str, Parts] = defaultdict(Parts)
        self._owners: dict[Eid, Callable[[str], None]] = {}
        self._queue_waiters: dict[str, dict[asyncio.Event, None]] = defaultdict(dict)
        self._end_waiters: dict[Eid, dict[asyncio.Event, None]] = defaultdict(dict)
        self._watches: dict[Eid, dict[Watch, None]] = defaultdict(dict)
        self._queue_wakes: dict[str, int] = defaultdict(int)

    def owned(self, eid: Eid, wake: Callable[[str], None]) -> None:
        """An owner in this process takes wake-ups for ``eid`` from now on."""
        self._owners[eid] = wake
        self._stir(eid)

    def disowned(self, eid: Eid) -> None:
        """No owner of this process runs ``eid`` any more."""
        self._owners.pop(eid, None)
        self._stir(eid)

    def owns(self, eid: Eid) -> bool:
        """Whether an owner in this process runs ``eid``."""
        return eid in self._owners

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

    def ended(self, execution: Execution, fold: JournalFold) -> None:
        """The end of ``execution`` is durable; ``fold`` is of its whole journal."""
        self.changed(execution.eid, Ended(execution, fold))

    def changed(self, eid: Eid, ended: Ended | None = None) -> None:
        """Something is durable that ends what others do for ``eid``: who waits for its end looks at the journal."""
        for event in self._end_waiters.get(eid, ()):
            event.set()
        for watch in self._watches.get(eid, ()):
            watch.tell(ended)

    @contextmanager
    def watch(self, eid: Eid) -> Iterator[Watch]:
        """Hear of ``eid`` while the block runs."""
        watch = Watch(self, eid)
        self._watches[eid][watch] = None
        self.watches += 1
        try:
            yield watch
        finally:
            self.watches -= 1
            self._watches[eid].pop(watch)
            if not self._watches[eid]:
                del self._watches[eid]

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

    def _stir(self, eid: Eid) -> None:
        for watch in self._watches.get(eid, ()):
            watch.stir()

    async def _wait(self, waiters: dict[K, dict[asyncio.Event, None]], keys: tuple[K, ...], timeout_s: float) -> bool:
        event = asyncio.Event()
        for key in keys:
            waiters[key][event] = None
        try:
            await first_of(event.wait(), self.world.sleep(timeout_s))
        finally:
            for key in keys:
                waiters[key].pop(event, None)
                if not waiters[key]:
                    del waiters[key]
        return event.is_set()
