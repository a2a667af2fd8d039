"""``Channel``, the wait markers: one row for each execution that waits on a channel."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from flowli.domain.channels import WaitMarker
from flowli.domain.ids import Eid
from flowli_backend_sqlite.bodies import pack, unpack
from flowli_backend_sqlite.database import Database


class SqliteWaits:
    """Markers. A sender reads them after its message is durable, a receiver writes its own before it looks again."""

    def __init__(self, database: Database) -> None:
        self._db = database

    async def mark(self, marker: WaitMarker) -> bool:
        """Replace a marker of the same or a lower epoch."""
        row = (marker.channel, str(marker.eid), marker.epoch, pack(marker))
        query = (
            "INSERT INTO waits VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE "
            "SET epoch = excluded.epoch, body = excluded.body WHERE epoch <= excluded.epoch"
        )
        return await self._db.write(lambda db: db.execute(query, row).rowcount == 1)

    async def unmark(self, channel: str, eid: Eid, *, up_to_epoch: int) -> bool:
        """Remove a marker of an epoch that has ended."""
        query = "DELETE FROM waits WHERE channel = ? AND eid = ? AND epoch <= ?"
        return await self._db.write(lambda db: db.execute(query, (channel, str(eid), up_to_epoch)).rowcount == 1)

    async def marker(self, channel: str, eid: Eid) -> WaitMarker | None:
        """One marker."""

        def work(db: sqlite3.Connection) -> WaitMarker | None:
            query = "SELECT body FROM waits WHERE channel = ? AND eid = ?"
            row = db.execute(query, (channel, str(eid))).fetchone()
            return None if row is None else unpack(WaitMarker, row[0])

        return await self._db.read(work)

    async def markers(self, channel: str) -> Sequence[WaitMarker]:
        """All markers, by eid."""
        query = "SELECT body FROM waits WHERE channel = ? ORDER BY eid"
        rows = await self._db.read(lambda db: db.execute(query, (channel,)).fetchall())
        return [unpack(WaitMarker, body) for (body,) in rows]
