"""``Queue``: looking at tasks."""

from __future__ import annotations

from collections.abc import Sequence

from flowli.domain.ids import Eid
from flowli.domain.tasks import DeadTask, QueueSettings, Task, TaskView
from flowli.timestamp import Timestamp
from flowli_backend_sqlite.bodies import unpack
from flowli_backend_sqlite.database import Database
from flowli_backend_sqlite.limits import settings_of

_LIST = """
    SELECT body, holder, epoch, deaths, state = 'delayed' FROM tasks WHERE queue = ? AND state != 'dead'
    ORDER BY state = 'delayed', iif(state = 'delayed', not_before_us, 0), priority, cause_us, task_id LIMIT ?
"""
_DEAD = """
    SELECT body, cause, deaths, died_us FROM tasks WHERE queue = ? AND state = 'dead'
    ORDER BY died_us, priority, cause_us, task_id LIMIT ?
"""


class QueueViews:
    """Listings for tools."""

    _db: Database

    async def list(self, queue: str, *, limit: int = 100) -> Sequence[TaskView]:
        """Ready ones, then delayed ones."""
        rows = await self._db.read(lambda db: db.execute(_LIST, (queue, limit)).fetchall())
        return [
            TaskView(unpack(Task, body), holder, epoch, deaths, bool(delayed))
            for body, holder, epoch, deaths, delayed in rows
        ]

    async def find(self, queue: str, eid: Eid, *, limit: int = 100) -> Sequence[TaskView]:
        """Those of ``list`` that are for ``eid``."""
        return [view for view in await self.list(queue, limit=limit) if view.task.target == eid]

    async def queues(self) -> Sequence[str]:
        """Names in order."""
        query = "SELECT DISTINCT queue FROM tasks ORDER BY queue"
        return [name for (name,) in await self._db.read(lambda db: db.execute(query).fetchall())]

    async def dead(self, queue: str, *, limit: int = 100) -> Sequence[DeadTask]:
        """By the instant of their death."""
        rows = await self._db.read(lambda db: db.execute(_DEAD, (queue, limit)).fetchall())
        return [DeadTask(unpack(Task, body), cause, deaths, Timestamp(us)) for body, cause, deaths, us in rows]

    async def settings(self, queue: str) -> QueueSettings:
        """What was configured last."""
        return await self._db.read(lambda db: settings_of(db, queue))
