"""``Queue``: a row per task. This module takes tasks and gives them back; the others look at them and move them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence

from flowli.domain.errors import LeaseLost
from flowli.domain.tasks import Task, TaskLease
from flowli_backend_sqlite.bodies import unpack
from flowli_backend_sqlite.limits import room
from flowli_backend_sqlite.queue_moves import QueueMoves
from flowli_backend_sqlite.queue_views import QueueViews
from flowli_backend_sqlite.task_rows import HELD, KEY, held_values, insert, key_of

_FREE = """
    changed_s > :now OR (holder IS NULL AND free_at_s <= :now)
    OR (holder IS NOT NULL AND (:now - changed_s >= ttl_s OR is_dead(process)))
"""
_NEXT = f"""
    SELECT body, epoch, deaths + (holder IS NOT NULL) FROM tasks WHERE queue = :queue AND state = 'ready' AND ({_FREE})
    ORDER BY priority, cause_us, task_id LIMIT :limit
"""
_TAKE = f"UPDATE tasks SET holder = ?, process = ?, ttl_s = ?, changed_s = ?, epoch = ?, deaths = ? WHERE {KEY}"


class SqliteQueue(QueueMoves, QueueViews):
    """Ready, delayed and dead tasks. Every method is one transaction: a task is in one state, or in no other."""

    async def enqueue(self, task: Task) -> bool:
        """Put if absent."""

        def work(db: sqlite3.Connection) -> bool:
            ready = db.execute(f"SELECT 1 FROM tasks WHERE {KEY}", key_of(task)).fetchone()
            return not ready and insert(db, task, "ready" if task.not_before is None else "delayed")

        return await self._db.write(work)

    async def dequeue(self, queue: str, holder: str, ttl_s: float, *, limit: int = 1) -> Sequence[TaskLease]:
        """Take the first tasks that are free: never held, given back, or held by somebody who is silent or dead."""
        me = self._db.process()

        def work(db: sqlite3.Connection) -> list[TaskLease]:
            now, taken = self._db.now_s(), list[TaskLease]()
            values = {"queue": queue, "now": now, "limit": room(db, queue, now, limit)}
            for body, epoch, deaths in db.execute(_NEXT, values).fetchall():
                lease = TaskLease(unpack(Task, body), holder, epoch + 1, ttl_s, deaths, str(epoch + 1))
                db.execute(_TAKE, (holder, me, ttl_s, now, lease.epoch, deaths, *key_of(lease.task)))
                db.execute("INSERT INTO takes VALUES (?, ?)", (queue, now))
                taken.append(lease)
            return taken

        return await self._db.write(work)

    async def renew(self, lease: TaskLease, *, alive: bool = False) -> TaskLease:
        """Touch the lease."""
        query = f"UPDATE tasks SET changed_s = ?, deaths = iif(?, 0, deaths) WHERE {HELD} RETURNING deaths"

        def work(db: sqlite3.Connection) -> TaskLease:
            row = db.execute(query, (self._db.now_s(), alive, *held_values(lease))).fetchone()
            if row is None:
                raise LeaseLost(f"task {lease.task.task_id} is no longer held by {lease.holder}")
            return TaskLease(lease.task, lease.holder, lease.epoch, lease.ttl_s, row[0], lease.token)

        return await self._db.write(work)

    async def ack(self, leases: Iterable[TaskLease]) -> None:
        """Remove the tasks whose leases still stand."""
        done = [held_values(lease) for lease in leases]
        await self._db.write(lambda db: db.executemany(f"DELETE FROM tasks WHERE {HELD}", done))

    async def nack(self, lease: TaskLease, *, delay_s: float = 0.0, alive: bool = True) -> None:
        """Leave the task without a holder."""
        query = (
            "UPDATE tasks SET holder = NULL, process = NULL, changed_s = ?, free_at_s = ?, "
            f"deaths = iif(?, 0, deaths) WHERE {HELD}"
        )

        def work(db: sqlite3.Connection) -> None:
            now = self._db.now_s()
            db.execute(query, (now, now + delay_s, alive, *held_values(lease)))

        await self._db.write(work)

    async def withdraw(self, task: Task) -> bool:
        """Remove a task that nobody holds, whether it is ready or delayed; what is delayed alone is held by nobody."""

        def work(db: sqlite3.Connection) -> bool:
            row = db.execute(f"SELECT holder FROM tasks WHERE {KEY}", key_of(task)).fetchone()
            if row is not None and row[0] is not None:
                return False
            states = ("ready",) if task.not_before is None else ("ready", "delayed")
            return sum(db.execute(f"DELETE FROM tasks WHERE {KEY}", key_of(task, one)).rowcount for one in states) > 0

        return await self._db.write(work)
