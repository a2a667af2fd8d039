"""``Queue``: one document per task, whose lease is written into it by compare-and-swap on the same key."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from flowli.adapters.cairndb import let_go
from flowli.adapters.cairndb.opened import CairnPort, Opened, port_method
from flowli.adapters.cairndb.queue_state import QueueState
from flowli.adapters.cairndb.scan import list_keys, list_page, pages, read_all
from flowli.adapters.cairndb.take import Take
from flowli.adapters.cairndb.task_doc import dead_of, fresh_body, task_of, view_of
from flowli.cairn.objects import Created
from flowli.domain import keys
from flowli.domain.ids import Eid
from flowli.domain.tasks import DeadTask, QueueSettings, Task, TaskLease, TaskView
from flowli.timestamp import Timestamp

__all__ = ["CairnQueue"]

_PROMOTED = 8192


class CairnQueue(CairnPort):
    """Queues."""

    def __init__(self, opened: Opened) -> None:
        super().__init__(opened)
        self._state = QueueState(opened.cairn)

    @port_method
    async def enqueue(self, task: Task) -> bool:
        if task.not_before is not None:
            return isinstance(await self._documents.create(keys.delayed(task), fresh_body(task)), Created)
        return await self._put_ready(task)

    @port_method
    async def dequeue(self, queue: str, holder: str, ttl_s: float, *, limit: int = 1) -> Sequence[TaskLease]:
        settings = await self._state.limits.settings(queue)
        if settings.paused is not None or limit < 1:
            return []
        return await Take(self._state, queue, settings, holder, ttl_s, limit).run()

    @port_method
    async def renew(self, lease: TaskLease, *, alive: bool = False) -> TaskLease:
        return await let_go.renew(self._state, lease, alive=alive)

    @port_method
    async def ack(self, leases: Iterable[TaskLease]) -> None:
        await let_go.ack(self._state, leases)

    @port_method
    async def nack(self, lease: TaskLease, *, delay_s: float = 0.0, alive: bool = True) -> None:
        await let_go.nack(self._state, lease, delay_s=delay_s, alive=alive)

    @port_method
    async def withdraw(self, task: Task) -> bool:
        return await let_go.withdraw(self._state, task)

    @port_method
    async def find(self, queue: str, eid: Eid, *, limit: int = 100) -> Sequence[TaskView]:
        return [view for view in await self._views(queue, limit, str(eid)) if view.task.target == eid]

    @port_method
    async def list(self, queue: str, *, limit: int = 100) -> Sequence[TaskView]:
        return await self._views(queue, limit, "")

    @port_method
    async def queues(self) -> Sequence[str]:
        found: list[str] = []
        after: str | None = None
        while (page := await list_page(self._documents, keys.QUEUES, after=after, limit=1)).items:
            queue, kind = keys.queue_of(page.items[0].key)
            if kind != keys.LIMITS or await list_keys(self._documents, keys.ready_prefix(queue), 1):
                found.append(queue)
            after = f"{keys.QUEUES}{queue}0"  # "0" comes right after "/": the first key of the next queue follows
        return found

    @port_method
    async def promote(self, queue: str, now: Timestamp) -> int:
        promoted = 0
        async for items in pages(self._documents, keys.delayed_prefix(queue)):
            due = [item.key for item in items if keys.delayed_instant(queue, item.key) <= now]
            # the delayed twin stays until the ack; that its ready twin was put once is enough
            fresh = [key for key in due if key not in self._state.promoted]
            for doc in await read_all(self._documents, fresh):
                promoted += await self._put_ready(task_of(doc))
                self._state.promoted[doc.key] = None
            while len(self._state.promoted) > _PROMOTED:
                self._state.promoted.popitem(last=False)
            if len(due) < len(items):
                break
        return promoted

    @port_method
    async def bury(self, lease: TaskLease, cause: str, at: Timestamp) -> None:
        await let_go.bury(self._state, lease, cause, at)

    @port_method
    async def dead(self, queue: str, *, limit: int = 100) -> Sequence[DeadTask]:
        found = await list_keys(self._documents, keys.dead_prefix(queue), limit)
        return [dead_of(doc) for doc in await read_all(self._documents, found)]

    @port_method
    async def revive(self, dead: DeadTask) -> bool:
        return await let_go.revive(self._state, dead)

    @port_method
    async def discard(self, dead: DeadTask) -> bool:
        return await let_go.discard(self._state, dead)

    @port_method
    async def settings(self, queue: str) -> QueueSettings:
        return await self._state.limits.settings(queue, fresh=True)

    @port_method
    async def configure(self, queue: str, settings: QueueSettings) -> None:
        await self._state.limits.configure(queue, settings)

    async def _put_ready(self, task: Task) -> bool:
        key = keys.ready(task)
        outcome = await self._documents.create(key, fresh_body(task))
        self._state.became_ready(task.queue, key)
        return isinstance(outcome, Created)

    async def _views(self, queue: str, limit: int, part: str) -> Sequence[TaskView]:
        """The first tasks of a queue whose key contains ``part``; a promoted one is shown once, as ready."""
        ready = await list_keys(self._documents, keys.ready_prefix(queue), limit)
        names = {key.rpartition("/")[2] for key in ready}
        delayed: list[str] = []
        if len(ready) < limit:
            listed = await list_keys(self._documents, keys.delayed_prefix(queue), limit)
            delayed = [key for key in listed if key.rpartition("/")[2] not in names][: limit - len(ready)]
        views: list[TaskView] = []
        for found, is_delayed in ((ready, False), (delayed, True)):
            wanted = [key for key in found if part in key]
            for doc in await read_all(self._documents, wanted):
                views.append(view_of(self._cairn.leases.view(doc), delayed=is_delayed))
        return views
