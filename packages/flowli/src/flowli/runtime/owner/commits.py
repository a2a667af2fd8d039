"""``Commits``: makes the entries of one session durable, one commit in flight at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import structlog

from flowli.domain.entries import JournalEntry, Position
from flowli.domain.errors import BackendUnavailable, LeaseLost
from flowli.domain.ports import Appended, Overtaken
from flowli.runtime.protocols.run import Behind
from flowli.runtime.replay.session import Session
from flowli.runtime.services import Services
from flowli.runtime.worker.renewal import LeaseGuard

__all__ = ["Commits"]

_log = structlog.get_logger("flowli.owner")
_FIRST_DELAY_S, _LAST_DELAY_S = 0.05, 5.0


class Commits:
    """See the module's docstring.

    Args:
        landed: called with the entries of each commit that became durable.
        failed: called once when no further commit is possible.

    Attributes:
        position: the end of the journal as this owner knows it.
        durable: sequence number of the last durable entry.
    """

    def __init__(
        self,
        services: Services,
        session: Session,
        position: Position,
        *,
        landed: Callable[[list[JournalEntry]], None],
        failed: Callable[[BaseException], None],
    ) -> None:
        self._services = services
        self._session = session
        self._landed = landed
        self._failed = failed
        self._task: asyncio.Task[None] | None = None
        self._first = True
        self.error: BaseException | None = None
        self.position = position
        self.durable = position.seq
        self.guard: LeaseGuard | None = None

    def adopt(self, guard: LeaseGuard) -> None:
        """Append under this lease from now on."""
        self.guard = guard
        self._first = True

    @property
    def in_flight(self) -> bool:
        """Whether a commit is under way."""
        return self._task is not None

    def begin(self) -> None:
        """Commit what is buffered, unless a commit is under way: then it goes into the next one."""
        if self._task is None and self._session.buffered and self.error is None:
            self._task = asyncio.create_task(self._commit())

    async def flush(self) -> None:
        """Return when everything buffered so far is durable.

        Raises:
            LeaseLost, BackendError: it cannot be.
        """
        while self.error is None and (self._task is not None or self._session.buffered):
            self.begin()
            if self._task is not None:
                await asyncio.wait((self._task,))
        if self.error is not None:
            raise self.error

    async def _commit(self) -> None:
        entries = self._session.take_buffer()
        try:
            await self._append(entries)
        except BaseException as error:
            # whatever it is: no further commit is possible, and whoever waits for one must learn of it
            self.error = error
            self._task = None
            self._failed(error)
        else:
            self._task = None
            self._landed(entries)

    async def _append(self, entries: list[JournalEntry]) -> None:
        guard = self.guard
        assert guard is not None
        result = await self._write(entries, guard)
        if isinstance(result, Appended):
            self._first = False
            self.position = result.position
            self.durable = entries[-1].seq
        elif self._first and result.epoch < guard.epoch:
            raise Behind(f"a commit of epoch {result.epoch} landed late")
        else:
            raise LeaseLost(f"a commit of epoch {result.epoch} stands where one of epoch {guard.epoch} should go")

    async def _write(self, entries: list[JournalEntry], guard: LeaseGuard) -> Appended | Overtaken:
        """One append, tried while the lease lasts: a storage error is never an outcome."""
        eid, writer = self._session.execution.eid, self._services.site.worker_id
        delay_s = _FIRST_DELAY_S
        while True:
            try:
                return await self._services.ports.journal.append(
                    eid, entries, after=self.position, epoch=guard.epoch, writer=writer
                )
            except BackendUnavailable as error:
                if guard.expired:
                    raise
                _log.warning("a commit waits for the storage", eid=str(eid), error=str(error), retry_in_s=delay_s)
                await self._services.world.sleep(delay_s)
                delay_s = min(2 * delay_s, _LAST_DELAY_S)
