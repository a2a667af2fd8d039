"""``Evidence``: a row per body."""

from __future__ import annotations

from collections.abc import Sequence

from flowli.domain.ids import Eid
from flowli_backend_sqlite.database import Database


class SqliteEvidence:
    """Bodies by execution and name, each written once."""

    def __init__(self, database: Database) -> None:
        self._db = database

    async def put(self, eid: Eid, name: str, data: bytes) -> bool:
        """Put if absent."""
        query, row = "INSERT OR IGNORE INTO evidence VALUES (?, ?, ?)", (str(eid), name, data)
        return await self._db.write(lambda db: db.execute(query, row).rowcount == 1)

    async def get(self, eid: Eid, name: str) -> bytes | None:
        """Read."""
        query = "SELECT data FROM evidence WHERE eid = ? AND name = ?"
        row = await self._db.read(lambda db: db.execute(query, (str(eid), name)).fetchone())
        return None if row is None else bytes(row[0])

    async def list(self, eid: Eid, *, prefix: str = "") -> Sequence[str]:
        """Names in order."""
        query = "SELECT name FROM evidence WHERE eid = ? AND substr(name, 1, ?) = ? ORDER BY name"
        rows = await self._db.read(lambda db: db.execute(query, (str(eid), len(prefix), prefix)).fetchall())
        return [name for (name,) in rows]

    async def delete(self, eid: Eid) -> None:
        """Remove all."""
        await self._db.write(lambda db: db.execute("DELETE FROM evidence WHERE eid = ?", (str(eid),)))
