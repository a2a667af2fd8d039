"""``Queue``: tasks that change their state: delayed, ready, dead."""

from __future__ import annotations

import sqlite3
from dataclasses import replace

from flowli.domain.tasks import DeadTask, QueueSettings, TaskLease
from flowli.timestamp import Timestamp
from flowli_backend_sqlite.bodies import pack
from flowli_backend_sqlite.database import Database
from flowli_backend_sqlite.task_rows import HELD, KEY, held_values, insert, key_of


class QueueMoves:
    """A move is one UPDATE; the primary key holds the state, so a task that is there already is not made twice."""

    def __init__(self, database: Database) -> None:
        self._db = database

    async def promote(self, queue: str, now: Timestamp) -> int:
        """Make ready what is due."""
        due = "queue = ? AND state = 'delayed' AND not_before_us <= ?"

        def work(db: sqlite3.Connection) -> int:
            moved = db.execute(f"UPDATE OR IGNORE tasks SET state = 'ready' WHERE {due}", (queue, now.us)).rowcount
            db.execute(f"DELETE FROM tasks WHERE {due}", (queue, now.us))  # whose ready twin stood there already
            return moved

        return await self._db.write(work)

    async def bury(self, lease: TaskLease, cause: str, at: Timestamp) -> None:
        """Set a task aside."""
        query = (
            "UPDATE OR REPLACE tasks SET state = 'dead', holder = NULL, process = NULL, cause = ?, died_us = ?, "
            f"deaths = ? WHERE {HELD}"
        )
        await self._db.write(lambda db: db.execute(query, (cause, at.us, lease.deaths, *held_values(lease))))

    async def revive(self, dead: DeadTask) -> bool:
        """Make it ready. Its delay, if it had one, is over: nothing promotes it again."""

        def work(db: sqlite3.Connection) -> bool:
            if not _remove(db, dead):
                return False
            if not insert(db, replace(dead.task, not_before=None), "ready"):
                db.execute(f"UPDATE tasks SET deaths = 0 WHERE {KEY}", key_of(dead.task))
            return True

        return await self._db.write(work)

    async def discard(self, dead: DeadTask) -> bool:
        """Remove it from the dead."""
        return await self._db.write(lambda db: _remove(db, dead))

    async def configure(self, queue: str, settings: QueueSettings) -> None:
        """Replace the settings."""
        row = (queue, pack(settings))
        await self._db.write(lambda db: db.execute("INSERT OR REPLACE INTO queue_settings VALUES (?, ?)", row))


def _remove(db: sqlite3.Connection, dead: DeadTask) -> bool:
    return db.execute(f"DELETE FROM tasks WHERE {KEY}", key_of(dead.task, "dead")).rowcount == 1
