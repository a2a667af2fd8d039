"""``Delivery``: hands events to one observer, beside the engine."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
from collections import deque
from collections.abc import Awaitable
from concurrent.futures import Executor
from typing import Protocol

import structlog

from flowli.runtime.observe.events import Event
from flowli.world import World

__all__ = ["Delivery", "Observer"]

_log = structlog.get_logger("flowli.observers")


class Observer(Protocol):
    """Is told in process of what an engine does, in the order in which it happened there.

    An observer that raises is reported once and told nothing more. One that is slower than the engine misses events:
    what it waits with is bounded, and the loss is reported.
    """

    def observe(self, event: Event, /) -> Awaitable[None] | None:
        """Take one event. ``async`` on the loop of the engine, or plain in a thread of its own, one call at a time."""


class Delivery:
    """The way to one observer: a bounded queue, and a task that lives as long as something stands in it.

    Args:
        bound: how many events may wait.

    Attributes:
        dropped: events that found the queue full.
        broken: the observer has raised; it is told nothing more.
    """

    def __init__(self, observer: Observer, world: World, bound: int) -> None:
        self.observer = observer
        self.dropped = 0
        self.broken = False
        self._world = world
        self._bound = bound
        self._waiting: deque[Event] = deque()
        self._task: asyncio.Task[None] | None = None
        self._thread: Executor | None = None
        self._is_async = inspect.iscoroutinefunction(observer.observe)

    def put(self, event: Event) -> None:
        """Have the observer told, soon. Never waits, never raises."""
        if self.broken:
            return
        if len(self._waiting) >= self._bound:
            if not self.dropped:
                _log.warning("an observer is too slow; it misses events", observer=repr(self.observer))
            self.dropped += 1
            return
        self._waiting.append(event)
        self._begin()

    def _begin(self) -> None:
        if self._task is not None and not self._task.done():
            return
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:  # between two loops; the next event on one takes this one along
            return
        # a context of its own: what the caller has bound for its logs is not the observer's
        self._task = loop.create_task(self._run(), context=contextvars.Context())

    async def _run(self) -> None:
        try:
            while self._waiting:
                if self._is_async:
                    await self._tell(self._waiting.popleft())
                else:
                    await self._tell_in_thread()
        except asyncio.CancelledError:
            raise
        except BaseException as error:  # an observer that exits is no reason for the engine to exit
            self.broken = True
            self._waiting.clear()
            _log.error("an observer failed; it is told nothing more", observer=repr(self.observer), error=repr(error))

    async def _tell(self, event: Event) -> None:
        said = self.observer.observe(event)
        if said is not None:
            await said

    async def _tell_in_thread(self) -> None:
        """Everything that waits, in one go: a plain observer may block, the loop may not."""
        events = list(self._waiting)
        self._waiting.clear()
        if self._thread is None:
            self._thread = self._world.pool("flowli-observer", 1)
        for unawaited in await asyncio.wrap_future(self._thread.submit(self._tell_all, events)):
            await unawaited

    def _tell_all(self, events: list[Event]) -> list[Awaitable[None]]:
        said = [self.observer.observe(event) for event in events]
        return [one for one in said if one is not None]

    async def drain(self, timeout_s: float) -> None:
        """Return when the observer was told everything, or after ``timeout_s`` seconds; then the rest is dropped."""
        if self._waiting:
            self._begin()
        if self._task is not None and not self._task.done():
            alarm = asyncio.ensure_future(self._world.sleep(timeout_s))
            await asyncio.wait((self._task, alarm), return_when=asyncio.FIRST_COMPLETED)
            alarm.cancel()
            if not self._task.done():
                _log.warning("an observer does not come to an end; it misses events", observer=repr(self.observer))
                self._task.cancel()
                self._waiting.clear()
        if self._thread is not None:
            self._thread.shutdown(wait=False)
            self._thread = None
