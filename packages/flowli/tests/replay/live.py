"""A session without a backend, driven by chance: outcomes of what it asked for come in any order and at any time."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from uuid import UUID

from flowli import codec
from flowli.domain.data import Data
from flowli.domain.entries import (
    ExecutionFailed,
    ExecutionPatched,
    ExecutionResumed,
    ExecutionSuspended,
    FrameCancelled,
    FrameStarted,
    FrameSuspended,
    JournalBody,
    JournalEntry,
)
from flowli.domain.errors import ErrorInfo
from flowli.domain.execution import Execution
from flowli.domain.provenance import Actor, ActorKind, Provenance, Site
from flowli.domain.waits import OnChannel, OnChild, OnTimer
from flowli.runtime.replay.calls import CallEffect, LiveFrame, ReceiveMessage, RunStep, StartChild, WaitUntil
from flowli.runtime.replay.session import Session
from flowli.testing.replay import new_session
from flowli.timestamp import Timestamp

EID = UUID("0197a1b2-0000-7000-8000-000000000000")
CREATED = Timestamp.parse("2026-01-01T00:00:00.000000Z")


def execution_of(fn: Callable[..., Any], *args: Any) -> Execution:
    """The record of a run of ``fn``."""
    by = Provenance(Actor(ActorKind.HUMAN, "test"), Site("test"), CREATED)
    return Execution(EID, fn.__name__, "1", codec.arguments(fn, args, {}, skip_first=True), by)


def settle(session: Session) -> None:
    """Let the code run until only an outcome can make it go on."""
    while not session.settled and session.divergence is None:
        session.advance(lambda: False)


def is_command(body: JournalBody) -> bool:
    """Whether the code caused the entry."""
    return isinstance(body, FrameCancelled | ExecutionPatched) or (isinstance(body, FrameStarted) and body.attempt == 1)


@dataclass
class Live:
    """One execution under an owner that is lucky, unlucky and killed as ``chance`` has it.

    Attributes:
        journal: what is durable, and what is not yet (a crash may cut it off).
        ran: how many attempts of each frame were run.
    """

    fn: Callable[..., Any]
    args: Sequence[Any] = ()
    chance: random.Random = field(default_factory=lambda: random.Random(0))
    cancels: int = 0
    crashes: int = 0
    suspends: bool = True
    defers: float = 0.1

    def __post_init__(self) -> None:
        self.execution = execution_of(self.fn, *self.args)
        self.clock = CREATED
        self.epoch = 1
        self.journal: list[JournalEntry] = []
        self.ran: dict[str, int] = {}
        self.durable = 0
        self.deadline = 2_000
        self.session = self._new()
        self.session.begin()
        self._settle()

    def _new(self) -> Session:
        return new_session(
            self.fn, self.execution, registry=_registry(self.fn), now=lambda: self.clock, epoch=lambda: self.epoch
        )

    def _settle(self) -> None:
        settle(self.session)
        assert self.session.divergence is None, str(self.session.divergence)
        self.session.abandoned.clear()
        self.session.launches.clear()
        self.journal += self.session.take_buffer()

    def run(self) -> list[JournalEntry]:
        """Go on until it ends, or waits for a message that nobody sends."""
        while self.session.ending is None and self.deadline > 0:
            self.deadline -= 1
            if not self.step():
                break
        assert self.deadline > 0, "the program does not end"
        if self.session.ending is not None:
            self.session.append(self.session.ending)
            self.journal += self.session.take_buffer()
        return self.journal

    def step(self) -> bool:
        """One event; False if none can come."""
        events = self._events()
        if not events:
            return False
        if self.crashes and self.chance.random() < 0.1:
            self.crashes -= 1
            self._crash()
            return True
        if self.suspends and self.chance.random() < 0.1 and all(_waits(one) for one in self.session.frames.values()):
            self._suspend()
            return True
        if self.cancels and self.chance.random() < 0.1:
            self.cancels -= 1
            self.session.request_cancel("by chance", f"cancel-{self.cancels}")
            if self.chance.random() < 0.3:  # and once more before the code has run
                self.session.request_cancel("by chance", f"again-{self.cancels}")
            self._settle()
            return True
        self.clock = self.clock + timedelta(microseconds=self.chance.randrange(0, 1_000_000))
        self.chance.choice(events)()
        self._settle()
        return True

    def _events(self) -> list[Callable[[], None]]:
        events: list[Callable[[], None]] = []
        timers = [(due, n, frame) for n, frame in enumerate(self.session.frames.values()) if (due := _due(frame))]
        if timers:
            first, _, timer = min(timers)
            events.append(lambda: self._fire(first, timer))
        channels = set()
        for frame in self.session.frames.values():
            match frame.action:
                case _ if frame.retry_at is not None:
                    pass
                case RunStep() as action:
                    events.append(lambda frame=frame, action=action: self._attempt(frame, action))
                case ReceiveMessage(channel) if channel not in channels and not channel.endswith("silent"):
                    channels.add(channel)  # no two receives get one message, the first one that waits gets it
                    events.append(lambda frame=frame, channel=channel: self._message(frame, channel))
                case StartChild(eid):
                    events.append(lambda frame=frame, eid=eid: self._child(frame, eid))
                case CallEffect():
                    events.append(lambda frame=frame: self.session.complete(frame, self.chance.randrange(5)))
                case _:
                    pass
        return events

    def _fire(self, due: Timestamp, frame: LiveFrame) -> None:
        self.clock = max(self.clock, due)
        if isinstance(frame.action, RunStep):
            self.session.try_again(frame, frame.attempt if frame.deferred else frame.attempt + 1)
        else:
            self.session.fulfil(frame, OnTimer(due), None)

    def _attempt(self, frame: LiveFrame, action: RunStep) -> None:
        self.ran[frame.fid] = self.ran.get(frame.fid, 0) + 1
        if self.chance.random() < self.defers:
            self.session.defer(frame, self.clock + timedelta(seconds=3))
            return
        try:
            args, kwargs = codec.load_arguments(action.fn, action.arguments, skip_first=False)
            value: Data = action.fn(*args, **kwargs)
        except Exception as error:
            info = ErrorInfo(type(error).__name__, str(error))
            again = action.retry.retries(error, frame.attempt)
            at = self.clock + timedelta(seconds=5) if again else None
            self.session.fail(frame, info, retryable=again, retry_at=at)
        else:
            self.session.complete(frame, value)

    def _message(self, frame: LiveFrame, channel: str) -> None:
        payload: Data = {"n": self.chance.randrange(5)}
        self.session.fulfil(frame, OnChannel(channel), payload, message_seq=self.session.fold.seq, message_commit=1)

    def _child(self, frame: LiveFrame, eid: UUID) -> None:
        if self.chance.random() < 0.3:
            self.session.fail(frame, ErrorInfo("ChildBroke", "it broke"), retryable=False)
        else:
            self.session.fulfil(frame, OnChild(eid), self.chance.randrange(5))

    def _suspend(self) -> None:
        """Release and go on, warm or cold."""
        ons = []
        for frame in self.session.frames.values():
            due = _due(frame)
            on = OnTimer(due) if due else OnChannel("x")
            ons.append(on)
            self.session.append(FrameSuspended(frame.fid, frame.attempt, on))
        self.session.append(ExecutionSuspended(tuple(ons), self.epoch))
        self.journal += self.session.take_buffer()
        self.durable = len(self.journal)
        self.epoch += 1
        if self.chance.random() < 0.5:
            self._replace(self.journal)

    def _crash(self) -> None:
        """A new owner knows only what was durable: any prefix that is not shorter than what once was."""
        kept = self.chance.randrange(max(1, self.durable), len(self.journal) + 1)
        self.epoch += 1
        by = self.journal[kept - 1].by
        resumed = JournalEntry(ExecutionResumed(self.epoch, ("expired",)), by, kept + 1)
        self.durable = kept + 1
        self._replace([*self.journal[:kept], resumed])

    def _replace(self, journal: list[JournalEntry]) -> None:
        self.session.loop.drop()
        assert self.session.take_buffer() == []
        self.session = self._new()
        self.session.load(journal)
        self.journal = list(journal)
        self._settle()


def _due(frame: LiveFrame) -> Timestamp | None:
    if frame.retry_at is not None:
        return frame.retry_at
    match frame.action:
        case WaitUntil(due):
            return due
        case ReceiveMessage(_, deadline):
            return deadline
    return None


def _waits(frame: LiveFrame) -> bool:
    return frame.retry_at is not None or isinstance(frame.action, WaitUntil | ReceiveMessage)


def _registry(fn: Callable[..., Any]) -> Any:
    from .programs import registry

    return registry


def calm(fn: Callable[..., Any], *args: Any, seed: int = 0) -> Live:
    """An execution that nobody disturbs; outcomes come in an order that ``seed`` decides."""
    return Live(fn, args, random.Random(seed), suspends=False, defers=0.0)


def ending_of(fn: Callable[..., Any], *args: Any) -> Any:
    """How an execution ends that nobody disturbs."""
    live = calm(fn, *args)
    live.run()
    return live.session.ending


def error_of(fn: Callable[..., Any], *args: Any) -> ErrorInfo:
    """The error in which it fails."""
    ending = ending_of(fn, *args)
    assert isinstance(ending, ExecutionFailed), ending
    return ending.error
