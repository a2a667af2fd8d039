"""Frames as code meets them: what to do (an action), the call that can be awaited, and the frame once it is under
way.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Generator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from flowli.domain.data import Data
from flowli.domain.entries import START, Position
from flowli.domain.execution import ParentClose
from flowli.domain.frames import FrameKind
from flowli.domain.ids import Eid, Fid, frame_hash
from flowli.domain.retry import RetryPolicy
from flowli.domain.waits import On
from flowli.runtime.replay.loop import WorkflowFuture, WorkflowLoop
from flowli.timestamp import Timestamp

if TYPE_CHECKING:
    from flowli.runtime.replay.making import Making

__all__ = [
    "Action",
    "CallEffect",
    "FrameCall",
    "FrameFuture",
    "LiveFrame",
    "ReceiveMessage",
    "RunStep",
    "StartChild",
    "WaitUntil",
]

T = TypeVar("T")


@dataclass(slots=True)
class RunStep:
    """Run a function outside the loop, with arguments in their recorded form: each attempt gets a copy of its own.

    Nobody changes one; it is not frozen since to make a frozen one takes five times as long, and a replay makes one for
    each call of a step.

    Attributes:
        heartbeat_s: an attempt fails that says nothing for so long.
        queue: where a detached step is run by whoever takes it; None runs it here.
        step: the name under which workers of that queue know ``fn``.
    """

    fn: Callable[..., Any]
    arguments: dict[str, Data]
    retry: RetryPolicy
    timeout_s: float | None
    hint: Any
    heartbeat_s: float | None = None
    queue: str | None = None
    step: str = ""


@dataclass(frozen=True, slots=True)
class StartChild:
    """Start another execution and wait for its end."""

    eid: Eid
    workflow: str
    version: str
    args: dict[str, Data]
    queue: str | None
    on_parent_close: ParentClose
    timeout_s: float | None = None


@dataclass(frozen=True, slots=True)
class ReceiveMessage:
    """Wait for a message on a channel (full name), or for the deadline; only for one that follows ``after``."""

    channel: str
    deadline: Timestamp | None
    correlation: str | None
    after: Position = START


@dataclass(frozen=True, slots=True)
class WaitUntil:
    """Wait for an instant. ``handle`` is run when it comes, for timers that asyncio itself set."""

    due_at: Timestamp
    handle: asyncio.TimerHandle | None = None


@dataclass(frozen=True, slots=True)
class CallEffect:
    """Do something at the ports once; ``perform`` is safe to repeat."""

    perform: Callable[[LiveFrame], Awaitable[Data]]


Action: TypeAlias = RunStep | StartChild | ReceiveMessage | WaitUntil | CallEffect


@dataclass(slots=True, eq=False)
class LiveFrame:
    """One frame of a running coroutine.

    Attributes:
        decode: turns the memo into the value that the code sees.
        need: journal sequence number of the last outcome that the code had seen; durable before any effect of the
            frame.
        attempt: number of the attempt under way.
        started_at: instant of its first ``frame.started``.
        launched: its effect is under way or done, or it waits.
        relaunched: an earlier owner may have done its effect already.
        retry_at: when the next attempt is due, while the frame waits for it.
        deferred: that attempt repeats the last one.
        waits_on: what ``frame.suspended`` last said.
        waiting_since: when it began to wait while owned.
    """

    fid: Fid
    kind: FrameKind
    name: str
    digest: str
    action: Action
    decode: Callable[[Data], Any]
    metadata: dict[str, Data] = field(default_factory=dict)
    future: FrameFuture | None = None
    attempt: int = 1
    need: int = 0
    started_at: Timestamp | None = None
    launched: bool = False
    relaunched: bool = False
    ended: bool = False
    retry_at: Timestamp | None = None
    deferred: bool = False
    waits_on: On | None = None
    waiting_since: Timestamp | None = None

    @property
    def detached(self) -> bool:
        """Whether it is a step that another worker runs."""
        return isinstance(self.action, RunStep) and self.action.queue is not None

    @property
    def task_key(self) -> str:
        """Names the frame in keys of tasks, evidence and timers, whatever its path is made of."""
        return frame_hash(self.fid)

    def describe(self) -> str:
        """What it is, for reports."""
        return f"{self.kind} '{self.name}' as {self.fid}"


class FrameFuture(WorkflowFuture[Any]):
    """What the code waits on. Cancelling it abandons the frame."""

    def __init__(self, session: Making, frame: LiveFrame, *, loop: WorkflowLoop) -> None:
        super().__init__(loop=loop)
        self._session = session
        self._frame = frame

    def cancel(self, msg: Any | None = None) -> bool:
        """Abandon the frame: its outcome no longer matters to the code."""
        cancelled = super().cancel(msg)
        if cancelled:
            self._session.abandon(self._frame, "cancelled")
        return cancelled


class FrameCall(Coroutine[Any, Any, T]):
    """A frame that was made and not yet started: ``await`` it, or pass it to ``asyncio.gather``, ``TaskGroup`` and the
    like. It counts as a coroutine, and like one it can be the work of a task.
    """

    __slots__ = ("_number", "_session", "_work", "frame")

    def __init__(self, session: Making, frame: LiveFrame) -> None:
        self._session = session
        self._number = session.loop.next_number()
        self._work: Generator[Any, Any, T] | None = None
        self.frame = frame

    def __await__(self) -> Generator[Any, Any, T]:
        return self._session.enter(self.frame).__await__()

    def __hash__(self) -> int:
        return self._number

    def __eq__(self, other: object) -> bool:
        return self is other

    def send(self, value: Any) -> Any:
        """Go on, as the coroutine of a task."""
        if self._work is None:
            self._work = self.__await__()
        return self._work.send(value)

    def throw(self, error: Any, value: Any = None, trace: Any = None, /) -> Any:
        """Raise an error where it waits, as in the coroutine of a task."""
        raised = error if value is None else value
        if self._work is None:
            raise raised
        return self._work.throw(raised)

    def close(self) -> None:
        """It is no longer wanted."""
        if self._work is not None:
            self._work.close()

    def __repr__(self) -> str:
        return f"<{self.frame.describe()}>"
