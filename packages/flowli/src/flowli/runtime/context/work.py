"""Steps, children and sleeps."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeAlias, TypeVar, overload

from flowli import codec
from flowli.domain.data import Data
from flowli.domain.errors import UsageError
from flowli.domain.execution import ParentClose
from flowli.domain.frames import FrameKind
from flowli.domain.ids import check_name, child_eid
from flowli.domain.retry import NO_RETRY, RetryPolicy
from flowli.runtime.context.base import ContextBase, Seconds, frame_key, nothing, seconds
from flowli.runtime.replay.calls import FrameCall, RunStep, StartChild, WaitUntil
from flowli.timestamp import Timestamp

if TYPE_CHECKING:
    from flowli.runtime.context import Context

__all__ = ["WorkCalls"]

P = ParamSpec("P")
T = TypeVar("T")

_Facts: TypeAlias = tuple[str, Any, Callable[[Data], Any]]

_REMEMBERED = 256
_STEP_OPTIONS = ("retry", "timeout", "heartbeat_timeout", "queue", "name", "key", "irreversible")


class WorkCalls(ContextBase):
    """``step``, ``child``, ``sleep``, ``sleep_until``."""

    @overload
    def step(self, fn: Callable[..., Awaitable[T]], /, *args: Any, retry: RetryPolicy, **more: Any) -> FrameCall[T]: ...
    @overload
    def step(self, fn: Callable[..., T], /, *args: Any, retry: RetryPolicy, **more: Any) -> FrameCall[T]: ...
    @overload
    def step(self, fn: Callable[..., Awaitable[T]], /, *args: Any, timeout: Seconds, **more: Any) -> FrameCall[T]: ...
    @overload
    def step(self, fn: Callable[..., T], /, *args: Any, timeout: Seconds, **more: Any) -> FrameCall[T]: ...
    @overload
    def step(
        self, fn: Callable[..., Awaitable[T]], /, *args: Any, heartbeat_timeout: Seconds, **more: Any
    ) -> FrameCall[T]: ...
    @overload
    def step(self, fn: Callable[..., T], /, *args: Any, heartbeat_timeout: Seconds, **more: Any) -> FrameCall[T]: ...
    @overload
    def step(self, fn: Callable[..., Awaitable[T]], /, *args: Any, queue: str, **more: Any) -> FrameCall[T]: ...
    @overload
    def step(self, fn: Callable[..., T], /, *args: Any, queue: str, **more: Any) -> FrameCall[T]: ...
    @overload
    def step(self, fn: Callable[..., Awaitable[T]], /, *args: Any, name: str, **more: Any) -> FrameCall[T]: ...
    @overload
    def step(self, fn: Callable[..., T], /, *args: Any, name: str, **more: Any) -> FrameCall[T]: ...
    @overload
    def step(self, fn: Callable[..., Awaitable[T]], /, *args: Any, key: str, **more: Any) -> FrameCall[T]: ...
    @overload
    def step(self, fn: Callable[..., T], /, *args: Any, key: str, **more: Any) -> FrameCall[T]: ...
    @overload
    def step(self, fn: Callable[..., Awaitable[T]], /, *args: Any, irreversible: bool, **more: Any) -> FrameCall[T]: ...
    @overload
    def step(self, fn: Callable[..., T], /, *args: Any, irreversible: bool, **more: Any) -> FrameCall[T]: ...
    @overload
    def step(self, fn: Callable[P, Awaitable[T]], /, *args: P.args, **kwargs: P.kwargs) -> FrameCall[T]: ...
    @overload
    def step(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> FrameCall[T]: ...

    def step(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> FrameCall[Any]:
        """Run ``fn`` outside the workflow and remember what it returned; it must be idempotent.

        Beside the arguments of ``fn`` it takes these keywords, which ``fn`` itself cannot have:

        Args:
            fn: an async function, run on the worker's loop, or a plain one, run in its thread pool.
            retry: a ``RetryPolicy``; by default there is one attempt.
            timeout: seconds for one attempt.
            heartbeat_timeout: seconds for which an attempt may say nothing (``flowli.heartbeat``).
            queue: run it detached: by a worker of this queue, which knows ``fn`` by ``Registry.step`` and need not
                know the workflow. The execution suspends meanwhile.
            name: defaults to the function's name.
            key: tells this call apart from others by more than their order.
            irreversible: marks a step that ``engine.replay`` must not repeat unasked.

        Raises:
            StepFailed: attempts ran out or the error was not retryable (when awaited).
            UsageError: the arguments do not fit or cannot be recorded, or a detached step is not registered.
        """
        options = {option: kwargs.pop(option) for option in _STEP_OPTIONS if option in kwargs} if kwargs else {}
        own_name, hint, decode = self._facts_of(fn)
        name = own_name if options.get("name") is None else options["name"]
        if name is not own_name or not name:
            name = check_name("step", name or _function_name(fn))
        data = codec.arguments(fn, args, kwargs, skip_first=False)
        metadata: dict[str, Data] = {"irreversible": True} if options.get("irreversible") else {}
        action = RunStep(
            fn,
            data,
            options.get("retry") or NO_RETRY,
            seconds("timeout", options.get("timeout")),
            hint,
            seconds("heartbeat_timeout", options.get("heartbeat_timeout")),
        )
        if options.get("queue") is not None:
            queue = metadata["queue"] = check_name("queue", options["queue"])
            action = replace(action, queue=queue, step=self._effects.registry.step_name(fn))
        return self._call(FrameKind.STEP, name, data, action, decode, options.get("key"), metadata)

    def _facts_of(self, fn: Callable[..., Any]) -> _Facts:
        """What all calls of a function share: its name, if that can name frames, and how its results are read."""
        try:
            known = self._facts.get(fn)
        except TypeError:  # it cannot be hashed
            return _look_at(fn)
        if known is None:
            known = _look_at(fn)
            if len(self._facts) < _REMEMBERED:
                self._facts[fn] = known
        return known

    def child(
        self,
        workflow: Callable[Concatenate[Context, P], Awaitable[T]],
        /,
        *args: Any,
        key: str | None = None,
        queue: str | None = None,
        on_parent_close: str = "cancel",
        timeout: Seconds | None = None,
        **kwargs: Any,
    ) -> FrameCall[T]:
        """Start another workflow as a child and wait for its result. Starting it twice is one child.

        Args:
            workflow: a registered workflow function.
            key: tells this call apart from others by more than their order.
            queue: where the child runs; by default as its workflow says.
            on_parent_close: ``cancel`` or ``abandon``: what becomes of it if this execution ends first.
            timeout: execution timeout of the child.

        Raises:
            ChildFailed: it failed or was cancelled (when awaited).
        """
        found = self._effects.registry.of(workflow)
        data = codec.arguments(found.fn, args, kwargs, skip_first=True)
        hint = codec.return_hint(found.fn)
        limit_s = seconds("timeout", timeout) if timeout is not None else found.timeout_s
        where = check_name("queue", queue or found.queue)
        frame = self._session.make(
            self._parent,
            FrameKind.CHILD,
            found.name,
            self._digest(data),
            None,
            functools.partial(_decode, hint),
            key=frame_key(key),
        )
        eid = child_eid(self.eid, frame.fid)
        frame.metadata = {"eid": str(eid)}
        frame.action = StartChild(eid, found.name, found.version, data, where, ParentClose(on_parent_close), limit_s)
        return FrameCall(self._session, frame)

    def sleep(self, delay: Seconds) -> FrameCall[None]:
        """Wait durably: for seconds or for months, through crashes and deploys.

        Raises:
            UsageError: the delay is negative.
        """
        return self._sleep(self._session.now + timedelta(seconds=seconds("sleep", delay) or 0.0))

    def sleep_until(self, moment: datetime) -> FrameCall[None]:
        """Wait durably until an instant; one that is past ends the wait at once.

        Raises:
            ValueError: ``moment`` has no time zone.
        """
        return self._sleep(Timestamp.from_datetime(moment))

    def _sleep(self, due_at: Timestamp) -> FrameCall[None]:
        due: Data = str(due_at)
        return self._call(FrameKind.SLEEP, "sleep", due, WaitUntil(due_at), nothing, None, {"due_at": due})


def _look_at(fn: Callable[..., Any]) -> _Facts:
    hint, name = codec.return_hint(fn), ""
    with contextlib.suppress(UsageError):
        name = check_name("step", _function_name(fn))
    return name, hint, functools.partial(_decode, hint)


def _function_name(fn: Callable[..., Any]) -> str:
    while isinstance(fn, functools.partial):
        fn = fn.func
    name = getattr(fn, "__name__", type(fn).__name__)
    if name == "<lambda>":
        raise UsageError("a lambda has no name to remember its result under; give one: ctx.step(fn, name='...')")
    return str(name)


def _decode(hint: Any, data: Data) -> Any:
    return codec.from_data(data, hint)
