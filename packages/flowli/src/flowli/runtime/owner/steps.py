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
from flowli.domain.errors import LeaseLost, PayloadTooLarge, UsageError
from flowli.runtime.protocols.retry import Deferred, Failed, judge
from flowli.runtime.replay.calls import RunStep
from flowli.runtime.step import StepScope, current_step
from flowli.world import World

__all__ = ["Returned", "StepRunner", "step_context"]

_log = structlog.get_logger("flowli.steps")


@dataclass(frozen=True, slots=True)
class Returned:
    """The attempt returned; ``value`` is its recorded form."""

    value: Data


class _NotStarted(LeaseLost):
    """The check right before the call refused it."""


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

    Attributes:
        stray: calls that still run in a thread although nobody waits for their outcome; each keeps its thread.
    """

    def __init__(self, world: World, threads: Executor, max_value_bytes: int) -> None:
        self._world = world
        self._threads = threads
        self._max_value_bytes = max_value_bytes
        self.stray = 0

    async def attempt(
        self, action: RunStep, scope: StepScope, check: Callable[[], None]
    ) -> Returned | Failed | Deferred:
        """Run one attempt, in a task whose context is ``step_context(scope)``.

        A cancel of that task stops an async step and is passed on; ``scope.cancelled`` is set before.

        Args:
            check: called right before the step, with no await between; raises ``LeaseLost`` to refuse it.

        Raises:
            LeaseLost: it was refused; the step did not begin.
        """
        try:
            value = await self._run(action, scope, check)
            return Returned(self._encode(_checked(action, value), action.hint))
        except _NotStarted:
            raise
        except asyncio.CancelledError:
            if scope.cancelled.is_set():
                raise
            error: BaseException = RuntimeError("the step cancelled itself")
        except _Exited as exited:
            error = exited.error
        except BaseException as raised:
            # SystemExit and the like are the step's failure, never the worker's end
            error = raised
        return judge(error, action.retry, scope.info.attempt, self._world)

    async def _run(self, action: RunStep, scope: StepScope, check: Callable[[], None]) -> Any:
        fn = action.fn
        args, kwargs = codec.load_arguments(fn, action.arguments, skip_first=False)

        def allowed() -> None:
            try:
                check()
            except LeaseLost as lost:
                raise _NotStarted(str(lost)) from lost

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
            return await (thread if action.timeout_s is None else self._within(thread, action.timeout_s, scope))
        if action.timeout_s is None:
            allowed()
            return await fn(*args, **kwargs)
        return await self._within(asyncio.create_task(run()), action.timeout_s, scope)

    async def _within(self, work: asyncio.Future[Any], timeout_s: float, scope: StepScope) -> Any:
        """What ``work`` gives; it is stopped, as far as it can be, when the time is up or the caller is cancelled."""
        alarm = asyncio.ensure_future(self._world.sleep(timeout_s))
        try:
            await asyncio.wait((work, alarm), return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            await _stop(work, scope)
            raise
        finally:
            alarm.cancel()
        if work.done():
            return work.result()
        await _stop(work, scope)
        raise TimeoutError(f"the attempt took longer than its timeout of {timeout_s:g} s")

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
        size = len(codec.canonical(data))
        if size > self._max_value_bytes:
            raise PayloadTooLarge(
                f"the result has {size} bytes and the limit is {self._max_value_bytes} (max_value_bytes); "
                "keep large data elsewhere and return a reference to it"
            )
        return data


async def _stop(work: asyncio.Future[Any], scope: StepScope) -> None:
    """Ask a step to stop, and wait until an async one has; a call in a thread is only told."""
    scope.cancelled.set()
    work.cancel()
    if not work.done():
        await asyncio.wait((work,))
    if not work.cancelled():
        work.exception()  # its outcome is dropped, whatever it is


def step_context(scope: StepScope) -> contextvars.Context:
    """The context of the caller, in which code knows in which step it runs."""
    context, info = contextvars.copy_context(), scope.info
    context.run(current_step.set, scope)
    context.run(
        structlog.contextvars.bind_contextvars,
        eid=str(info.eid),
        fid=info.fid,
        attempt=info.attempt,
        epoch=info.epoch,
    )
    return context


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
