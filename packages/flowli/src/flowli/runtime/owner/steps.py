"""One attempt of a step: outside the workflow's loop, under a scope that knows which step it is."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import inspect
from collections.abc import Callable
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from typing import Any

import structlog

from flowli import codec
from flowli.domain.data import Data
from flowli.domain.errors import Defer, LeaseLost, UsageError
from flowli.runtime.limits import check_size
from flowli.runtime.observe.attempts import NotStarted, Watched
from flowli.runtime.observe.observers import Observers
from flowli.runtime.owner.attempt_logs import AttemptLogs
from flowli.runtime.protocols.retry import Deferred, Failed, judge
from flowli.runtime.replay.calls import RunStep
from flowli.runtime.step import StepScope, current_step
from flowli.world import World

__all__ = ["Raised", "Returned", "StepRunner"]

_log = structlog.get_logger("flowli.steps")
_LOOKS = 4


@dataclass(frozen=True, slots=True)
class Returned:
    """The attempt returned; ``value`` is its recorded form."""

    value: Data


@dataclass(frozen=True, slots=True)
class Raised:
    """The attempt raised an error."""

    error: BaseException


class _Exited(Exception):
    """The step raised ``SystemExit`` or the like, which would end the loop that it is raised in."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(str(error))
        self.error = error


