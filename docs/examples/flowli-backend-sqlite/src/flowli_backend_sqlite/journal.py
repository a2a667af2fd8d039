"""``Journal``: a row per commit. The primary key (eid, number) is the fence: two commits never have one number."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from flowli.codec import dump_entries, load_journal
from flowli.domain.entries import START, JournalEntry, Position
from flowli.domain.ids import Eid
from flowli.domain.ports import Appended, JournalSlice, Overtaken
from flowli_backend_sqlite.bodies import pack_data, unpack_data
from flowli_backend_sqlite.database import Database


class SqliteJournal:
    """Journals."""

    def __init__(self, database: Database) -> None:
        self._db = database

    async def append(
        self, eid: Eid, entries: Sequence[JournalEntry], *, after: Position, epoch: int, writer: str
    ) -> Appended | Overtaken:
        """Append one commit after ``after`` if nothing stands there."""
        if not entries:
            raise ValueError("a commit holds at least one entry")
        number, end = after.commit + 1, Position(after.commit + 1, after.seq + len(entries))
        row = (str(eid), number, epoch, writer, after.seq + 1, end.seq, pack_data(dump_entries(entries)))

        def work(db: sqlite3.Connection) -> Appended | Overtaken:
            stands = _removed(db, eid, number, epoch) or _standing(db, eid, number)
            if stands is None:
                db.execute("INSERT INTO journal VALUES (?, ?, ?, ?, ?, ?, ?)", row)
            return stands or Appended(end)

        return await self._db.write(work)

    async def read(self, eid: Eid, *, after: Position = START) -> JournalSlice:
        """The entries of the commits after ``after``."""
        query = "SELECT number, first_seq, last_seq, body FROM journal WHERE eid = ? AND number > ? ORDER BY number"
        rows = await self._db.read(lambda db: db.execute(query, (str(eid), after.commit)).fetchall())
        entries = tuple(entry for _, first, _, body in rows for entry in _entries(body, first))
        return JournalSlice(entries, Position(rows[-1][0], rows[-1][2]) if rows else after)

    async def delete(self, eid: Eid) -> None:
        """Delete the commits, but remember where they ended: these numbers are never used again."""

        def work(db: sqlite3.Connection) -> None:
            db.execute(
                "INSERT OR REPLACE INTO journal_ends SELECT eid, number, epoch, last_seq FROM journal "
                "WHERE eid = ? ORDER BY number DESC LIMIT 1",
                (str(eid),),
            )
            db.execute("DELETE FROM journal WHERE eid = ?", (str(eid),))

        await self._db.write(work)


def _removed(db: sqlite3.Connection, eid: Eid, number: int, epoch: int) -> Overtaken | None:
    """A journal was removed when it was archived. Whoever still writes to it is fenced."""
    query = "SELECT number, epoch, last_seq FROM journal_ends WHERE eid = ? AND number >= ? - 1"
    row = db.execute(query, (str(eid), number)).fetchone()
    return None if row is None else Overtaken(max(row[1], epoch) + 1, (), Position(row[0], row[2]))


def _standing(db: sqlite3.Connection, eid: Eid, number: int) -> Overtaken | None:
    query = "SELECT epoch, first_seq, last_seq, body FROM journal WHERE eid = ? AND number = ?"
    row = db.execute(query, (str(eid), number)).fetchone()
    return None if row is None else Overtaken(row[0], _entries(row[3], row[1]), Position(number, row[2]))


def _entries(body: bytes, first: int) -> tuple[JournalEntry, ...]:
    records = unpack_data(body)
    assert isinstance(records, list)
    return load_journal(records, first=first)
