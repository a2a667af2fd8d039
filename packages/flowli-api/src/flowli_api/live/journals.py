"""``Journals``: one look at each journal for all who follow it in a process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING

import structlog

from flowli.domain.entries import START, ExecutionCancelled, ExecutionCompleted, ExecutionFailed, JournalEntry
from flowli.domain.errors import BackendError
from flowli.domain.ids import Eid

if TYPE_CHECKING:
    from flowli_api.service import Service

__all__ = ["Journals"]

_log = structlog.get_logger("flowli.api.feed")
_ENDS = (ExecutionCompleted, ExecutionFailed, ExecutionCancelled)


class Journals:
    """The journals that are followed now."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._watched: dict[Eid, _Watch] = {}

    async def follow(self, eid: Eid, after: int) -> AsyncGenerator[list[JournalEntry], None]:
        """Entries behind ``after`` in batches, those that are there first; ends with the execution.

        Raises:
            UnknownExecution: no such execution.
        """
        watch = self._watched.get(eid)
        if watch is None:
            watch = self._watched[eid] = _Watch(self._service, eid)
        watch.followers += 1
        try:
            await watch.begun()
            while True:
                entries, more = watch.entries[after:], watch.more
                if entries:
                    after += len(entries)
                    yield entries
                if watch.ended:
                    return
                await more.wait()
        finally:
            watch.followers -= 1
            if not watch.followers:
                watch.stop()
                self._watched.pop(eid, None)


class _Watch:
    def __init__(self, service: Service, eid: Eid) -> None:
        self._service = service
        self._eid = eid
        self._work: asyncio.Task[None] | None = None
        self._turn = asyncio.Lock()
        self._position = START
        self.followers = 0
        self.entries: list[JournalEntry] = []
        self.more = asyncio.Event()

    @property
    def ended(self) -> bool:
        return any(isinstance(entry.body, _ENDS) for entry in self.entries[-2:])

    async def begun(self) -> None:
        async with self._turn:
            if self._work is None and not self.ended:
                found = await self._service.engine.ports.journal.read(self._eid)
                self.entries, self._position = list(found.entries), found.position
                if not self.entries:  # archived, or not begun, or unknown: the engine tells
                    self.entries = list(await self._service.engine.journal(self._eid))
                if not self.ended:
                    self._work = asyncio.ensure_future(self._run())

    def stop(self) -> None:
        if self._work is not None:
            self._work.cancel()
            self._work = None

    async def _run(self) -> None:
        world, poll_s = self._service.world, self._service.config.poll_s
        while not self.ended:
            await world.sleep(poll_s)
            try:
                found = await self._service.engine.ports.journal.read(self._eid, after=self._position)
            except BackendError as error:
                _log.warning("a journal cannot be read now", eid=str(self._eid), error=str(error))
                continue
            if found.entries:
                self.entries = [*self.entries, *found.entries]
                self._position = found.position
                self.more.set()
                self.more = asyncio.Event()