class StepRunner:
    """Runs attempts for one worker.

    Args:
        threads: for sync steps.
        max_value_bytes: largest result.
        logs: keeps what attempts say; None if nobody does.
        observers: told when an attempt begins and ends.

    Attributes:
        stray: calls that still run in a thread although nobody waits for their outcome; each keeps its thread.
    """

    def __init__(
        self,
        world: World,
        threads: Executor,
        max_value_bytes: int,
        logs: AttemptLogs | None = None,
        observers: Observers | None = None,
    ) -> None:
        self._world = world
        self._threads = threads
        self._max_value_bytes = max_value_bytes
        self._logs = logs
        self._observers = observers
        self.stray = 0

    def context(self, scope: StepScope) -> contextvars.Context:
        """A copy of the caller's context in which code knows in which step it runs, and what it says is collected."""
        context, info = contextvars.copy_context(), scope.info
        context.run(current_step.set, scope)
        context.run(
            structlog.contextvars.bind_contextvars,
            eid=str(info.eid),
            fid=info.fid,
            attempt=info.attempt,
            epoch=info.epoch,
        )
        if self._logs is not None:
            scope.log = self._logs.begin()
            scope.log.collect_in(context)
        return context

    async def attempt(
        self, action: RunStep, scope: StepScope, check: Callable[[], None]
    ) -> Returned | Failed | Deferred:
        """Run one attempt and judge what follows from it by its policy; otherwise like ``outcome``."""
        match await self.outcome(action, scope, check):
            case Raised(error):
                return judge(error, action.retry, scope.info.attempt, self._world)
            case returned:
                return returned

    async def outcome(self, action: RunStep, scope: StepScope, check: Callable[[], None]) -> Returned | Raised:
        """Run one attempt, in a task whose context is ``context(scope)``.

        A cancel of that task stops an async step and is passed on; ``scope.cancelled`` is set before.

        Args:
            check: called right before the step, with no await between; raises ``LeaseLost`` to refuse it.

        Raises:
            LeaseLost: it was refused; the step did not begin.
        """
        with Watched(self._observers, scope, self._world) as watched:
            ended = await self._outcome(action, scope, check)
            if isinstance(ended, Raised):
                watched.raised(ended.error)
        if self._logs is not None:
            self._logs.end(scope, failed=isinstance(ended, Raised) and not isinstance(ended.error, Defer))
        return ended

    async def _outcome(self, action: RunStep, scope: StepScope, check: Callable[[], None]) -> Returned | Raised:
        try:
            value = await self._run(action, scope, check)
            return Returned(self._encode(_checked(action, value), action.hint))
        except NotStarted:
            raise
        except asyncio.CancelledError:
            if scope.cancelled.is_set():
                raise
            return Raised(RuntimeError("the step cancelled itself"))
        except _Exited as exited:
            return Raised(exited.error)
        except BaseException as error:
            # SystemExit and the like are the step's failure, never the worker's end
            return Raised(error)

    async def _run(self, action: RunStep, scope: StepScope, check: Callable[[], None]) -> Any:
        fn = action.fn
        args, kwargs = codec.load_arguments(fn, action.arguments, skip_first=False)

        def allowed() -> None:
            try:
                check()
            except LeaseLost as lost:
                raise NotStarted(str(lost)) from lost

        def call() -> Any:
            allowed()
            try:
                return fn(*args, **kwargs)
            except StopIteration as error:
                raise RuntimeError("the step raised StopIteration") from error

        async def run() -> Any:
            allowed()
            try:
                return await fn(*args, **kwargs)
            except (SystemExit, KeyboardInterrupt) as error:
                raise _Exited(error) from error

        if not _is_async(fn):
            context, loop = contextvars.copy_context(), asyncio.get_running_loop()
            thread = self._awaited(self._threads.submit(context.run, call), scope, loop)
            return await self._limited(thread, action, scope)
        if action.timeout_s is None and action.heartbeat_s is None:
            allowed()
            return await fn(*args, **kwargs)
        return await self._limited(asyncio.create_task(run()), action, scope)

    async def _limited(self, work: asyncio.Future[Any], action: RunStep, scope: StepScope) -> Any:
        """What ``work`` gives; it is stopped, as far as it can be, when the time is up or the caller is cancelled."""
        if action.timeout_s is None and action.heartbeat_s is None:
            return await work
        limits = [
            asyncio.ensure_future(limit)
            for limit in (self._timeout(action.timeout_s), self._silence(action.heartbeat_s, scope))
        ]
        try:
            await asyncio.wait((work, *limits), return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            await _stop(work, scope)
            raise
        finally:
            reached = next((limit.result() for limit in limits if limit.done()), "")
            for limit in limits:
                limit.cancel()
        if work.done():
            return work.result()
        await _stop(work, scope)
        raise TimeoutError(reached)

    async def _timeout(self, timeout_s: float | None) -> str:
        if timeout_s is None:
            await asyncio.get_running_loop().create_future()
        assert timeout_s is not None
        await self._world.sleep(timeout_s)
        return f"the attempt took longer than its timeout of {timeout_s:g} s"

    async def _silence(self, heartbeat_s: float | None, scope: StepScope) -> str:
        """Returns when the step has said nothing for ``heartbeat_s``, at most half as long again after it."""
        if heartbeat_s is None:
            await asyncio.get_running_loop().create_future()
        assert heartbeat_s is not None
        beats, quiet_s = scope.beats, 0.0
        while quiet_s < heartbeat_s:
            await self._world.sleep(heartbeat_s / _LOOKS)
            quiet_s = quiet_s + heartbeat_s / _LOOKS if scope.beats == beats else 0.0
            beats = scope.beats
        return f"the attempt said nothing for its heartbeat timeout of {heartbeat_s:g} s; call flowli.heartbeat in it"

    def _awaited(self, thread: Future[Any], scope: StepScope, loop: asyncio.AbstractEventLoop) -> asyncio.Future[Any]:
        """The call in a thread, for one who may stop to wait: then it runs on and is counted until it ends."""
        future = asyncio.wrap_future(thread, loop=loop)

        def ended(call: Future[Any]) -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(self._count, -1)

        def left(waiting: asyncio.Future[Any]) -> None:
            if waiting.cancelled() and thread.running():
                self._count(1)
                info = scope.info
                _log.warning("a step runs on in its thread; its outcome is dropped", eid=str(info.eid), fid=info.fid)
                thread.add_done_callback(ended)

        future.add_done_callback(left)
        return future

    def _count(self, change: int) -> None:
        self.stray += change

    def _encode(self, value: Any, hint: Any) -> Data:
        data = codec.to_data(value, hint, path="result")
        check_size("the result", data, self._max_value_bytes, verb="return")
        return data


async def _stop(work: asyncio.Future[Any], scope: StepScope) -> None:
    """Ask a step to stop, and wait until an async one has; a call in a thread is only told."""
    scope.cancelled.set()
    work.cancel()
    if not work.done():
        await asyncio.wait((work,))
    if not work.cancelled():
        work.exception()  # its outcome is dropped, whatever it is


def _checked(action: RunStep, value: Any) -> Any:
    if not inspect.isawaitable(value):
        return value
    if inspect.iscoroutine(value):
        value.close()
    raise UsageError(
        f"step '{getattr(action.fn, '__name__', action.fn)}' returned a coroutine instead of its result; "
        "await it inside, or make the step itself async"
    )


def _is_async(fn: Callable[..., Any]) -> bool:
    while isinstance(fn, functools.partial):
        fn = fn.func
    return inspect.iscoroutinefunction(fn) or inspect.iscoroutinefunction(type(fn).__call__)
