"""Time that is skipped whenever everything waits for it."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Protocol, TypeVar

from flowli.testing.clock import ManualClock
from flowli.testing.fakes import Fakes
from flowli.timestamp import Timestamp
from flowli.world import SYSTEM

__all__ = ["Due", "SkippingClock"]

T = TypeVar("T")

_LOOK_S = 0.001


class Due(Protocol):
    """What the bucket says is due."""

    def next_due(self) -> Coroutine[object, object, Timestamp | None]:
        """The instant of the next timer or delayed task."""

    def act(self) -> Coroutine[object, object, object]:
        """Make happen what is due now."""


class SkippingClock(ManualClock):
    """A manual clock that moves to the next sleeper when nothing else can go on.

    Args:
        start: the first instant.
        fakes: knows which steps are under way. While one is, and does something real (a file, a socket), the clock
            stands still for up to ``patience_s`` seconds of real time, so that its timeout does not fire too early.
        limit_s: how far it moves for one piece of work.
    """

    def __init__(self, start: Timestamp, fakes: Fakes, *, patience_s: float, limit_s: float) -> None:
        super().__init__(start)
        self._fakes = fakes
        self._patience_s = patience_s
        self._limit_s = limit_s

    def jump(self, to: Timestamp) -> None:
        """Move to an instant at once; whoever slept until then wakes there."""
        self._move(to.us - self._start.us)

    async def drive(self, work: Coroutine[object, object, T], *, due: Due | None = None) -> T:
        """Await ``work``.

        Args:
            due: what else is due meanwhile.

        Raises:
            AssertionError: a step runs for too long, or nothing will ever go on.
        """
        task = asyncio.ensure_future(work)
        end_us = self.elapsed_us + round(self._limit_s * 1_000_000)
        waited_s, ended = 0.0, self._fakes.ended
        try:
            while True:
                await self.settle()
                if task.done():
                    return await task
                if self._fakes.ended != ended:
                    waited_s, ended = 0.0, self._fakes.ended
                due_us = self.next_due_us()
                other = await self.drive(due.next_due()) if due is not None else None
                if self._fakes.running and (waited_s < self._patience_s or (due_us is None and other is None)):
                    await SYSTEM.sleep(_LOOK_S)
                    waited_s += _LOOK_S
                elif due is not None and other is not None and (due_us is None or other <= self._at(due_us)):
                    self.jump(max(other, self.now()))
                    await self.drive(due.act())
                elif due_us is None:
                    raise AssertionError("everything waits, and nobody waits for time to pass")
                elif due_us > end_us:
                    raise AssertionError(self._stuck())
                else:
                    self._move(due_us)
        finally:
            task.cancel()

    def _at(self, elapsed_us: int) -> Timestamp:
        return Timestamp(self._start.us + elapsed_us)

    def _stuck(self) -> str:
        if self._fakes.running:
            return (
                f"still running: {', '.join(sorted(self._fakes.running))}; replace a step that waits for something "
                "real by a fake (env.replace)"
            )
        return f"not done after {self._limit_s:g} seconds of the environment's clock"
