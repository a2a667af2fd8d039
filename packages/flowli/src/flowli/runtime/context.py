"""``Context``: what workflow code is given as its first parameter.

Only frames have effects; everything else that a context offers is computed from the journal. A call such as
``ctx.step(f, x)`` makes a frame that can be awaited, or handed to ``asyncio.gather``, ``TaskGroup`` and the like.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import functools
import hashlib
import random
from collections.abc import Awaitable, Callable, Iterator
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar, overload
from uuid import UUID, uuid5

import structlog

from flowli import codec
from flowli.domain.channels import global_channel, scoped_channel
from flowli.domain.data import Data, Scalar
from flowli.domain.errors import UsageError
from flowli.domain.execution import ParentClose
from flowli.domain.frames import FrameKind
from flowli.domain.ids import ROOT, Eid, Fid, check_key, check_name, child_eid
from flowli.domain.retry import NO_RETRY, RetryPolicy
from flowli.runtime.replay.calls import FrameCall, ReceiveMessage, RunStep, StartChild, WaitUntil
from flowli.timestamp import Timestamp

if TYPE_CHECKING:
    from flowli.runtime.effects import Effects
    from flowli.runtime.replay.session import Session

__all__ = ["Context"]

P = ParamSpec("P")
T = TypeVar("T")
Seconds = float | timedelta

_STEP_OPTIONS = ("retry", "timeout", "name", "key", "irreversible")

_scope: contextvars.ContextVar[Fid] = contextvars.ContextVar("flowli_scope", default=ROOT)


class Context:
    """The workflow's view of its execution."""

    def __init__(self, session: Session, effects: Effects) -> None:
        self._session = session
        self._effects = effects
        origin = session.execution.origin
        lineage = (*(origin.lineage if origin is not None else ()), session.execution.eid)
        self._seed = lineage[0]
        self._own_ids = tuple(str(eid).encode() for eid in lineage)
        self._random = random.Random(self._seed.int)
        self._uuids = 0

    @property
    def eid(self) -> Eid:
        """The id of this execution."""
        return self._session.execution.eid

    @property
    def now(self) -> datetime:
        """The present, in UTC: the instant of the last outcome that this code was given. Equal on every replay."""
        return self._session.now.to_datetime()

    @property
    def random(self) -> random.Random:
        """Random numbers that are the same on every replay. Not for secrets."""
        return self._random

    def uuid(self) -> UUID:
        """A new id, the same on every replay; drawing random numbers does not shift it."""
        self._uuids += 1
        return uuid5(self._seed, f"uuid/{self._uuids}")

    @property
    def log(self) -> structlog.typing.BindableLogger:
        """A logger that speaks once: what is logged while the journal is replayed is dropped."""
        logger: structlog.typing.BindableLogger = self._effects.logger(self._session.replaying)
        return logger

    def patched(self, change_id: str) -> bool:
        """Whether this execution takes the new path of a change in the code.

        True for executions that come here first with the new code, false for those whose journal is already past it.
        """
        return self._session.patched(check_name("change id", change_id))

    @contextlib.contextmanager
    def scope(self, name: str) -> Iterator[None]:
        """Frames made inside stand under a node of their own, so that a pattern's frames do not shift others'
        numbers.
        """
        token = _scope.set(self._session.scope(_scope.get(), check_name("scope", name)))
        try:
            yield
        finally:
            _scope.reset(token)

    @overload
    def step(self, fn: Callable[..., Awaitable[T]], /, *args: Any, retry: RetryPolicy, **more: Any) -> FrameCall[T]: ...
    @overload
    def step(self, fn: Callable[..., T], /, *args: Any, retry: RetryPolicy, **more: Any) -> FrameCall[T]: ...
    @overload
    def step(self, fn: Callable[..., Awaitable[T]], /, *args: Any, timeout: Seconds, **more: Any) -> FrameCall[T]: ...
    @overload
    def step(self, fn: Callable[..., T], /, *args: Any, timeout: Seconds, **more: Any) -> FrameCall[T]: ...
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
            name: defaults to the function's name.
            key: tells this call apart from others by more than their order.
            irreversible: marks a step that ``engine.replay`` must not repeat unasked.

        Raises:
            StepFailed: attempts ran out or the error was not retryable (when awaited).
            UsageError: the arguments do not fit or cannot be recorded.
        """
        options = {option: kwargs.pop(option) for option in _STEP_OPTIONS if option in kwargs}
        name = check_name("step", options.get("name") or _function_name(fn))
        data = codec.arguments(fn, args, kwargs, skip_first=False)
        hint = codec.return_hint(fn)
        retry = options.get("retry") or NO_RETRY
        action = RunStep(fn, args, kwargs, retry, _seconds("timeout", options.get("timeout")), hint)
        metadata: dict[str, Data] = {"irreversible": True} if options.get("irreversible") else {}
        decode = functools.partial(_decode, hint)
        return self._call(FrameKind.STEP, name, data, action, decode, options.get("key"), metadata)

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
        seconds = _seconds("timeout", timeout) if timeout is not None else found.timeout_s
        where = check_name("queue", queue or found.queue)
        frame = self._session.make(
            _scope.get(),
            FrameKind.CHILD,
            found.name,
            self._digest(data),
            None,
            functools.partial(_decode, hint),
            key=_key(key),
        )
        eid = child_eid(self.eid, frame.fid)
        frame.metadata = {"eid": str(eid)}
        frame.action = StartChild(eid, found.name, found.version, data, where, ParentClose(on_parent_close), seconds)
        return FrameCall(self._session, frame)

    def sleep(self, delay: Seconds) -> FrameCall[None]:
        """Wait durably: for seconds or for months, through crashes and deploys.

        Raises:
            UsageError: the delay is negative.
        """
        seconds = _seconds("sleep", delay)
        return self._sleep(self._session.now + timedelta(seconds=seconds or 0.0))

    def sleep_until(self, moment: datetime) -> FrameCall[None]:
        """Wait durably until an instant; one that is past ends the wait at once.

        Raises:
            ValueError: ``moment`` has no time zone.
        """
        return self._sleep(Timestamp.from_datetime(moment))

    def _sleep(self, due_at: Timestamp) -> FrameCall[None]:
        due: Data = str(due_at)
        return self._call(FrameKind.SLEEP, "sleep", due, WaitUntil(due_at), _nothing, None, {"due_at": due})

    def receive(
        self,
        channel: str,
        *,
        timeout: Seconds | None = None,
        correlation: str | None = None,
        scope: str = "execution",
    ) -> FrameCall[Any]:
        """Wait for the next message on a channel. Messages that came earlier are kept; no two receives get the same
        one.

        Args:
            channel: its name.
            timeout: seconds; the result is None when they pass.
            correlation: take only messages sent with it.
            scope: ``execution`` for this execution's own channel, ``global`` for one that all share.
        """
        if scope not in ("execution", "global"):
            raise UsageError(f"scope '{scope}' is unknown; use 'execution' or 'global'")
        full = scoped_channel(self.eid, channel) if scope == "execution" else global_channel(channel)
        seconds = _seconds("timeout", timeout)
        deadline = None if seconds is None else self._session.now + timedelta(seconds=seconds)
        action = ReceiveMessage(full, deadline, correlation)
        about: dict[str, Data] = {"channel": full}
        if deadline is not None:
            about["deadline"] = str(deadline)
        if correlation is not None:
            about["correlation"] = correlation
        return self._call(FrameKind.RECEIVE, channel, about, action, _as_is, None, about)

    def send(self, eid: Eid, channel: str, payload: object = None, *, correlation: str | None = None) -> FrameCall[int]:
        """Send a message to another execution, once. The result is its place in the channel."""
        full = scoped_channel(eid, channel)
        data = codec.to_data(payload, path="payload")
        about: Data = {"channel": full, "payload": data, "correlation": correlation}
        return self._effect("send", about, self._effects.send(eid, full, data, correlation), _as_is)

    def announce(self, topic: str, data: object = None) -> FrameCall[None]:
        """Make a public fact of this execution known in the control log, where projections and applications read it."""
        check_name("topic", topic)
        encoded = codec.to_data(data, path="data")
        return self._effect(
            "announce", {"topic": topic, "data": encoded}, self._effects.announce(topic, encoded), _nothing
        )

    def enqueue(
        self, queue: str, payload: object = None, *, reply_to: str | None = None, correlation: str | None = None
    ) -> FrameCall[str]:
        """Put a DELEGATE task on a queue, for a consumer outside the engine. The result is the task's id.

        Args:
            reply_to: channel of this execution on which the answer is awaited.
            correlation: of the answer.
        """
        check_name("queue", queue)
        data = codec.to_data(payload, path="payload")
        if reply_to is not None:
            scoped_channel(self.eid, reply_to)
        about: Data = {"queue": queue, "payload": data, "reply_to": reply_to, "correlation": correlation}
        return self._effect("enqueue", about, self._effects.enqueue(queue, data, reply_to, correlation), _as_is)

    def withdraw(self, queue: str, task_id: str) -> FrameCall[bool]:
        """Take a task back that nobody has taken yet; the result tells whether it was still there."""
        check_name("queue", queue)
        return self._effect(
            "withdraw", {"queue": queue, "task": task_id}, self._effects.withdraw(queue, task_id), _as_is
        )

    def claim(self, key: str, value: object = None) -> FrameCall[Any]:
        """Decide ``key`` once for the whole bucket; the result is the value that stands, of whoever was first."""
        check_key("claim", key)
        data = codec.to_data(value, path="value")
        return self._effect("claim", {"key": key, "value": data}, self._effects.claim(key, data), _as_is)

    def set_attributes(self, **attributes: Scalar) -> FrameCall[None]:
        """Set searchable attributes of this execution; None removes one."""
        for name in attributes:
            check_name("attribute", name)
        about: Data = {**attributes}
        return self._effect("attributes", about, self._effects.set_attributes(attributes), _nothing)

    async def gather(self, *frames: Awaitable[Any]) -> list[Any]:
        """Await several things at once; the results come in the order of the arguments."""
        return list(await asyncio.gather(*frames))

    async def as_completed(self, *frames: Awaitable[T]) -> list[T]:
        """Await several things at once; the results come in the order in which they were ready."""
        done: list[T] = []

        async def collect(frame: Awaitable[T]) -> None:
            done.append(await frame)

        async with asyncio.TaskGroup() as group:
            for frame in frames:
                group.create_task(collect(frame))
        return done

    def _call(
        self,
        kind: FrameKind,
        name: str,
        about: Data,
        action: Any,
        decode: Callable[[Data], Any],
        key: str | None,
        metadata: dict[str, Data],
    ) -> FrameCall[Any]:
        frame = self._session.make(
            _scope.get(), kind, name, self._digest(about), action, decode, key=_key(key), metadata=metadata
        )
        return FrameCall(self._session, frame)

    def _digest(self, about: Data) -> str:
        """The digest of a frame's arguments. This execution's own id in them counts as one and the same for all, so
        that the frames of a fork, which has another id than its source, are the same frames.
        """
        text = codec.canonical(about)
        for own in self._own_ids:
            text = text.replace(own, b"{eid}")
        return hashlib.sha256(text).hexdigest()

    def _effect(self, name: str, about: Data, action: Any, decode: Callable[[Data], Any]) -> FrameCall[Any]:
        return self._call(FrameKind.EFFECT, name, about, action, decode, None, {})


def _function_name(fn: Callable[..., Any]) -> str:
    while isinstance(fn, functools.partial):
        fn = fn.func
    name = getattr(fn, "__name__", type(fn).__name__)
    if name == "<lambda>":
        raise UsageError("a lambda has no name to remember its result under; give one: ctx.step(fn, name='...')")
    return str(name)


def _key(key: str | None) -> str | None:
    return None if key is None else check_name("key", key)


def _seconds(what: str, delay: Seconds | None) -> float | None:
    if delay is None:
        return None
    seconds = delay.total_seconds() if isinstance(delay, timedelta) else float(delay)
    if not 0 <= seconds < 3e11:
        raise UsageError(f"{what} of {seconds} seconds is not possible; give at least 0 and less than 9,500 years")
    return seconds


def _decode(hint: Any, data: Data) -> Any:
    return codec.from_data(data, hint)


def _as_is(data: Data) -> Any:
    return data


def _nothing(data: Data) -> None:
    return None
