"""``DetachedSteps``: runs RUN_STEP tasks for one worker (steps 5 to 9 of ``protocols.detached``)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import structlog

from flowli import codec
from flowli.domain.data import Data
from flowli.domain.entries import START
from flowli.domain.errors import BackendError, InvalidValue, LeaseLost
from flowli.domain.memo import JournalFold
from flowli.domain.ports import Ports
from flowli.domain.retry import NO_RETRY
from flowli.runtime.owner.patience import patiently
from flowli.runtime.owner.steps import Raised, Returned, StepRunner
from flowli.runtime.progress import Progress
from flowli.runtime.protocols.detached import (
    StepOrder,
    StepRun,
    read_step_end,
    record_step_end,
    run_of,
    tell_owner,
)
from flowli.runtime.protocols.step_end import StepEnd
from flowli.runtime.replay.calls import RunStep
from flowli.runtime.services import Services
from flowli.runtime.step import StepInfo, StepScope
from flowli.runtime.worker.fates import Ack, Fate, GiveBack, SetAside, Skip
from flowli.runtime.worker.progress import ProgressSign
from flowli.runtime.worker.renewal import TaskGuard

__all__ = ["DetachedSteps"]

_log = structlog.get_logger("flowli.steps")
_STOP_S = 1.0


class DetachedSteps:
    """See the module's docstring."""

    def __init__(self, services: Services, runner: StepRunner) -> None:
        self._services = services
        self._runner = runner
        self._stopping = False
        self._running: dict[TaskGuard, StepRun] = {}

    async def handle(self, guard: TaskGuard) -> Fate:
        """Run the task under ``guard``, unless that has been done or nobody waits for it."""
        config = self._services.config
        try:
            order = StepOrder.of(guard.lease.task)
        except InvalidValue as error:
            return SetAside(f"its payload is not that of a detached step: {error}")
        try:
            return await self._handle(guard, order)
        except LeaseLost as lost:
            return GiveBack(str(lost), None, why=Skip.LEASE_LOST)
        except BackendError as error:
            return GiveBack(f"the storage failed: {error}", config.task_ttl_s / 3, why=Skip.STORAGE)

    async def _handle(self, guard: TaskGuard, order: StepOrder) -> Fate:
        services = self._services
        ports, run = services.ports, order.run
        end = await read_step_end(ports, run)
        if end is None:
            awaited = _Awaited(ports, run)
            if not await awaited.still():
                return Ack()
            fn = services.registry.find_step(order.step)
            if fn is None:
                what = f"step '{order.step}'"
                _log.warning("no such step here; its task stays for a worker that knows it", missing=what)
                return GiveBack(f"{what} is not registered here", services.config.task_ttl_s, why=Skip.UNKNOWN_CODE)
            ended = await self._run(guard, order, fn, awaited)
            if not isinstance(ended, StepEnd):
                return ended
            guard.check()
            found = ended
            end = await patiently(services, guard, lambda: record_step_end(ports, run, found))
        known, by = end, services.provenance()
        await patiently(services, guard, lambda: tell_owner(ports, services.hub, order, known, by))
        return Ack()

    async def _run(
        self, guard: TaskGuard, order: StepOrder, fn: Callable[..., Any], awaited: _Awaited
    ) -> StepEnd | Fate:
        """One attempt: its end, or the fate of a task whose attempt was stopped."""
        services, run, sign = self._services, order.run, ProgressSign(self._services, order.run)

        def said(progress: Data) -> None:
            sign.said(Progress(run.fid, run.attempt, progress, services.world.now()))

        before = await sign.before()
        info = StepInfo(run.eid, run.fid, run.attempt, run.epoch, order.workflow, before)
        scope = StepScope(info, said, trace=guard.lease.task.enqueued_by.trace, detached=True)
        hint = codec.return_hint(fn)
        action = RunStep(fn, order.arguments, NO_RETRY, order.timeout_s, hint, order.heartbeat_s)
        context = self._runner.context(scope)
        guard.strict, guard.beside = True, sign.show
        guard.on_lost = lambda: services.hub.changed(run.eid)
        work = asyncio.create_task(self._runner.outcome(action, scope, guard.check), context=context)
        watch = asyncio.create_task(self._watch(guard, order, awaited))
        self._running[guard] = run
        try:
            await asyncio.wait((work, watch), return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                await self._stop(work, scope)
                return watch.result()
            return self._end(work.result())
        finally:
            del self._running[guard]
            work.cancel()
            watch.cancel()
            guard.strict, guard.beside = False, None
            if not guard.lost:
                await sign.remove()

    def _end(self, outcome: Returned | Raised) -> StepEnd:
        at, worker = self._services.world.now(), self._services.site.worker_id
        match outcome:
            case Returned(value):
                return StepEnd(at, worker, value)
            case Raised(error):
                return StepEnd.raised(error, at, worker)

    async def _watch(self, guard: TaskGuard, order: StepOrder, awaited: _Awaited) -> Fate:
        """Returns when the attempt is to be stopped, with what becomes of its task."""
        services = self._services
        while True:
            await services.hub.wait_end(order.run.eid, services.config.task_ttl_s / 3)
            if guard.expired:
                return GiveBack("the lease is lost, or was not renewed in time", None, why=Skip.LEASE_LOST)
            if self._stopping:
                return GiveBack("the worker stops", 0.0, alive=True, why=Skip.STOPPING)
            try:
                if not await awaited.still():
                    return Ack()
            except BackendError as error:
                _log.warning("a detached step cannot see whether it is waited for", error=str(error))

    async def _stop(self, work: asyncio.Task[Returned | Raised], scope: StepScope) -> None:
        """Ask the step to stop and give it a moment; who does not stop runs on without effect here."""
        scope.cancelled.set()
        work.cancel()
        alarm = asyncio.ensure_future(self._services.world.sleep(_STOP_S))
        await asyncio.wait((work, alarm), return_when=asyncio.FIRST_COMPLETED)
        alarm.cancel()
        if not work.done():
            _log.warning("a step does not stop; its outcome is dropped", eid=str(scope.info.eid), fid=scope.info.fid)

    def stop(self) -> None:
        """Stop what runs and give it back: another worker runs it again."""
        self._stopping = True
        for run in self._running.values():
            self._services.hub.changed(run.eid)


class _Awaited:
    """Whether an execution waits for a run, by its journal; only what is new is read."""

    def __init__(self, ports: Ports, run: StepRun) -> None:
        self._ports = ports
        self._run = run
        self._fold = JournalFold()
        self._position = START

    async def still(self) -> bool:
        """Look; without a journal the execution has ended long ago."""
        found = await self._ports.journal.read(self._run.eid, after=self._position)
        for entry in found.entries:
            self._fold.add(entry)
        self._position = found.position
        frame = self._fold.frames.get(self._run.fid)
        if frame is None or frame.status.ended or self._fold.end is not None:
            return False
        return run_of(self._run.eid, frame) == self._run and frame.attempts[-1].ended_at is None
