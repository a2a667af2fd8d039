"""``Queue`` with coded payloads."""

from __future__ import annotations

import asyncio
import contextlib
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import replace

from flowli.adapters.coded.tasks import clear_task, readable, stored_task
from flowli.adapters.coded.values import Values
from flowli.domain.data import Data
from flowli.domain.errors import BackendError, LeaseLost
from flowli.domain.ids import Eid
from flowli.domain.ports import Queue
from flowli.domain.tasks import DeadTask, QueueSettings, Task, TaskKind, TaskLease, TaskView
from flowli.timestamp import Timestamp

__all__ = ["CodedQueue"]

_REMEMBERED = 512
_WAKING = (TaskKind.START, TaskKind.RESUME)


class CodedQueue:
    """The payloads of tasks go through the codec; of a START, its arguments.

    A START or RESUME whose payload cannot be read here is handed out nevertheless, with the payload ``Sealed``: what it
    says can be read elsewhere, and there the reader is told. Any other such task is given back for the time of its
    lease, for a worker that can read it.
    """

    def __init__(self, inner: Queue, values: Values) -> None:
        self._inner = inner
        self._values = values
        # a held task goes back to the backend as it came
        self._held: OrderedDict[tuple[str, int], Data] = OrderedDict()

    async def enqueue(self, task: Task) -> bool:
        return await self._inner.enqueue(await stored_task(self._values, task))

    async def dequeue(self, queue: str, holder: str, ttl_s: float, *, limit: int = 1) -> Sequence[TaskLease]:
        leases = await self._inner.dequeue(queue, holder, ttl_s, limit=limit)
        tasks = await asyncio.gather(
            *(clear_task(self._values, lease.task) for lease in leases), return_exceptions=True
        )
        taken: list[TaskLease] = []
        for lease, task in zip(leases, tasks, strict=True):
            if isinstance(task, Task) and (task.kind in _WAKING or readable(task)):
                self._hold(lease)
                taken.append(replace(lease, task=task))
                continue
            if isinstance(task, BaseException) and not isinstance(task, BackendError):
                raise task
            # taken and not handed out, it would look like one whose holder died
            with contextlib.suppress(BackendError, LeaseLost):  # then it comes back when its lease expires
                await self._inner.nack(lease, delay_s=ttl_s)
        return taken

    async def renew(self, lease: TaskLease, *, alive: bool = False) -> TaskLease:
        renewed = await self._inner.renew(await self._stored(lease), alive=alive)
        return replace(renewed, task=lease.task)

    async def ack(self, leases: Iterable[TaskLease]) -> None:
        done = list(leases)
        await self._inner.ack([await self._stored(lease) for lease in done])
        for lease in done:
            self._let_go(lease)

    async def nack(self, lease: TaskLease, *, delay_s: float = 0.0, alive: bool = True) -> None:
        await self._inner.nack(await self._stored(lease), delay_s=delay_s, alive=alive)
        self._let_go(lease)

    async def withdraw(self, task: Task) -> bool:
        return await self._inner.withdraw(await stored_task(self._values, task))

    async def find(self, queue: str, eid: Eid, *, limit: int = 100) -> Sequence[TaskView]:
        return [await self._view(view) for view in await self._inner.find(queue, eid, limit=limit)]

    async def list(self, queue: str, *, limit: int = 100) -> Sequence[TaskView]:
        return [await self._view(view) for view in await self._inner.list(queue, limit=limit)]

    async def queues(self) -> Sequence[str]:
        return await self._inner.queues()

    async def promote(self, queue: str, now: Timestamp) -> int:
        return await self._inner.promote(queue, now)

    async def bury(self, lease: TaskLease, cause: str, at: Timestamp) -> None:
        await self._inner.bury(await self._stored(lease), cause, at)
        self._let_go(lease)

    async def dead(self, queue: str, *, limit: int = 100) -> Sequence[DeadTask]:
        found = await self._inner.dead(queue, limit=limit)
        return [replace(dead, task=await clear_task(self._values, dead.task)) for dead in found]

    async def revive(self, dead: DeadTask) -> bool:
        return await self._inner.revive(replace(dead, task=await stored_task(self._values, dead.task)))

    async def discard(self, dead: DeadTask) -> bool:
        return await self._inner.discard(replace(dead, task=await stored_task(self._values, dead.task)))

    async def settings(self, queue: str) -> QueueSettings:
        return await self._inner.settings(queue)

    async def configure(self, queue: str, settings: QueueSettings) -> None:
        await self._inner.configure(queue, settings)

    async def _view(self, view: TaskView) -> TaskView:
        return replace(view, task=await clear_task(self._values, view.task))

    def _hold(self, lease: TaskLease) -> None:
        self._held[lease.task.task_id, lease.epoch] = lease.task.payload
        if len(self._held) > _REMEMBERED:
            self._held.popitem(last=False)

    def _let_go(self, lease: TaskLease) -> None:
        self._held.pop((lease.task.task_id, lease.epoch), None)

    async def _stored(self, lease: TaskLease) -> TaskLease:
        key = lease.task.task_id, lease.epoch
        if key in self._held:
            return replace(lease, task=replace(lease.task, payload=self._held[key]))
        return replace(lease, task=await stored_task(self._values, lease.task))
