"""How a task is found in its table: by what names it, and by the lease that somebody holds."""

from __future__ import annotations

import sqlite3

from flowli.domain.tasks import Task, TaskLease
from flowli_backend_sqlite.bodies import pack

KEY = "queue = ? AND state = ? AND priority = ? AND cause_us = ? AND task_id = ?"
HELD = f"{KEY} AND holder IS NOT NULL AND epoch = ?"


def key_of(task: Task, state: str = "ready") -> tuple[str, str, int, int, str]:
    """The values for ``KEY``; they sort in the order in which tasks are given out."""
    return task.queue, state, task.priority, task.cause_at.us, task.task_id


def held_values(lease: TaskLease) -> tuple[str, str, int, int, str, int]:
    """The values for ``HELD``: a lease that has expired stands until somebody takes the task, and raises the epoch."""
    return (*key_of(lease.task), lease.epoch)


def insert(db: sqlite3.Connection, task: Task, state: str, *, deaths: int = 0) -> bool:
    """Put if absent."""
    due = None if task.not_before is None else task.not_before.us
    query = (
        "INSERT OR IGNORE INTO tasks (queue, state, priority, cause_us, task_id, target, not_before_us, body, deaths) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
    )
    return db.execute(query, (*key_of(task, state), str(task.target), due, pack(task), deaths)).rowcount == 1
