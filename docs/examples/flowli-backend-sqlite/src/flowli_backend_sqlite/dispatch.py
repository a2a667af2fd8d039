"""``Dispatch``: a row per decision. ``INSERT OR IGNORE`` lets the first one stay."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import replace

from flowli.domain.data import Data
from flowli.domain.ports import Claim, StandingClaim, StartClaim
from flowli_backend_sqlite.bodies import pack, pack_data, unpack, unpack_data
from flowli_backend_sqlite.database import Database


class SqliteDispatch:
    """Decisions by key, and start claims by key. A token changes with every write."""

    def __init__(self, database: Database) -> None:
        self._db = database

    async def claim(self, key: str, value: Data) -> Claim:
        """The first value stays."""

        def work(db: sqlite3.Connection) -> Claim:
            row = (key, self._db.world.token(), pack_data(value))
            won = db.execute("INSERT OR IGNORE INTO claims VALUES (?, ?, ?)", row).rowcount == 1
            (body,) = db.execute("SELECT body FROM claims WHERE key = ?", (key,)).fetchone()
            return Claim(unpack_data(body), won)

        return await self._db.write(work)

    async def claims(self, prefix: str, *, after: str = "", limit: int = 1000) -> Sequence[StandingClaim]:
        """Those that stand, in order."""
        query = "SELECT key, body, token FROM claims WHERE key > ? AND key >= ? AND key < ? ORDER BY key LIMIT ?"
        bounds = (after, prefix, f"{prefix}\x7f", limit)
        rows = await self._db.read(lambda db: db.execute(query, bounds).fetchall())
        return [StandingClaim(key, unpack_data(body), token) for key, body, token in rows]

    async def forget_claim(self, found: StandingClaim) -> bool:
        """Remove exactly the decision that was found."""
        query = "DELETE FROM claims WHERE key = ? AND token = ?"
        return await self._db.write(lambda db: db.execute(query, (found.key, found.token)).rowcount == 1)

    async def claim_start(self, claim: StartClaim) -> StartClaim:
        """The first claim stays."""
        return await self._db.write(lambda db: _start(db, claim.key) or self._put(db, claim))

    async def read_start(self, key: str) -> StartClaim | None:
        """What stands."""
        return await self._db.read(lambda db: _start(db, key))

    async def replace_start(self, found: StartClaim, claim: StartClaim) -> StartClaim:
        """Replace exactly the state that was found; a claim that is gone is claimed anew."""

        def work(db: sqlite3.Connection) -> StartClaim:
            stands = _start(db, claim.key)
            return self._put(db, claim) if stands is None or stands.token == found.token else stands

        return await self._db.write(work)

    async def forget_start(self, found: StartClaim) -> None:
        """Remove exactly the state that was found."""
        query = "DELETE FROM starts WHERE key = ? AND token = ?"
        await self._db.write(lambda db: db.execute(query, (found.key, found.token)))

    def _put(self, db: sqlite3.Connection, claim: StartClaim) -> StartClaim:
        token = self._db.world.token()
        db.execute("INSERT OR REPLACE INTO starts VALUES (?, ?, ?)", (claim.key, token, pack(replace(claim, token=""))))
        return replace(claim, token=token)


def _start(db: sqlite3.Connection, key: str) -> StartClaim | None:
    row = db.execute("SELECT token, body FROM starts WHERE key = ?", (key,)).fetchone()
    return None if row is None else replace(unpack(StartClaim, row[1]), token=row[0])
