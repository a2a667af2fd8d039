"""``WorkflowProjection``: lists, counts and searches over all executions of a bucket."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import Executor
from functools import partial
from typing import TypeVar

from flowli.adapters.projection import queries
from flowli.adapters.projection.file import ProjectionFile
from flowli.adapters.projection.rows import Act, Announcement, ExecutionRow, Page
from flowli.domain.data import Scalar
from flowli.domain.entries import START, Position
from flowli.domain.execution import ExecutionStatus
from flowli.domain.ids import Eid
from flowli.domain.ports import ControlLog
from flowli.timestamp import Timestamp
from flowli.world import SYSTEM, World

__all__ = ["WorkflowProjection"]

T = TypeVar("T")

_BATCH = 2_000
_READERS = 4
_LOOK_AGAIN_S = 0.05


class WorkflowProjection:
    """The control log as tables of a local SQLite file.

        >>> projection = WorkflowProjection("flowli.db", backend.ports.control, source=backend.url)
        >>> await projection.catch_up()
        >>> page = await projection.executions(status=ExecutionStatus.FAILED, workflow="invoice_approval")

    It is a cache: it may be deleted at any time, and is built anew when it is of another version or another bucket.
    Queries answer from what is folded already; ``catch_up`` folds what is new, and ``wait_for`` makes sure that an
    entry one has just written is among it.

    Args:
        path: of the file. Several processes of one host may share it.
        control: the log.
        source: names the bucket.
        world: clock and threads of this process.
    """

    def __init__(self, path: str, control: ControlLog, *, source: str = "", world: World = SYSTEM) -> None:
        self._control = control
        self._world = world
        self._file = ProjectionFile(path, source)
        self._writer = world.pool("flowli-projection", 1)
        self._readers = world.pool("flowli-projection-reader", _READERS)
        self._position = START
        self._opened = self._closed = False
        self._turn = asyncio.Lock()
        self._begun = self._ended = 0

    @property
    def position(self) -> Position:
        """Up to where this process knows the rows to be built."""
        return self._position

    async def catch_up(self) -> Position:
        """Fold what is new. What was in the log when this was called is in the rows when it returns."""
        mine = self._begun + 1
        async with self._turn:
            if self._ended >= mine:
                return self._position  # a pass that began after this call has just ended
            await self._open()
            self._begun += 1
            begun = self._begun
            while True:
                found = await self._control.read(after=self._position, limit=_BATCH)
                if found.position != self._position:
                    apply = partial(self._file.apply, self._position, found.entries, found.position)
                    folded = await self._in(self._writer, apply)
                    stale = folded != found.position
                    self._position = folded
                    if stale:
                        continue
                if found.caught_up:
                    self._ended = begun
                    return self._position

    async def wait_for(self, seq: int, *, timeout_s: float = 10.0) -> bool:
        """Fold until the control entry ``seq`` is among the rows; False if it did not come in time.

        Args:
            seq: as ``ControlLog.append`` returned it.
        """
        deadline_s = self._world.monotonic_s() + timeout_s
        while self._position.seq < seq and (await self.catch_up()).seq < seq:
            if self._world.monotonic_s() >= deadline_s:
                return False
            await self._world.sleep(_LOOK_AGAIN_S)
        return True

    async def rebuild(self) -> Position:
        """Throw all rows away and fold the log from its start."""
        async with self._turn:
            await self._open()
            self._position = await self._in(self._writer, self._file.reset)
        return await self.catch_up()

    async def executions(
        self,
        *,
        status: ExecutionStatus | Collection[ExecutionStatus] | None = None,
        workflow: str | None = None,
        queue: str | None = None,
        parent: Eid | None = None,
        key: str | None = None,
        attributes: Mapping[str, Scalar] | None = None,
        created_after: Timestamp | None = None,
        created_before: Timestamp | None = None,
        text: str | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> Page:
        """Executions, the newest first; every condition that is given holds (see ``queries.Filter``).

        Args:
            limit: the most rows, at least 1.
            cursor: ``next_cursor`` of the page before.

        Raises:
            InvalidValue: no page gave that cursor.
        """
        of = () if status is None else (status,) if isinstance(status, ExecutionStatus) else tuple(status)
        wanted = queries.Filter(of, workflow, queue, parent, key, attributes or {}, created_after, created_before, text)
        return await self._ask(lambda db: queries.executions(db, wanted, max(1, limit), cursor))

    async def execution(self, eid: Eid) -> ExecutionRow | None:
        """One execution; None if the log does not mention it so far."""
        return await self._ask(lambda db: queries.execution(db, eid))

    async def children(self, eid: Eid) -> list[ExecutionRow]:
        """The children of an execution, the oldest first."""
        return await self._ask(lambda db: queries.children(db, eid))

    async def counts(self, *, workflow: str | None = None) -> dict[ExecutionStatus, int]:
        """How many executions have each status; every status is there."""
        return await self._ask(lambda db: queries.counts(db, workflow))

    async def announcements(
        self, topic: str | None = None, *, eid: Eid | None = None, after_seq: int = 0, limit: int = 1000
    ) -> list[Announcement]:
        """Announcements after a place in the control log, in its order."""
        return await self._ask(lambda db: queries.announcements(db, topic, eid, after_seq, limit))

    async def acts(self, eid: Eid | None = None, *, after_seq: int = 0, limit: int = 1000) -> list[Act]:
        """What operators did after a place in the control log, in its order."""
        return await self._ask(lambda db: queries.acts(db, eid, after_seq, limit))

    async def close(self) -> None:
        """Close the file and let go of the threads."""
        if self._closed:
            return
        self._closed = True
        await self._in(self._writer, self._file.close)
        self._writer.shutdown(wait=False)
        self._readers.shutdown(wait=False)

    async def _ask(self, question: Callable[[sqlite3.Connection], T]) -> T:
        if not self._opened:
            async with self._turn:
                await self._open()
        return await self._in(self._readers, lambda: question(self._file.reader()))

    async def _open(self) -> None:
        if not self._opened:
            self._position = await self._in(self._writer, self._file.open)
            self._opened = True

    async def _in(self, pool: Executor, call: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(pool, call)
