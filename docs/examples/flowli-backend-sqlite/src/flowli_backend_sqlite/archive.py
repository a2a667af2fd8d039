"""``Archive``: a row per finished execution."""

from __future__ import annotations

import sqlite3

from flowli.domain.ids import Eid
from flowli.domain.ports import ArchivedExecution
from flowli_backend_sqlite.bodies import pack, unpack
from flowli_backend_sqlite.database import Database


class SqliteArchive:
    """Archives."""

    def __init__(self, database: Database) -> None:
        self._db = database

    async def put(self, archived: ArchivedExecution) -> bool:
        """Put if absent."""
        row = (str(archived.execution.eid), pack(archived))
        return await self._db.write(
            lambda db: db.execute("INSERT OR IGNORE INTO archives VALUES (?, ?)", row).rowcount == 1
        )

    async def get(self, eid: Eid) -> ArchivedExecution | None:
        """Read."""

        def work(db: sqlite3.Connection) -> ArchivedExecution | None:
            row = db.execute("SELECT body FROM archives WHERE eid = ?", (str(eid),)).fetchone()
            return None if row is None else unpack(ArchivedExecution, row[0])

        return await self._db.read(work)

    async def replace(self, archived: ArchivedExecution) -> None:
        """Replace the one that stands, if one does."""
        row = (pack(archived), str(archived.execution.eid))
        await self._db.write(lambda db: db.execute("UPDATE archives SET body = ? WHERE eid = ?", row))

    async def delete(self, eid: Eid) -> None:
        """Remove."""
        await self._db.write(lambda db: db.execute("DELETE FROM archives WHERE eid = ?", (str(eid),)))
