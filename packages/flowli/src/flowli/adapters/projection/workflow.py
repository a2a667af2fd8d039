"""``WorkflowProjection``: lists, counts and searches over all executions of a bucket."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Collection, Mapping
from functools import partial

from flowli.adapters.projection import queries, schema
from flowli.adapters.projection.fold import ControlFold
from flowli.adapters.projection.rows import Act, Announcement, ExecutionRow, Latency, Page
from flowli.cairn import projection as cairn
from flowli.domain.control_entries import ControlEntry
from flowli.domain.data import Scalar
from flowli.domain.entries import Position
from flowli.domain.execution import ExecutionStatus
from flowli.domain.ids import Eid
from flowli.domain.ports import ControlLog, ControlSnapshots
from flowli.timestamp import Timestamp
from flowli.world import SYSTEM, World

__all__ = ["FOLD", "WorkflowProjection"]

FOLD = ControlFold().name
"""What the fold is called."""

_log = logging.getLogger(__name__)


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
        async def read(after: cairn.Position, limit: int) -> cairn.Part[ControlEntry]:
            found = await control.read(after=Position(after.commit, after.seq), limit=limit)
            position = cairn.Position(found.position.commit, found.position.seq)
            return cairn.Part(found.entries, position, found.caught_up)

        self._rows = cairn.Projection(read, path, ControlFold(), world, bucket=source, snapshot=_snapshot(control))

    @property
    def position(self) -> Position:
        """Up to where this process knows the rows to be built."""
        return Position(self._rows.position.commit, self._rows.position.seq)

    async def catch_up(self) -> Position:
        """Fold what is new. What was in the log when this was called is in the rows when it returns."""
        await self._rows.catch_up()
        return self.position

    async def wait_for(self, seq: int, *, timeout_s: float = 10.0) -> bool:
        """Fold until the control entry ``seq`` is among the rows; False if it did not come in time.

        Args:
            seq: as ``ControlLog.append`` returned it.
            timeout_s: seconds to wait at most.
        """
        return await self._rows.wait_for(seq, timeout_s=timeout_s)

    async def rebuild(self) -> Position:
        """Throw all rows away and fold the log from its start."""
        await self._rows.rebuild()
        return self.position

    async def export(self, path: str) -> Position:
        """Write the rows that are folded so far into a new file, and return their position."""
        position = await self._rows.export(path)
        return Position(position.commit, position.seq)

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
        version: str | None = None,
        updated_after: Timestamp | None = None,
        updated_before: Timestamp | None = None,
        waiting_on: str | None = None,
        prefix: str | None = None,
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
        wanted = queries.Filter(
            of,
            workflow,
            queue,
            parent,
            key,
            attributes or {},
            created_after,
            created_before,
            text,
            version=version,
            updated_after=updated_after,
            updated_before=updated_before,
            waiting_on=waiting_on,
            prefix=prefix,
        )
        return await self._rows.read(lambda db: queries.executions(db, wanted, max(1, limit), cursor))

    async def execution(self, eid: Eid) -> ExecutionRow | None:
        """One execution; None if the log does not mention it so far."""
        return await self._rows.read(lambda db: queries.execution(db, eid))

    async def children(self, eid: Eid) -> list[ExecutionRow]:
        """The children of an execution, the oldest first."""
        return await self._rows.read(lambda db: queries.children(db, eid))

    async def counts(self, *, workflow: str | None = None) -> dict[ExecutionStatus, int]:
        """How many executions have each status; every status is there."""
        return await self._rows.read(lambda db: queries.counts(db, workflow))

    async def latencies(self, *, workflow: str | None = None) -> list[Latency]:
        """How long completed executions took, for each workflow that has any."""
        return await self._rows.read(lambda db: queries.latencies(db, workflow))

    async def announcements(
        self, topic: str | None = None, *, eid: Eid | None = None, after_seq: int = 0, limit: int = 1000
    ) -> list[Announcement]:
        """Announcements after a place in the control log, in its order."""
        return await self._rows.read(lambda db: queries.announcements(db, topic, eid, after_seq, limit))

    async def acts(self, eid: Eid | None = None, *, after_seq: int = 0, limit: int = 1000) -> list[Act]:
        """What operators did after a place in the control log, in its order."""
        return await self._rows.read(lambda db: queries.acts(db, eid, after_seq, limit))

    async def close(self) -> None:
        """Close the file and let go of the threads."""
        await self._rows.close()


def _snapshot(control: ControlLog) -> Callable[[], Awaitable[cairn.Snapshot | None]] | None:
    """Finds the snapshot that this release can begin with."""
    if not isinstance(control, ControlSnapshots):
        return None

    async def find() -> cairn.Snapshot | None:
        folded = await control.snapshot()
        if folded is None:
            return None
        if (folded.fold, folded.version) != (FOLD, schema.VERSION):
            found, mine = f"{folded.fold} {folded.version}", f"{FOLD} {schema.VERSION}"
            _log.warning("the snapshot in the bucket is %s, not %s: the whole log is folded", found, mine)
            return None
        return cairn.Snapshot(len(folded.digests), partial(control.snapshot_part, folded))

    return find
