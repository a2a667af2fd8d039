"""``Executions``: the executions that one worker owns, and those that it keeps warm."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta

import structlog

from flowli.domain.entries import START, ControlEntry, ExecutionStarted, JournalEntry, Position
from flowli.domain.errors import BackendError, FlowliError, LeaseLost, NotAllowed
from flowli.domain.execution import Execution
from flowli.domain.ids import Eid
from flowli.domain.memo import JournalFold
from flowli.domain.tasks import Task, TaskKind
from flowli.runtime.observe.events import LeaseWasLost
from flowli.runtime.observe.tasks import warm_sought
from flowli.runtime.owner.events import Stop
from flowli.runtime.owner.owner import Owner
from flowli.runtime.owner.release import Release
from flowli.runtime.owner.steps import StepRunner
from flowli.runtime.protocols.after_end import after_end
from flowli.runtime.protocols.causes import is_journaled
from flowli.runtime.protocols.deadline import renew_timeout
from flowli.runtime.protocols.run import Behind, Looked, Verdict, look, take_over
from flowli.runtime.protocols.standing import Standing
from flowli.runtime.protocols.start import created, take_start
from flowli.runtime.protocols.twins import twins
from flowli.runtime.protocols.wake import CodeCause
from flowli.runtime.registry import Workflow
from flowli.runtime.services import Services
from flowli.runtime.worker.active import Active
from flowli.runtime.worker.fates import Ack, Fate, GiveBack, SetAside, Skip
from flowli.runtime.worker.leases import ExecutionLeases
from flowli.runtime.worker.renewal import LeaseGuard, Renewals

__all__ = ["Executions"]

_log = structlog.get_logger("flowli.worker")
_ENDED_REMEMBERED = 4096
_OTHER_CODE_WAITS = timedelta(minutes=5)


class Executions:
    """Runs START and RESUME tasks; see ``protocols.run``."""

    def __init__(self, services: Services, runner: StepRunner, renewals: Renewals, leases: ExecutionLeases) -> None:
        self._services = services
        self._runner = runner
        self._renewals = renewals
        self._leases = leases
        self._stopping: Stop | None = None
        self._active: dict[Eid, Active] = {}
        self._warm: OrderedDict[Eid, Owner] = OrderedDict()
        self._undropped: set[Owner] = set()
        self._ended: OrderedDict[Eid, Sequence[asyncio.Task[int]]] = OrderedDict()
        self._codes = {(workflow.name, workflow.version): workflow.code_ref for workflow in services.registry}

    @property
    def active(self) -> int:
        """How many executions are owned now."""
        return len(self._active)

    @property
    def warm(self) -> int:
        """How many suspended executions are kept in memory."""
        return len(self._warm)

    async def handle(
        self, task: Task, *, again: bool, joined: Callable[[], None], progress: Callable[[], None]
    ) -> Fate:
        """Do what a START or RESUME asks for; returns what is to become of the task.

        Args:
            again: somebody took the task before.
            joined: called if the execution is dealt with already, so that the task only waits for that.
            progress: called when an outcome has become durable.
        """
        while (active := self._active.get(task.target)) is not None:
            if not active.open:
                await asyncio.wait((active.done,))
                continue
            joined()
            told = await active.join(task)
            if told is not None:
                return told
        active = self._active[task.target] = Active(asyncio.get_running_loop().create_future(), progress)
        fate: Fate = GiveBack("the worker was stopped", None, why=Skip.STOPPING)
        try:
            fate = await self._run(task, active, again)
        except LeaseLost as lost:
            self._stopped(active)
            now = self._services.world.now()
            self._services.observers.tell(LeaseWasLost(task.target, now, str(lost)))
            fate = GiveBack(str(lost), None, why=Skip.LEASE_LOST)
        except BackendError as error:
            self._stopped(active)
            fate = GiveBack(f"the storage failed: {error}", self._services.config.task_ttl_s / 3, why=Skip.STORAGE)
        except FlowliError as error:
            self._stopped(active)
            fate = GiveBack(str(error), self._services.config.task_ttl_s)
        finally:
            del self._active[task.target]
            active.end(fate)
        return fate

    def _stopped(self, active: Active) -> None:
        if active.guard is not None:
            self._leases.left(active.guard)

    async def _run(self, task: Task, active: Active, again: bool) -> Fate:
        if task.target in self._ended and (done := self._after(task.target)) is not None:
            return done
        warm = self._warm.pop(task.target, None)
        if task.kind is TaskKind.RESUME:
            self._services.observers.tell(warm_sought(task, warm is not None, len(self._warm), self._services.world))
        if warm is not None:
            return await self._run_warm(warm, task, active)
        if task.kind is TaskKind.START:
            return await self._run_start(task, active, again)
        return await self._run_looked(task, active)

    async def _run_warm(self, warm: Owner, task: Task, active: Active) -> Fate:
        """Go on in place if nobody owned it in between and the same code goes on."""
        fold, kept = warm.session.fold, False
        try:
            if is_journaled(task, fold):
                kept = True
                await self._keep(warm)
                return Ack()
            got = await self._leases.acquire(task.target, task, free_epoch=fold.released_epoch, seen=warm.guard.lease)
            if isinstance(got, LeaseGuard):
                active.guard = got
                moved = any(request.verb == "migrate" for request in got.lease.requests)
                kept = got.epoch == fold.epoch + 1 and not moved
        finally:
            if not kept:
                await self._drop(warm)
        return await (self._own(warm, task, active) if kept else self._run_looked(task, active))

    async def _run_start(self, task: Task, active: Active, again: bool) -> Fate:
        """A START: the first owner reads no journal, since a lease that it creates proves that there is none."""
        services = self._services
        oldest = services.world.now() + timedelta(seconds=-services.config.archive_ttl_s)
        began_s = services.world.boottime_s()
        try:
            execution = await take_start(services.ports, task, journal_empty=True, oldest=oldest)
        except NotAllowed as error:
            return SetAside(str(error))
        if execution is None:
            return Ack()
        await renew_timeout(services, execution)
        workflow = services.registry.find(execution.workflow, execution.version)
        if workflow is None:
            return self._unknown(execution)
        # who held it before may have left progress there
        seen = await services.ports.ownership.read(execution.eid) if again else None
        got = await self._leases.acquire(execution.eid, task, seen=seen)
        # a process that stood still meanwhile may hold the record of what has ended and was retired since
        fresh = services.world.boottime_s() - began_s < services.config.retire_grace_s / 2
        if isinstance(got, LeaseGuard):
            active.guard = got
            if got.epoch == 1 and execution.origin is None and fresh:
                looked = Looked(Verdict.RUN, execution, (), START, JournalFold())
                return await self._run_cold(looked, workflow, task, active)
        return await self._run_looked(task, active, record=execution if fresh else None)

    async def _run_looked(self, task: Task, active: Active, *, record: Execution | None = None) -> Fate:
        """Run from what the journal says; the lease may be held already."""
        services = self._services
        if active.guard is not None:
            self._renewals.watch(active.guard)
        try:
            held = active.guard.lease if active.guard is not None else None
            looked = await look(services.ports, task, self._codes, record=record, lease=held)
            execution, fold = looked.execution, looked.fold
            workflow = None if execution is None else services.registry.find(execution.workflow, execution.version)
            if looked.verdict is not Verdict.RUN or workflow is None:
                if active.guard is not None:
                    await self._leases.release(active.guard)
                missing = execution is not None and looked.verdict is Verdict.RUN
                if looked.verdict is Verdict.NOTHING and self._is_for_other_code(task, execution):
                    return GiveBack(
                        "it is for a worker with other code", services.config.task_ttl_s, why=Skip.UNKNOWN_CODE
                    )
                return self._unknown(execution) if missing and execution else await self._rest(looked)
        finally:
            if active.guard is not None:
                self._renewals.forget(active.guard)
        assert execution is not None
        assert fold is not None
        if active.guard is None:
            seen = looked.lease
            if fold.released_epoch is None and seen is None:
                seen = await services.ports.ownership.read(task.target)
            if seen is not None and await self._leases.carried_by_another(task, execution, seen):
                delay_s = self._leases.delay_s(task)
                return Ack() if task.reason == "expired" else GiveBack("another task carries it on", delay_s)
            got = await self._leases.acquire(task.target, task, free_epoch=fold.released_epoch, seen=seen)
            if not isinstance(got, LeaseGuard):
                if is_journaled(task, fold) and not self._leases.carries(task, got):
                    return Ack()
                await self._leases.wake(task, got)
                return GiveBack("the execution is owned elsewhere", self._leases.delay_s(task), why=Skip.ELSEWHERE)
            active.guard = got
        return await self._run_cold(looked, workflow, task, active)

    async def _rest(self, looked: Looked) -> Fate:
        """Nothing is to be run; whoever journaled that may have died before what follows it was done."""
        execution, fold = looked.execution, looked.fold
        if execution is None or fold is None:
            return Ack()
        if looked.verdict is Verdict.ENDED:
            await after_end(self._services, Standing(execution, looked.entries, looked.position, fold))
            self._remember_end(execution.eid, ())
            return Ack()
        last = twins(looked.entries, execution.eid, after_seq=fold.lifecycle_seq - 1)
        return Ack((self._services.announcer.post(last),)) if last else Ack()

    def _is_for_other_code(self, task: Task, execution: Execution | None) -> bool:
        """Whether a worker with the code that the task names may still come to take it."""
        if task.reason != CodeCause.reason or execution is None:
            return False
        mine = self._codes.get((execution.workflow, execution.version), "")
        waits = self._services.world.now() < task.enqueued_by.at + _OTHER_CODE_WAITS
        return waits and task.key != CodeCause(mine).key

    def _unknown(self, execution: Execution) -> Fate:
        what = f"workflow '{execution.workflow}' version '{execution.version}'"
        _log.warning("no such workflow here; its task stays for a worker that knows it", missing=what)
        return GiveBack(f"{what} is not registered here", self._services.config.task_ttl_s, why=Skip.UNKNOWN_CODE)

    async def _run_cold(self, looked: Looked, workflow: Workflow, task: Task, active: Active) -> Fate:
        guard, execution = active.guard, looked.execution
        assert guard is not None
        assert execution is not None
        while True:
            self._renewals.watch(guard)
            try:
                entries, position = await take_over(self._services, looked, guard.epoch, (task.reason,))
                self._post(execution, entries[len(looked.entries) :], active)
                owner = self._owner(execution, workflow, entries, position)
                return await self._own(owner, task, active)
            except Behind:
                # the commit that came first belongs to the journal: the code runs again, from there
                found = await self._services.ports.journal.read(execution.eid)
                fold = JournalFold(found.entries)
                looked = replace(looked, entries=found.entries, position=found.position, fold=fold)
                if fold.end is not None:
                    return await self._rest(replace(looked, verdict=Verdict.ENDED))
            finally:
                self._renewals.forget(guard)

    def _owner(
        self, execution: Execution, workflow: Workflow, entries: Sequence[JournalEntry], position: Position
    ) -> Owner:
        def committed(entries: Sequence[JournalEntry]) -> None:
            active = self._active[execution.eid]
            self._post(execution, entries, active)
            active.landed(entries, owner.session.fold)

        owner = Owner(self._services, self._runner, execution, workflow, entries, position, committed=committed)
        self._undropped.add(owner)
        return owner

    def _post(self, execution: Execution, entries: Sequence[JournalEntry], active: Active) -> None:
        self._services.observers.committed(execution, entries)
        found = twins(entries, execution.eid)
        if entries and isinstance(entries[0].body, ExecutionStarted):
            # who asked for it may have died before its announcement was durable
            found.insert(0, ControlEntry(created(execution), execution.created_by))
        if found:
            active.posted.append(self._services.announcer.post(found))

    async def _own(self, owner: Owner, task: Task, active: Active) -> Fate:
        guard = active.guard
        assert guard is not None
        active.owner = owner
        self._renewals.watch(guard)
        released: Release | None = None
        try:
            for resume in (task, *active.early) if task.kind is TaskKind.RESUME else active.early:
                owner.listener.take_resume(resume)
            active.early.clear()
            if self._stopping is not None:
                owner.tell(self._stopping)
            released = await owner.own(guard)
        finally:
            self._renewals.forget(guard)
            owner.sealed = True
            if released is not Release.SUSPENDED or owner.session.fold.parked is not None:
                await self._drop(owner)
            else:
                await self._keep(owner)
        if released is Release.HANDED_OVER:
            return GiveBack("handed over", 0.0, alive=True, why=Skip.STOPPING)
        if released is Release.ENDED:
            self._remember_end(task.target, active.posted)
        return Ack(tuple(active.posted))

    async def _keep(self, owner: Owner) -> None:
        self._warm[owner.execution.eid] = owner
        while len(self._warm) > self._services.config.warm_limit:
            _, oldest = self._warm.popitem(last=False)
            await self._drop(oldest)

    async def _drop(self, owner: Owner) -> None:
        await owner.close()
        self._undropped.discard(owner)

    def _after(self, eid: Eid) -> Fate | None:
        """The fate of a further task of an execution that has ended here; None if what its end had to post was lost."""
        posted = self._ended[eid]
        if any(one.done() and (one.cancelled() or one.exception() is not None) for one in posted):
            del self._ended[eid]
            return None
        return Ack(tuple(posted))

    def _remember_end(self, eid: Eid, posted: Sequence[asyncio.Task[int]]) -> None:
        self._ended[eid] = posted
        if len(self._ended) > _ENDED_REMEMBERED:
            self._ended.popitem(last=False)

    def stop(self, *, now: bool) -> None:
        """Ask every owner to hand its execution over; ``now`` without waiting for steps that are under way."""
        self._stopping = Stop(now)
        for active in self._active.values():
            if active.owner is not None:
                active.owner.tell(self._stopping)

    async def close(self) -> None:
        """Drop what is warm."""
        while self._warm:
            _, owner = self._warm.popitem()
            await self._drop(owner)

    def abandon(self) -> None:
        """Drop every coroutine at once."""
        while self._undropped:
            self._undropped.pop().session.loop.drop()
