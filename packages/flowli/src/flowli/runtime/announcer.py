"""``Announcer``: writes control entries beside the work and loses none of them silently."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import structlog

from flowli.domain.entries import ControlEntry
from flowli.domain.errors import BackendUnavailable, OutcomeUnknown
from flowli.domain.ports import ControlLog
from flowli.runtime.observe.observers import Observers
from flowli.world import World

__all__ = ["Announcer"]

_log = structlog.get_logger("flowli.control")
_FIRST_DELAY_S, _LAST_DELAY_S = 0.1, 10.0


class Announcer:
    """Posts entries to the control log in the background. Entries may stand in the log twice; folds are idempotent.

    Args:
        observers: told of each entry, which follows what is durable in a journal already.
    """

    def __init__(self, control: ControlLog, world: World, observers: Observers | None = None) -> None:
        self._control = control
        self._observers = observers
        self._world = world
        self._pending: set[asyncio.Task[int]] = set()

    def post(self, entries: Sequence[ControlEntry]) -> asyncio.Task[int]:
        """Start appending; the task's result is the sequence number of the last entry, once all are durable.

        It is tried again while the backend is unavailable. An entry that is lost with the process is repaired by the
        sweeper from the journal.
        """
        if self._observers is not None:
            self._observers.posted(entries)
        task = asyncio.create_task(self._append(tuple(entries)))
        self._pending.add(task)
        task.add_done_callback(self._done)
        return task

    async def _append(self, entries: tuple[ControlEntry, ...]) -> int:
        delay_s = _FIRST_DELAY_S
        while True:
            try:
                return await self._control.append(entries)
            except (BackendUnavailable, OutcomeUnknown) as error:
                _log.warning("control entries wait", entries=len(entries), error=str(error), retry_in_s=delay_s)
                await self._world.sleep(delay_s)
                delay_s = min(2 * delay_s, _LAST_DELAY_S)

    def _done(self, task: asyncio.Task[int]) -> None:
        self._pending.discard(task)
        if not task.cancelled() and task.exception() is not None:
            _log.error("control entries lost; the sweeper repairs them", error=str(task.exception()))

    async def drain(self) -> None:
        """Wait until everything posted so far is durable."""
        while self._pending:
            await asyncio.wait(set(self._pending))
