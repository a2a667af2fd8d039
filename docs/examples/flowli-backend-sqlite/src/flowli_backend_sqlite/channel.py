"""``Channel``: a row per message, numbered by its channel. A message is a commit of its own."""

from __future__ import annotations

import sqlite3
from dataclasses import replace

from flowli.domain.channels import Message
from flowli.domain.entries import START, Position
from flowli.domain.ids import Eid
from flowli.domain.ports import Messages
from flowli_backend_sqlite.bodies import pack, unpack
from flowli_backend_sqlite.waits import SqliteWaits


class SqliteChannel(SqliteWaits):
    """Messages; the wait markers stand in the base class."""

    async def send(self, message: Message) -> Message:
        """Append."""

        def work(db: sqlite3.Connection) -> Message:
            sent, _ = _state(db, message.channel)
            numbered = replace(message, seq=sent + 1, commit=sent + 1)
            db.execute(
                "INSERT INTO channels VALUES (?, 1, 0) ON CONFLICT DO UPDATE SET sent = sent + 1", (message.channel,)
            )
            db.execute("INSERT INTO messages VALUES (?, ?, ?)", (message.channel, numbered.seq, pack(numbered)))
            return numbered

        return await self._db.write(work)

    async def read(self, channel: str, *, after: Position = START, limit: int | None = None) -> Messages:
        """What follows."""

        def work(db: sqlite3.Connection) -> Messages:
            _, trimmed = _state(db, channel)
            first = max(after, Position(trimmed, trimmed))
            query = "SELECT seq, body FROM messages WHERE channel = ? AND seq > ? ORDER BY seq LIMIT ?"
            rows = db.execute(query, (channel, first.seq, -1 if limit is None else limit)).fetchall()
            found = tuple(replace(unpack(Message, body), seq=seq, commit=seq) for seq, body in rows)
            return Messages(found, Position(rows[-1][0], rows[-1][0]) if rows else first)

        return await self._db.read(work)

    async def end(self, channel: str) -> Position:
        """Behind the last message."""
        sent, _ = await self._db.read(lambda db: _state(db, channel))
        return Position(sent, sent)

    async def redact(self, message: Message) -> None:
        """Replace the message by one without a payload."""

        def work(db: sqlite3.Connection) -> None:
            where = (message.channel, message.seq)
            row = db.execute("SELECT body FROM messages WHERE channel = ? AND seq = ?", where).fetchone()
            if row is not None:
                body = pack(replace(unpack(Message, row[0]), payload=None))
                db.execute("UPDATE messages SET body = ? WHERE channel = ? AND seq = ?", (body, *where))

        await self._db.write(work)

    async def trim(self, channel: str, up_to: Position) -> Position:
        """Remember the place; nobody is given what lies before it."""

        def work(db: sqlite3.Connection) -> Position:
            db.execute("UPDATE channels SET trimmed = max(trimmed, ?) WHERE name = ?", (up_to.commit, channel))
            _, trimmed = _state(db, channel)
            return Position(trimmed, trimmed)

        return await self._db.write(work)

    async def drop(self, channel: str, up_to: Position) -> None:
        """Delete what was trimmed. The count of what was sent stays, so that no number is used again."""

        def work(db: sqlite3.Connection) -> None:
            _, trimmed = _state(db, channel)
            last = min(up_to.commit, trimmed)
            db.execute("DELETE FROM messages WHERE channel = ? AND seq <= ?", (channel, last))

        await self._db.write(work)

    async def delete(self, channel: str) -> None:
        """Forget messages and markers."""
        await self._db.write(lambda db: _delete(db, channel))

    async def delete_own(self, eid: Eid) -> None:
        """Forget all whose names begin with the execution's id and a dot."""

        def work(db: sqlite3.Connection) -> None:
            query = "SELECT name FROM channels UNION SELECT channel FROM waits"
            for (name,) in db.execute(f"SELECT name FROM ({query}) WHERE name GLOB ?", (f"{eid}.*",)).fetchall():
                _delete(db, name)

        await self._db.write(work)


def _state(db: sqlite3.Connection, channel: str) -> tuple[int, int]:
    """How many messages were sent, and up to which one they are trimmed."""
    row = db.execute("SELECT sent, trimmed FROM channels WHERE name = ?", (channel,)).fetchone()
    return (0, 0) if row is None else (int(row[0]), int(row[1]))


def _delete(db: sqlite3.Connection, channel: str) -> None:
    db.execute("DELETE FROM messages WHERE channel = ?", (channel,))
    db.execute("DELETE FROM waits WHERE channel = ?", (channel,))
    db.execute("DELETE FROM channels WHERE name = ?", (channel,))
