"""``Launcher``: the effects of one owner's frames, held back until their barrier is durable.

**Effect barrier.** A frame has no effect before every outcome that the code had seen when it made the frame is
durable. So ``frame.started`` of the next step rides in the commit that holds the outcome of the last one, and k
steps in a row cost k commits.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import structlog

from flowli import codec
from flowli.domain.data import Data
from flowli.domain.errors import BackendError, BackendUnavailable, FlowliError, OutcomeUnknown
from flowli.domain.execution import Execution
from flowli.runtime.owner.children import ask_child_to_cancel, start_child
from flowli.runtime.owner.commits import Commits
from flowli.runtime.owner.events import AttemptEnded, EffectDone, Event, Lost
from flowli.runtime.owner.steps import Returned, StepRunner
from flowli.runtime.protocols.retry import Failed
from flowli.runtime.replay.calls import CallEffect, LiveFrame, RunStep, StartChild
from flowli.runtime.services import Services
from flowli.runtime.step import StepInfo, StepScope

__all__ = ["Launcher"]

_log = structlog.get_logger("flowli.owner")
_FIRST_DELAY_S, _LAST_DELAY_S = 0.2, 5.0


class Launcher:
    """See the module's docstring.

    Args:
        tell: takes what has become of an effect.
    """

    def __init__(
        self,
        services: Services,
        runner: StepRunner,
        execution: Execution,
        commits: Commits,
        tell: Callable[[Event], None],
    ) -> None:
        self._services = services
        self._runner = runner
        self._execution = execution
        self._commits = commits
        self._tell = tell
        self._held: deque[LiveFrame] = deque()
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
        waiting: deque[LiveFrame] = deque()
        barred = False
        guard = self._commits.guard
        assert guard is not None
        while self._held:
            frame = self._held.popleft()
            if frame.ended:
                continue
            if frame.need > self._commits.durable:
                barred = True
                waiting.append(frame)
            elif len(self._running) >= self._services.config.max_in_flight:
                waiting.append(frame)
            else:
                guard.check()
                self._start(frame)
        self._held = waiting
        return barred

    def _start(self, frame: LiveFrame) -> None:
        frame.launched = True
        match frame.action:
            case RunStep() as action:
                work = self._attempt(frame, action)
            case StartChild() as action:
                work = self._effect(frame, lambda: start_child(self._services, self._execution, frame, action))
            case CallEffect(perform):
                work = self._effect(frame, lambda: perform(frame))
            case _:
                raise AssertionError(f"{frame.describe()} has no effect")
        self._running[frame] = asyncio.create_task(work)

    async def _attempt(self, frame: LiveFrame, action: RunStep) -> None:
        guard = self._commits.guard
        assert guard is not None
        info = StepInfo(self._execution.eid, frame.fid, frame.attempt, guard.epoch, self._execution.workflow)
        scope = self._scopes[frame] = StepScope(info, lambda progress: None)
        self._tell(AttemptEnded(frame, await self._runner.attempt(action, scope)))

    async def _effect(self, frame: LiveFrame, perform: Callable[[], Awaitable[Data]]) -> None:
        delay_s = _FIRST_DELAY_S
        while True:
            try:
                outcome: Returned | Failed = Returned(await perform())
            except (BackendUnavailable, OutcomeUnknown) as error:
                # a storage error is never an outcome; every effect is safe to repeat
                _log.warning("an effect waits for the storage", fid=frame.fid, error=str(error), retry_in_s=delay_s)
                frame.relaunched = True
                await self._services.world.sleep(delay_s)
                delay_s = min(2 * delay_s, _LAST_DELAY_S)
                continue
            except BackendError as error:
                self._tell(Lost(error))
                return
            except FlowliError as error:
                outcome = Failed(codec.error_info(error), retryable=False, retry_at=None)
            self._tell(EffectDone(frame, outcome))
            return

    def ended(self, frame: LiveFrame) -> bool:
        """An effect has ended; True if it was under way, so that its outcome counts."""
        self._scopes.pop(frame, None)
        return self._running.pop(frame, None) is not None and not frame.ended

    def give_up(self, frame: LiveFrame) -> None:
        """The code no longer waits for ``frame``: stop what can be stopped."""
        scope = self._scopes.pop(frame, None)
        if scope is not None:
            scope.cancelled.set()
        task = self._running.pop(frame, None)
        if task is not None:
            task.cancel()
        if isinstance(frame.action, StartChild) and frame.launched:
            reason = f"frame {frame.fid} of its parent was given up"
            self.beside(ask_child_to_cancel(self._services, self._execution, frame.action.eid, reason))

    def beside(self, work: Coroutine[Any, Any, None]) -> None:
        """Run ``work`` beside the frames; the execution does not suspend before it has ended."""
        task = asyncio.create_task(work)
        self._beside.add(task)
        task.add_done_callback(self._beside_done)

    def _beside_done(self, task: asyncio.Task[None]) -> None:
        self._beside.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.warning("work beside the frames failed", eid=str(self._execution.eid), error=str(error))

    async def stop(self) -> None:
        """Stop everything that is under way; outcomes that come later are dropped."""
        for scope in self._scopes.values():
            scope.cancelled.set()
        tasks = [*self._running.values(), *self._beside]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._running.clear()
        self._scopes.clear()
