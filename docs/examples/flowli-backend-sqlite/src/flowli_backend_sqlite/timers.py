"""``Timers``: a row per timer. Its id begins with the instant at which it is due, so the primary key is the order."""

from __future__ import annotations

from collections.abc import Sequence

from flowli.domain.timers import Timer
from flowli.timestamp import Timestamp
from flowli_backend_sqlite.bodies import pack, unpack
from flowli_backend_sqlite.database import Database


class SqliteTimers:
    """Timers."""

    def __init__(self, database: Database) -> None:
        self._db = database

    async def set(self, timer: Timer) -> None:
        """Put if absent."""
        row = (timer.timer_id, pack(timer))
        await self._db.write(lambda db: db.execute("INSERT OR IGNORE INTO timers VALUES (?, ?)", row))

    async def due(self, now: Timestamp, *, limit: int = 1000) -> Sequence[Timer]:
        """Those before the first id that lies in the future."""
        return await self._first("WHERE timer_id < ?", (f"{now}.", limit))  # "." follows "-", which follows an instant

    async def cancel(self, timer: Timer) -> bool:
        """Remove."""
        query = "DELETE FROM timers WHERE timer_id = ?"
        return await self._db.write(lambda db: db.execute(query, (timer.timer_id,)).rowcount == 1)

    async def pending(self, *, limit: int = 1000) -> Sequence[Timer]:
        """The first of all."""
        return await self._first("", (limit,))

    async def _first(self, where: str, values: tuple[str | int, ...]) -> Sequence[Timer]:
        query = f"SELECT body FROM timers {where} ORDER BY timer_id LIMIT ?"
        rows = await self._db.read(lambda db: db.execute(query, values).fetchall())
        return [unpack(Timer, body) for (body,) in rows]
