"""``Closing``: acks what is done, gives back what is not. Nobody waits for it but a drain."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, assert_never

import structlog

from flowli.domain.errors import BackendError, LeaseLost
from flowli.domain.ports import Lease
from flowli.domain.tasks import Task
from flowli.runtime.observe.tasks import given_back, set_aside
from flowli.runtime.protocols.bury import bury
from flowli.runtime.protocols.standing import Standing
from flowli.runtime.services import Services
from flowli.runtime.worker.fates import Ack, Fate, GiveBack, SetAside
from flowli.runtime.worker.leases import ExecutionLeases
from flowli.runtime.worker.renewal import LeaseGuard, Renewals, TaskGuard

__all__ = ["Closing"]

_log = structlog.get_logger("flowli.worker")


class Closing:
    """A task is renewed until it is acked: only then is its guard forgotten. A crash before it: it is taken again."""

    def __init__(self, services: Services, renewals: Renewals, leases: ExecutionLeases) -> None:
        self._services = services
        self._renewals = renewals
        self._leases = leases
        self._under_way: set[asyncio.Task[None]] = set()
        self._acks: list[TaskGuard] = []
        self._acking = False

    @property
    def under_way(self) -> frozenset[asyncio.Task[None]]:
        """What is still to be done."""
        return frozenset(self._under_way)

    def close(self, guard: TaskGuard, fate: Fate) -> None:
        """Begin to do what ``fate`` says."""
        match fate:
            case Ack(after):
                # one that has failed already is no reason to ack
                unsure = [append for append in after if not _is_durable(append)]
                if unsure:
                    self._begin(self._ack_after(guard, unsure))
                else:
                    self._ack(guard)
            case GiveBack(why=why):
                services = self._services
                services.observers.tell(given_back(guard.lease.task, why.value, services.world.now()))
                self._begin(self._give_back(guard, fate))
            case SetAside(cause):
                self._begin(self._set_aside(guard, cause))
            case _:
                assert_never(fate)

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)

    async def _ack_after(self, guard: TaskGuard, appends: list[asyncio.Task[int]]) -> None:
        """Twins first: an append that fails for good leaves the task to be taken again."""
        done = await asyncio.gather(*appends, return_exceptions=True)
        error = next((one for one in done if isinstance(one, BaseException)), None)
        if error is None:
            self._ack(guard)
        else:
            self._failed(guard, error)

    def _ack(self, guard: TaskGuard) -> None:
        """Ack together with whatever else is done by now."""
        self._acks.append(guard)
        if not self._acking:
            self._acking = True
            self._begin(self._ack_all())

    async def _ack_all(self) -> None:
        try:
            while self._acks:
                guards, self._acks = self._acks, []
                try:
                    await self._services.ports.queue.ack([guard.lease for guard in guards])
                except BackendError as error:
                    for guard in guards:
                        self._failed(guard, error)
                for guard in guards:
                    self._renewals.forget(guard)
        finally:
            self._acking = False

    async def _give_back(self, guard: TaskGuard, fate: GiveBack) -> None:
        task_id = guard.lease.task.task_id
        try:
            if fate.delay_s is None:
                _log.warning("task left to expire", task=task_id, reason=fate.reason)
            else:
                _log.debug("task given back", task=task_id, reason=fate.reason)
                await self._services.ports.queue.nack(guard.lease, delay_s=fate.delay_s, alive=fate.alive)
        except (BackendError, LeaseLost) as error:
            self._failed(guard, error)
        finally:
            self._renewals.forget(guard)

    async def _set_aside(self, guard: TaskGuard, cause: str) -> None:
        lease, services = guard.lease, self._services
        try:
            if await bury(services, lease, cause, lambda standing: self._acquire(standing, lease.task)):
                _log.error("task set aside", task=lease.task.task_id, cause=cause)
                services.observers.tell(set_aside(lease.task, cause, services.world.now()))
            else:
                delay_s = services.config.exec_ttl_s
                await services.ports.queue.nack(lease, delay_s=delay_s, alive=False)
        except (BackendError, LeaseLost) as error:
            self._failed(guard, error)
        finally:
            self._renewals.forget(guard)

    async def _acquire(self, standing: Standing, task: Task) -> Lease | None:
        got = await self._leases.acquire(standing.execution.eid, task, free_epoch=standing.fold.released_epoch)
        return got.lease if isinstance(got, LeaseGuard) else None

    def _failed(self, guard: TaskGuard, error: BaseException) -> None:
        task_id = guard.lease.task.task_id
        _log.warning("task not acked; it will be taken again", task=task_id, error=str(error))
        self._renewals.forget(guard)


def _is_durable(append: asyncio.Task[int]) -> bool:
    return append.done() and not append.cancelled() and append.exception() is None
