"""The work of a worker in the background of an ``async with`` block."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import structlog

__all__ = ["Background"]

_log = structlog.get_logger("flowli.worker")


class Background:
    """Works from the block's first await on, until somebody else drives the worker or the block ends.

    Args:
        work: takes tasks until its argument is set.

    Attributes:
        taken: how many tasks were taken since it was begun.
    """

    def __init__(self, work: Callable[[asyncio.Event], Awaitable[None]]) -> None:
        self._work = work
        self._over = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._begun = False
        self.taken = 0

    def begin(self) -> None:
        """Work as soon as the caller awaits something else."""
        self._over.clear()
        self._begun, self.taken = False, 0
        self._task = asyncio.create_task(self._run())
        self._task.add_done_callback(_told)

    def stop(self) -> None:
        """Take no more."""
        self._over.set()

    async def end(self) -> int:
        """Take no more; returns how many tasks were taken, when nothing is being taken. What was begun goes on.

        Raises:
            Exception: the one that ended the work too early.
        """
        task, self._task = self._task, None
        if task is None:
            return 0
        self.stop()
        if not self._begun:
            # it has not had its turn yet: the caller drives from the first task on
            task.cancel()
            return 0
        await task
        return self.taken

    async def _run(self) -> None:
        self._begun = True
        await self._work(self._over)


def _told(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and task.exception() is not None:
        _log.error("the worker takes no more tasks; leaving its block raises why", exc_info=task.exception())
