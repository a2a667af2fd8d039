"""``Launcher``: the effects of one owner's frames, held back until their barrier is durable.

**Effect barrier.** A frame has no effect before every outcome that the code had seen when it made the frame is
durable. So ``frame.started`` of the next step rides in the commit that holds the outcome of the last one, and k
steps in a row cost k commits. The cancel of a child that the code gave up waits for its barrier as well: a crash
before it is durable may lead to another decision.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Any

import structlog

from flowli import codec
from flowli.domain.data import Data
from flowli.domain.errors import BackendUnavailable, OutcomeUnknown, UsageError
from flowli.domain.execution import Execution, ParentClose
from flowli.domain.ids import Eid
from flowli.domain.memo import JournalFold
from flowli.runtime.owner.children import start_child
from flowli.runtime.owner.commits import Commits
from flowli.runtime.owner.detached import detach, withdraw
from flowli.runtime.owner.events import AttemptEnded, EffectDone, Event, Lost
from flowli.runtime.owner.patience import patiently
from flowli.runtime.owner.steps import Returned, StepRunner
from flowli.runtime.progress import Progress
from flowli.runtime.protocols.cancel_child import cancel_child
from flowli.runtime.protocols.detached import run_of
from flowli.runtime.protocols.retry import Failed
from flowli.runtime.replay.calls import CallEffect, LiveFrame, RunStep, StartChild
from flowli.runtime.services import Services
from flowli.runtime.step import StepInfo, StepScope
from flowli.runtime.worker.renewal import LeaseGuard

__all__ = ["Launcher"]

_log = structlog.get_logger("flowli.owner")
_FIRST_DELAY_S, _LAST_DELAY_S = 0.2, 5.0
_STOP_S = 1.0


@dataclass(frozen=True, slots=True)
class _Aftermath:
    """What is done about a frame that was given up; ``need`` as of a frame.

    Attributes:
        act: is safe to repeat.
        starting: the start of what is to be stopped, if that is under way: it is not torn apart.
    """

    act: Callable[[], Awaitable[None]]
    need: int
    starting: asyncio.Task[None] | None = None


class Launcher:
    """See the module's docstring.

    Args:
        fold: the journal so far.
        tell: takes what has become of an effect.
    """

    def __init__(
        self,
        services: Services,
        runner: StepRunner,
        execution: Execution,
        fold: Callable[[], JournalFold],
        commits: Commits,
        tell: Callable[[Event], None],
    ) -> None:
        self._services = services
        self._runner = runner
        self._execution = execution
        self._fold = fold
        self._commits = commits
        self._tell = tell
        self._held: deque[LiveFrame | _Aftermath] = deque()
        self._running: dict[LiveFrame, asyncio.Task[None]] = {}
        self._scopes: dict[LiveFrame, StepScope] = {}
        self._beside: set[asyncio.Task[None]] = set()

    @property
    def idle(self) -> bool:
        """Nothing is under way or held back."""
        return not (self._running or self._held or self._beside)

    @property
    def running(self) -> bool:
        """Whether an effect is under way."""
        return bool(self._running)

    def hold(self, frame: LiveFrame) -> None:
        """Launch ``frame`` once its barrier is durable and there is room."""
        if frame not in self._held:
            self._held.append(frame)

    def launch(self) -> bool:
        """Launch what may be launched; True if a commit is needed for the rest.

        Raises:
            LeaseLost: this process's own clock says that the lease may be over.
        """
        waiting: deque[LiveFrame | _Aftermath] = deque()
        barred = False
        while self._held:
            held = self._held.popleft()
            if isinstance(held, LiveFrame) and held.ended:
                continue
            if held.need > self._commits.durable:
                barred = True
                waiting.append(held)
            elif isinstance(held, _Aftermath):
                self.beside(self._clear_up(held))
            elif len(self._running) >= self._services.config.max_in_flight:
                waiting.append(held)
            else:
                self._guard.check()
                self._start(held)
        self._held = waiting
        return barred

    @property
    def _guard(self) -> LeaseGuard:
        guard = self._commits.guard
        assert guard is not None
        return guard

    def _start(self, frame: LiveFrame) -> None:
        frame.launched = True
        match frame.action:
            case RunStep(queue=str(queue)) as step:
                work = self._effect(frame, lambda: self._detach(frame, step, queue))
            case RunStep() as step:
                scope = self._scopes[frame] = self._scope(frame)
                attempt = self._attempt(frame, step, scope)
                self._running[frame] = asyncio.create_task(attempt, context=self._runner.context(scope))
                return
            case StartChild() as child:
                work = self._effect(frame, lambda: start_child(self._services, self._execution, frame, child))
            case CallEffect(perform):
                work = self._effect(frame, lambda: perform(frame))
            case _:
                raise AssertionError(f"{frame.describe()} has no effect")
        self._running[frame] = asyncio.create_task(work)

    def _scope(self, frame: LiveFrame) -> StepScope:
        execution, guard = self._execution, self._guard
        last = guard.progress_of(frame.fid)
        progress = None if last is None else last.value
        info = StepInfo(execution.eid, frame.fid, frame.attempt, guard.epoch, execution.workflow, progress)

        def said(progress: Data) -> None:
            guard.said(Progress(frame.fid, frame.attempt, progress, self._services.world.now()))

        return StepScope(info, said, trace=execution.created_by.trace)

    async def _attempt(self, frame: LiveFrame, action: RunStep, scope: StepScope) -> None:
        try:
            self._tell(AttemptEnded(frame, await self._runner.attempt(action, scope, self._guard.check)))
        except Exception as error:
            self._tell(Lost(error))

    async def _effect(self, frame: LiveFrame, perform: Callable[[], Awaitable[Data]]) -> None:
        delay_s = _FIRST_DELAY_S
        while True:
            try:
                self._guard.check()
                outcome: Returned | Failed = Returned(await perform())
            except (BackendUnavailable, OutcomeUnknown) as error:
                # a storage error is never an outcome; every effect is safe to repeat
                _log.warning("an effect waits for the storage", fid=frame.fid, error=str(error), retry_in_s=delay_s)
                frame.relaunched = True
                await self._services.world.sleep(delay_s)
                delay_s = min(2 * delay_s, _LAST_DELAY_S)
                continue
            except UsageError as error:
                outcome = Failed(codec.error_info(error), retryable=False, retry_at=None)
            except Exception as error:
                self._tell(Lost(error))
                return
            self._tell(EffectDone(frame, outcome))
            return

    def ended(self, frame: LiveFrame) -> bool:
        """An effect has ended; True if it was under way, so that its outcome counts."""
        self._scopes.pop(frame, None)
        return self._running.pop(frame, None) is not None and not frame.ended

    def give_up(self, frame: LiveFrame, need: int) -> None:
        """The code no longer waits for ``frame``: stop what can be stopped.

        Args:
            need: journal sequence number of the entry that says so.
        """
        scope = self._scopes.pop(frame, None)
        if scope is not None:
            scope.cancelled.set()
            self._guard.step_ended(frame.fid)
        task = self._running.pop(frame, None)
        begun = frame.launched or frame.relaunched
        match frame.action:
            case StartChild(eid, queue=queue, on_parent_close=ParentClose.CANCEL) if begun:
                self._held.append(_Aftermath(lambda: self._ask_to_cancel(eid, queue), need, task))
            case StartChild() if begun and task is not None:
                self.beside(_outlast(task))
            case RunStep(queue=str(queue)) if begun:
                run = run_of(self._execution.eid, self._fold().frames[frame.fid])
                self._held.append(_Aftermath(lambda: withdraw(self._services, self._execution, run, queue), need, task))
            case _ if task is not None:
                task.cancel()
            case _:
                pass

    def cancel_child(self, eid: Eid) -> None:
        """Ask a child to cancel that was given up before this owner."""
        self._held.append(_Aftermath(lambda: self._ask_to_cancel(eid, None), 0))

    async def _clear_up(self, held: _Aftermath) -> None:
        if held.starting is not None:
            await held.starting
        await patiently(self._services, self._guard, held.act)

    async def _ask_to_cancel(self, eid: Eid, queue: str | None) -> None:
        services = self._services
        await cancel_child(services, self._execution, eid, by=services.provenance(), queue=queue)

    async def _detach(self, frame: LiveFrame, action: RunStep, queue: str) -> Data:
        run, epoch = run_of(self._execution.eid, self._fold().frames[frame.fid]), self._guard.epoch
        return await detach(self._services, self._execution, run, action, queue, epoch, again=frame.relaunched)

    def beside(self, work: Coroutine[Any, Any, None]) -> None:
        """Run ``work`` beside the frames; the execution does not suspend before it has ended."""
        task = asyncio.create_task(work)
        self._beside.add(task)
        task.add_done_callback(self._beside_done)

    def _beside_done(self, task: asyncio.Task[None]) -> None:
        self._beside.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._tell(Lost(error))

    async def stop(self) -> None:
        """Stop everything that is under way; outcomes that come later are dropped."""
        starting = [held.starting for held in self._held if isinstance(held, _Aftermath) and held.starting]
        self._held = deque(held for held in self._held if isinstance(held, LiveFrame))
        for scope in self._scopes.values():
            scope.cancelled.set()
        tasks = [*self._running.values(), *self._beside, *starting]
        for task in tasks:
            task.cancel()
        for frame in self._running:
            # it may be done or not: it does not wait for something that may not be there
            frame.launched, frame.relaunched = False, True
        self._running.clear()
        self._scopes.clear()
        if tasks:
            await self._ended(asyncio.gather(*tasks, return_exceptions=True))

    async def _ended(self, rest: asyncio.Future[Any]) -> None:
        """Give what was cancelled a moment to end; who does not stop runs on without effect here."""
        alarm = asyncio.ensure_future(self._services.world.sleep(_STOP_S))
        await asyncio.wait((rest, alarm), return_when=asyncio.FIRST_COMPLETED)
        alarm.cancel()
        if not rest.done():
            _log.warning("a step does not stop; its outcome is dropped", eid=str(self._execution.eid))


async def _outlast(task: asyncio.Task[None]) -> None:
    await task
