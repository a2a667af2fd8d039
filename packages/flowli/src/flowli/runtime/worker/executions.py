"""``Executions``: the executions that one worker owns, and those that it keeps warm."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import structlog

from flowli.domain.entries import ControlEntry, ExecutionStarted, JournalEntry, Position
from flowli.domain.errors import BackendError, FlowliError, LeaseLost
from flowli.domain.execution import Execution
from flowli.domain.ids import Eid
from flowli.domain.ports import Acquired, Holder, Lease, LeaseRequest
from flowli.domain.tasks import Task, TaskKind
from flowli.runtime.owner.events import Stop
from flowli.runtime.owner.owner import Owner, Release
from flowli.runtime.owner.steps import StepRunner
from flowli.runtime.protocols.finish import spread_end
from flowli.runtime.protocols.run import Behind, Looked, Verdict, look, take_over
from flowli.runtime.protocols.start import created
from flowli.runtime.protocols.twins import twins
from flowli.runtime.registry import Workflow
from flowli.runtime.services import Services
from flowli.runtime.worker.renewal import LeaseGuard, Renewals

__all__ = ["Ack", "Executions", "Fate", "GiveBack"]

_log = structlog.get_logger("flowli.worker")


@dataclass(frozen=True, slots=True)
class Ack:
    """The task is done; remove it when ``after`` are durable."""

    after: tuple[asyncio.Task[int], ...] = ()


@dataclass(frozen=True, slots=True)
class GiveBack:
    """The task is not done.

    Attributes:
        reason: for the log.
        delay_s: when it may be taken again; None writes nothing: its lease expires.
    """

    reason: str
    delay_s: float | None


Fate: TypeAlias = Ack | GiveBack


@dataclass(slots=True, eq=False)
class _Active:
    """An execution that this worker is dealing with.

    Attributes:
        early: tasks that came before there was an owner to tell.
        posted: appends to the control log that the acks wait for.
        done: the fate of every task that was handed to it.
    """

    done: asyncio.Future[Fate]
    owner: Owner | None = None
    early: list[Task] = field(default_factory=list)
    posted: list[asyncio.Task[int]] = field(default_factory=list)


class Executions:
    """Runs START and RESUME tasks; see ``protocols.run``."""

    def __init__(self, services: Services, runner: StepRunner, renewals: Renewals) -> None:
        self._services = services
        self._runner = runner
        self._renewals = renewals
        self._active: dict[Eid, _Active] = {}
        self._warm: OrderedDict[Eid, Owner] = OrderedDict()
        self._holder = Holder(f"{services.site.worker_id}/{services.world.token()[:8]}", services.site)
        self._codes = {(workflow.name, workflow.version): workflow.code_ref for workflow in services.registry}

    @property
    def active(self) -> int:
        """How many executions are owned now."""
        return len(self._active)

    @property
    def warm(self) -> int:
        """How many suspended executions are kept in memory."""
        return len(self._warm)

    async def handle(self, task: Task) -> Fate:
        """Do what a START or RESUME asks for; returns what is to become of the task."""
        while (active := self._active.get(task.target)) is not None:
            owner = active.owner
            if owner is not None and owner.sealed:
                await asyncio.wait((active.done,))
                continue
            if task.kind is TaskKind.RESUME:
                if owner is None:
                    active.early.append(task)
                else:
                    owner.listener.take_resume(task)
            return await asyncio.shield(active.done)
        active = self._active[task.target] = _Active(asyncio.get_running_loop().create_future())
        fate: Fate = GiveBack("the worker was stopped", None)
        try:
            fate = await self._run(task, active)
        except Behind as behind:
            fate = GiveBack(str(behind), 0.0)
        except LeaseLost as lost:
            fate = GiveBack(str(lost), None)
        except BackendError as error:
            fate = GiveBack(f"the storage failed: {error}", self._services.config.task_ttl_s / 3)
        except FlowliError as error:
            fate = GiveBack(str(error), self._services.config.task_ttl_s)
        finally:
            del self._active[task.target]
            active.done.set_result(fate)
        return fate

    async def _run(self, task: Task, active: _Active) -> Fate:
        warm = self._warm.pop(task.target, None)
        if warm is not None:
            guard = await self._acquire_next(warm, task)
            if guard is not None:
                return await self._own(warm, guard, task, active)
            await warm.close()
        services = self._services
        looked = await look(services.ports, task, self._codes)
        execution, fold = looked.execution, looked.fold
        if execution is None or fold is None:
            return Ack()
        if looked.verdict is Verdict.ENDED:
            await spread_end(services, execution, fold, services.provenance())
            services.hub.ended(execution.eid)
        if looked.verdict is not Verdict.RUN:
            # whoever journaled it may have died before its twin was durable
            last = twins(looked.entries, execution.eid, after_seq=fold.lifecycle_seq - 1)
            return Ack((services.announcer.post(last),)) if last else Ack()
        workflow = services.registry.find(execution.workflow, execution.version)
        if workflow is None:
            what = f"workflow '{execution.workflow}' version '{execution.version}'"
            _log.warning("no such workflow here; its task stays for a worker that knows it", missing=what)
            return GiveBack(f"{what} is not registered here", services.config.task_ttl_s)
        return await self._run_cold(execution, workflow, task, looked, active)

    async def _run_cold(
        self, execution: Execution, workflow: Workflow, task: Task, looked: Looked, active: _Active
    ) -> Fate:
        fold = looked.fold
        assert fold is not None
        guard = await self._acquire(execution, task, free_epoch=fold.released_epoch, seen=looked.lease)
        if guard is None:
            return GiveBack("the execution is owned elsewhere", self._services.config.task_ttl_s / 3)
        self._renewals.watch(guard)
        try:
            entries, position = await take_over(self._services, looked, guard.epoch, (task.reason,))
        finally:
            self._renewals.forget(guard)
        owner = self._owner(execution, workflow, entries, position)
        self._post(execution, entries[len(looked.entries) :], active)
        return await self._own(owner, guard, task, active)

    def _owner(
        self, execution: Execution, workflow: Workflow, entries: Sequence[JournalEntry], position: Position
    ) -> Owner:
        def committed(entries: Sequence[JournalEntry]) -> None:
            self._post(execution, entries, self._active[execution.eid])

        return Owner(self._services, self._runner, execution, workflow, entries, position, committed=committed)

    def _post(self, execution: Execution, entries: Sequence[JournalEntry], active: _Active) -> None:
        found = twins(entries, execution.eid)
        if entries and isinstance(entries[0].body, ExecutionStarted):
            # who asked for it may have died before its announcement was durable
            found.insert(0, ControlEntry(created(execution), execution.created_by))
        if found:
            active.posted.append(self._services.announcer.post(found))

    async def _acquire(
        self, execution: Execution, task: Task, *, free_epoch: int | None, seen: Lease | None
    ) -> LeaseGuard | None:
        guard, held = await self._try(execution.eid, free_epoch, seen)
        if guard is None and held is not None and task.kind is TaskKind.RESUME:
            by = self._services.provenance()
            wake = LeaseRequest(f"wake:{task.key}", "wake", by, data={"cause": task.key})
            await self._services.ports.ownership.request(execution.eid, wake)
        return guard

    async def _acquire_next(self, owner: Owner, task: Task) -> LeaseGuard | None:
        """The lease of a warm execution, if nobody owned it in between and the same code goes on."""
        fold = owner.session.fold
        seen = await self._services.ports.ownership.read(task.target)
        if seen is None or seen.epoch != fold.epoch or fold.parked is not None:
            return None
        if any(request.verb == "migrate" for request in seen.requests):
            return None
        guard, _ = await self._try(task.target, fold.released_epoch, seen)
        return guard

    async def _try(
        self, eid: Eid, free_epoch: int | None, seen: Lease | None
    ) -> tuple[LeaseGuard | None, Lease | None]:
        world, ttl_s = self._services.world, self._services.config.exec_ttl_s
        deadline_s = world.boottime_s() + ttl_s
        got = await self._services.ports.ownership.acquire(eid, self._holder, ttl_s, free_epoch=free_epoch, seen=seen)
        if isinstance(got, Acquired):
            return LeaseGuard(world, ttl_s, deadline_s, lease=got.lease), None
        return None, got.lease

    async def _own(self, owner: Owner, guard: LeaseGuard, task: Task, active: _Active) -> Fate:
        eid = owner.execution.eid
        active.owner = owner
        self._renewals.watch(guard)
        released: Release | None = None
        try:
            for resume in (task, *active.early) if task.kind is TaskKind.RESUME else active.early:
                owner.listener.take_resume(resume)
            released = await owner.own(guard)
        finally:
            self._renewals.forget(guard)
            owner.sealed = True
            if released is not Release.SUSPENDED:
                await owner.close()
        if released is Release.SUSPENDED:
            await self._keep(eid, owner)
        if released is Release.HANDED_OVER:
            return GiveBack("the worker goes down", 0.0)
        return Ack(tuple(active.posted))

    async def _keep(self, eid: Eid, owner: Owner) -> None:
        self._warm[eid] = owner
        while len(self._warm) > self._services.config.warm_limit:
            _, oldest = self._warm.popitem(last=False)
            await oldest.close()

    def stop(self, *, now: bool) -> None:
        """Ask every owner to hand its execution over; ``now`` without waiting for steps that are under way."""
        for active in self._active.values():
            if active.owner is not None:
                active.owner.tell(Stop(now))

    async def close(self) -> None:
        """Drop what is warm."""
        while self._warm:
            _, owner = self._warm.popitem()
            await owner.close()

    def abandon(self) -> None:
        """Drop every coroutine at once."""
        owners = [active.owner for active in self._active.values() if active.owner is not None]
        for owner in (*owners, *self._warm.values()):
            owner.session.loop.drop()
