"""One attempt of a step: outside the workflow's loop, under a scope that knows which step it is."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any

import structlog

from flowli import codec
from flowli.domain.data import Data
from flowli.domain.errors import PayloadTooLarge, UsageError
from flowli.runtime.protocols.retry import Deferred, Failed, judge
from flowli.runtime.replay.calls import RunStep
from flowli.runtime.step import StepScope, current_step
from flowli.world import World

__all__ = ["Returned", "StepRunner"]


@dataclass(frozen=True, slots=True)
class Returned:
    """The attempt returned; ``value`` is its recorded form."""

    value: Data


class StepRunner:
    """Runs attempts for one worker.

    Args:
        threads: for sync steps.
        max_value_bytes: largest result.
    """

    def __init__(self, world: World, threads: Executor, max_value_bytes: int) -> None:
        self._world = world
        self._threads = threads
        self._max_value_bytes = max_value_bytes

    async def attempt(self, action: RunStep, scope: StepScope) -> Returned | Failed | Deferred:
        """Run one attempt; a cancel of the caller's task stops an async step and is passed on."""
        try:
            value = await self._call(action, scope)
            return Returned(self._encode(value, action.hint))
        except asyncio.CancelledError:
            scope.cancelled.set()
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            return judge(RuntimeError("the step cancelled itself"), action.retry, scope.info.attempt, self._world)
        except TimeoutError as error:
            return judge(error, action.retry, scope.info.attempt, self._world)
        except BaseException as error:
            # SystemExit and the like are the step's failure, never the worker's end
            return judge(error, action.retry, scope.info.attempt, self._world)

    async def _call(self, action: RunStep, scope: StepScope) -> Any:
        context = contextvars.copy_context()
        context.run(current_step.set, scope)
        info = scope.info
        context.run(
            lambda: structlog.contextvars.bind_contextvars(
                eid=str(info.eid), fid=info.fid, attempt=info.attempt, epoch=info.epoch
            )
        )
        work = self._start(action, context)
        try:
            if action.timeout_s is None:
                value = await work
            else:
                async with asyncio.timeout(action.timeout_s):
                    value = await work
        except TimeoutError as error:
            if scope.cancelled.is_set() or action.timeout_s is None or error.args:
                raise
            scope.cancelled.set()
            raise TimeoutError(f"the attempt took longer than its timeout of {action.timeout_s:g} s") from None
        if inspect.isawaitable(value):
            if inspect.iscoroutine(value):
                value.close()
            raise UsageError(
                f"step '{getattr(action.fn, '__name__', action.fn)}' returned a coroutine instead of its result; "
                "await it inside, or make the step itself async"
            )
        return value

    def _start(self, action: RunStep, context: contextvars.Context) -> asyncio.Future[Any]:
        fn, args, kwargs = action.fn, action.args, action.kwargs
        if _is_async(fn):
            return asyncio.get_running_loop().create_task(fn(*args, **kwargs), context=context)
        return asyncio.get_running_loop().run_in_executor(self._threads, lambda: context.run(fn, *args, **kwargs))

    def _encode(self, value: Any, hint: Any) -> Data:
        data = codec.to_data(value, hint, path="result")
        size = len(codec.canonical(data))
        if size > self._max_value_bytes:
            raise PayloadTooLarge(
                f"the result has {size} bytes and the limit is {self._max_value_bytes} (max_value_bytes); "
                "keep large data elsewhere and return a reference to it"
            )
        return data


def _is_async(fn: Callable[..., Any]) -> bool:
    while hasattr(fn, "func"):
        fn = fn.func
    return inspect.iscoroutinefunction(fn) or inspect.iscoroutinefunction(type(fn).__call__)
