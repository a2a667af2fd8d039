"""``Alone``: a task whose holders have vanished runs alone in its worker, until it has shown that it can be survived.

So a task that brings its process down takes no others with it, and no other is blamed for it: while it runs, the worker
holds nothing else.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import structlog

from flowli.runtime.services import Services
from flowli.runtime.worker.renewal import TaskGuard

__all__ = ["Alone"]

_log = structlog.get_logger("flowli.worker")
_CALM = 3


class Alone:
    """See the module's docstring. There is one such task at a time; others are given back.

    Args:
        others: how many healthy tasks are being worked on.
        freed: called when others may be taken again.
    """

    def __init__(self, services: Services, others: Callable[[], int], freed: Callable[[], None]) -> None:
        self._services = services
        self._others = others
        self._freed = freed
        self._quiet = asyncio.Event()
        self._suspect: TaskGuard | None = None
        self._careful = 0

    @property
    def wanted(self) -> bool:
        """Whether a task runs alone or waits to do so: no other is to be begun."""
        return self._suspect is not None

    @property
    def careful(self) -> bool:
        """Whether tasks are to be taken one by one, since there may be more of this kind."""
        return self._careful > 0

    def claim(self, guard: TaskGuard) -> bool:
        """Whether ``guard``, just taken, may be begun: if it is healthy, or the only suspect."""
        if not guard.lease.deaths:
            self._careful = max(0, self._careful - 1)
            return True
        self._careful = _CALM
        if self._suspect is not None:
            return False
        self._suspect = guard
        return True

    def less(self) -> None:
        """A healthy task has ended."""
        if not self._others():
            self._quiet.set()

    async def enter(self, guard: TaskGuard) -> None:
        """Return when the claimed task may be worked on; call ``leave`` afterwards."""
        if self._others():
            self._quiet.clear()
            await self._wait(self._services.config.grace_s)

    async def _wait(self, grace_s: float) -> None:
        """Wait for the others; one that runs for longer may be waiting for this very task."""
        quiet = asyncio.ensure_future(self._quiet.wait())
        alarm = asyncio.ensure_future(self._services.world.sleep(grace_s))
        try:
            await asyncio.wait((quiet, alarm), return_when=asyncio.FIRST_COMPLETED)
        finally:
            quiet.cancel()
            alarm.cancel()
        if self._others():
            _log.warning("a task that may be dangerous is not run alone, since others go on", others=self._others())

    def leave(self, guard: TaskGuard) -> None:
        """The task has come on or is done; may be called twice."""
        if self._suspect is guard:
            self._suspect = None
            self._freed()
