"""``ManualClock`` and ``ManualWorld``: time that moves only when a test moves it.

    >>> clock = ManualClock()
    >>> world = ManualWorld(clock)
    >>> await clock.advance(30)          # wakes whoever slept for up to 30 seconds, in order
    >>> await clock.run(some_coroutine())  # moves time whenever everything waits for it

Several worlds can share one clock (several processes of one simulated fleet); each draws its own ids and chance, the
same on every run.
"""

from __future__ import annotations

import asyncio
import hashlib
import heapq
import itertools
import random
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Executor, Future
from typing import ParamSpec, TypeVar
from uuid import UUID

from flowli.timestamp import Timestamp
from flowli.world import Background, ProcessIdentity

__all__ = ["ManualClock", "ManualWorld"]

P = ParamSpec("P")
T = TypeVar("T")

_START = Timestamp.parse("2026-01-01T00:00:00.000000Z")


class ManualClock:
    """The time that any number of worlds share.

    Args:
        start: the first instant.
    """

    def __init__(self, start: Timestamp = _START) -> None:
        self.elapsed_us = 0
        self._start = start
        self._sleepers: list[tuple[int, int, asyncio.Future[None]]] = []
        self._order = itertools.count()

    def now(self) -> Timestamp:
        """The present instant."""
        return Timestamp(self._start.us + self.elapsed_us)

    async def sleep(self, seconds: float) -> None:
        """Return when the clock has been moved by ``seconds``."""
        woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        due = self.elapsed_us + max(0, round(seconds * 1_000_000))
        heapq.heappush(self._sleepers, (due, next(self._order), woken))
        self._wake()
        await woken

    async def advance(self, seconds: float) -> None:
        """Move the clock by ``seconds``, stopping at each sleeper that is due on the way to let it act."""
        end = self.elapsed_us + round(seconds * 1_000_000)
        await self.settle()
        while (due := self.next_due_us()) is not None and due <= end:
            self._move(due)
            await self.settle()
        self._move(end)
        await self.settle()

    async def run(self, work: Coroutine[object, object, T], *, limit_s: float = 86_400.0) -> T:
        """Await ``work``, moving the clock to the next sleeper whenever nothing else can go on.

        Raises:
            AssertionError: ``limit_s`` seconds passed, or nobody sleeps any more, and ``work`` is not done.
        """
        task = asyncio.ensure_future(work)
        end = self.elapsed_us + round(limit_s * 1_000_000)
        try:
            while True:
                await self.settle()
                if task.done():
                    return await task
                due = self.next_due_us()
                if due is None:
                    raise AssertionError("everything waits and nobody waits for time to pass")
                if due > end:
                    raise AssertionError(f"not done after {limit_s} seconds of the manual clock")
                self._move(due)
        finally:
            task.cancel()

    async def settle(self) -> None:
        """Let the event loop run until nothing in it is ready. Work in other threads is not waited for."""
        ready: object = getattr(asyncio.get_running_loop(), "_ready", ())
        while True:
            await asyncio.sleep(0)
            if not ready:
                return

    def next_due_us(self) -> int | None:
        """When the next sleeper is due, in microseconds since the start; None if nobody sleeps."""
        while self._sleepers and self._sleepers[0][2].done():
            heapq.heappop(self._sleepers)
        return self._sleepers[0][0] if self._sleepers else None

    def _move(self, elapsed_us: int) -> None:
        self.elapsed_us = max(self.elapsed_us, elapsed_us)
        self._wake()

    def _wake(self) -> None:
        while self._sleepers and self._sleepers[0][0] <= self.elapsed_us:
            woken = heapq.heappop(self._sleepers)[2]
            if not woken.done():
                woken.set_result(None)


class ManualWorld:
    """One process's view of a manual clock: a ``World`` in which everything is the same on every run.

    Args:
        name: of the process; ids and chance follow from it.
        skew_s: how far this process's wall clock is ahead.
    """

    def __init__(self, clock: ManualClock | None = None, *, name: str = "node", skew_s: float = 0.0) -> None:
        self.clock = clock or ManualClock()
        self.skew_s = skew_s
        self.dead: set[ProcessIdentity] = set()
        self._name = name
        self._random = random.Random(name)
        self._drawn = itertools.count(1)

    def now(self) -> Timestamp:
        return Timestamp(self.clock.now().us + round(self.skew_s * 1_000_000))

    def monotonic_s(self) -> float:
        return self.clock.elapsed_us / 1_000_000

    def boottime_s(self) -> float:
        return self.clock.elapsed_us / 1_000_000

    async def sleep(self, seconds: float) -> None:
        await self.clock.sleep(seconds)

    def random(self) -> random.Random:
        return self._random

    def uuid7(self) -> UUID:
        ms = self.now().us // 1_000
        rest = int(self.token(), 16) & ((1 << 74) - 1)
        return UUID(int=(ms << 80) | (7 << 76) | ((rest >> 62) << 64) | (2 << 62) | (rest & ((1 << 62) - 1)))

    def token(self) -> str:
        return hashlib.sha256(f"{self._name}/{next(self._drawn)}".encode()).hexdigest()[:32]

    def process(self) -> ProcessIdentity:
        return ProcessIdentity(self._name, 1, "boot", "namespace", "1")

    def is_dead(self, other: ProcessIdentity) -> bool:
        return other in self.dead

    def pool(self, name: str, threads: int) -> Executor:
        return _InlineExecutor()

    def background(self, name: str, work: Callable[[], Awaitable[None]]) -> Background:
        async def run() -> None:
            await work()

        return _Task(asyncio.create_task(run(), name=name))


class _InlineExecutor(Executor):
    """Calls at once, in the caller's thread: there is only one thread, so that order is the same on every run."""

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        future: Future[T] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except BaseException as error:
            future.set_exception(error)
        return future


class _Task:
    """Background work on the test's own loop: there is only one thread, so that order is the same on every run."""

    def __init__(self, task: asyncio.Task[None]) -> None:
        self._task = task

    def stop(self) -> None:
        self._task.cancel()
