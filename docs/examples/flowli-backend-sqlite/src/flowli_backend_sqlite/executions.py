"""``ExecutionStore``: a row per record."""

from __future__ import annotations

import sqlite3

from flowli.domain.execution import Execution
from flowli.domain.ids import Eid
from flowli_backend_sqlite.bodies import pack, unpack
from flowli_backend_sqlite.database import Database


class SqliteExecutionStore:
    """Records."""

    def __init__(self, database: Database) -> None:
        self._db = database

    async def put(self, execution: Execution) -> bool:
        """Put if absent."""
        row = (str(execution.eid), pack(execution))
        return await self._db.write(
            lambda db: db.execute("INSERT OR IGNORE INTO executions VALUES (?, ?)", row).rowcount == 1
        )

    async def get(self, eid: Eid) -> Execution | None:
        """Read."""
        return await self._db.read(lambda db: _get(db, eid))

    async def replace(self, old: Execution, new: Execution) -> bool:
        """Replace exactly ``old``."""

        def work(db: sqlite3.Connection) -> bool:
            if _get(db, old.eid) != old:
                return False
            db.execute("UPDATE executions SET body = ? WHERE eid = ?", (pack(new), str(old.eid)))
            return True

        return await self._db.write(work)

    async def delete(self, eid: Eid) -> None:
        """Remove."""
        await self._db.write(lambda db: db.execute("DELETE FROM executions WHERE eid = ?", (str(eid),)))


def _get(db: sqlite3.Connection, eid: Eid) -> Execution | None:
    row = db.execute("SELECT body FROM executions WHERE eid = ?", (str(eid),)).fetchone()
    return None if row is None else unpack(Execution, row[0])
