"""``ControlLog``: a row per commit, and one row with the end of the log and what was kept of its beginning."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import replace

from flowli.codec import dump_entries, load_control
from flowli.domain.entries import START, ControlEntry, Position
from flowli.domain.ports import ControlSlice
from flowli_backend_sqlite.bodies import pack_data, unpack_data
from flowli_backend_sqlite.database import Database


class SqliteControlLog:
    """The lifecycle of all executions."""

    def __init__(self, database: Database) -> None:
        self._db = database

    async def append(self, entries: Sequence[ControlEntry]) -> int:
        """Append one commit."""
        body = pack_data(dump_entries(entries))

        def work(db: sqlite3.Connection) -> int:
            (seq,) = db.execute("SELECT seq FROM control_state").fetchone()
            if not entries:
                return int(seq)
            last = int(seq) + len(entries)
            db.execute("UPDATE control_state SET commits = commits + 1, seq = ?", (last,))
            db.execute("INSERT INTO control SELECT commits, ?, ?, ? FROM control_state", (seq + 1, last, body))
            return last

        return await self._db.write(work)

    async def read(self, *, after: Position = START, limit: int = 10_000) -> ControlSlice:
        """Whole commits until ``limit`` entries are reached; of a compacted beginning what was kept, at once."""
        return await self._db.read(lambda db: _read(db, after, limit))

    async def compact(self, up_to: Position, kept: Sequence[ControlEntry]) -> Position:
        """Remember what stands for the commits so far."""
        seqs, body = pack_data([entry.seq for entry in kept]), pack_data(dump_entries(kept))

        def work(db: sqlite3.Connection) -> Position:
            compacted, _ = _places(db)
            if up_to > compacted:
                db.execute(
                    "UPDATE control_state SET kept_commits = ?, kept_seq = ?, kept_seqs = ?, kept = ?",
                    (up_to.commit, up_to.seq, seqs, body),
                )
            return max(up_to, compacted)

        return await self._db.write(work)

    async def drop(self, up_to: Position) -> None:
        """Delete commits for which others stand."""
        query = "DELETE FROM control WHERE number <= min(?, (SELECT kept_commits FROM control_state))"
        await self._db.write(lambda db: db.execute(query, (up_to.commit,)))


def _places(db: sqlite3.Connection) -> tuple[Position, Position]:
    """Up to where the log is compacted, and where it ends."""
    row = db.execute("SELECT kept_commits, kept_seq, commits, seq FROM control_state").fetchone()
    return Position(row[0], row[1]), Position(row[2], row[3])


def _read(db: sqlite3.Connection, after: Position, limit: int) -> ControlSlice:
    compacted, end = _places(db)
    if after < compacted:
        kept = tuple(entry for entry in _kept(db) if entry.seq > after.seq)
        if kept:
            return ControlSlice(kept, compacted, compacted == end)
        after = compacted
    entries: list[ControlEntry] = []
    query = "SELECT number, first_seq, last_seq, body FROM control WHERE number > ? ORDER BY number"
    for number, first, last, body in db.execute(query, (after.commit,)):
        if len(entries) >= limit:
            break
        entries += _entries(body, first)
        after = Position(number, last)
    return ControlSlice(tuple(entries), after, after.commit >= end.commit)


def _kept(db: sqlite3.Connection) -> list[ControlEntry]:
    seqs, body = db.execute("SELECT kept_seqs, kept FROM control_state").fetchone()
    numbers: list[int] = json.loads(seqs)
    return [replace(entry, seq=seq) for entry, seq in zip(_entries(body, 1), numbers, strict=True)]


def _entries(body: bytes, first: int) -> tuple[ControlEntry, ...]:
    records = unpack_data(body)
    assert isinstance(records, list)
    return load_control(records, first=first)
