"""Folds of a journal: the status of an execution, its frames and their memos.

Memo rule: the memo of a frame is its first ``frame.completed`` in journal order; later ones are ignored. A fold never
raises: what does not fit is recorded as an anomaly and shown by the tools.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import assert_never

from flowli.domain.data import Data
from flowli.domain.entries import (
    AnyFrameBody,
    ExecutionCancelled,
    ExecutionCancelRequested,
    ExecutionCompleted,
    ExecutionErased,
    ExecutionFailed,
    ExecutionMigrated,
    ExecutionPatched,
    ExecutionPaused,
    ExecutionResumed,
    ExecutionStarted,
    ExecutionSuspended,
    ExecutionUnpaused,
    FrameCancelled,
    FrameCompleted,
    FrameDeferred,
    FrameFailed,
    FrameFulfilled,
    FrameStarted,
    FrameSuspended,
    JournalEntry,
    UnknownBody,
)
from flowli.domain.errors import ErrorInfo
from flowli.domain.execution import TRANSITIONS, Execution, ExecutionStatus
from flowli.domain.frames import FrameKind, FrameStatus
from flowli.domain.ids import Fid
from flowli.domain.timers import Timer
from flowli.domain.waits import On, OnChannel, OnOperator, OnTimer
from flowli.timestamp import Timestamp

__all__ = ["Anomaly", "AttemptView", "Frame", "JournalFold"]

_OF_FRAMES = (
    FrameStarted,
    FrameCompleted,
    FrameFailed,
    FrameFulfilled,
    FrameSuspended,
    FrameDeferred,
    FrameCancelled,
)
_ENDING_ATTEMPTS = (FrameCompleted, FrameFailed, FrameCancelled, FrameDeferred)


@dataclass(frozen=True, slots=True)
class Anomaly:
    """Something in a journal that should not be there."""

    seq: int
    problem: str


@dataclass(slots=True)
class AttemptView:
    """One attempt of a frame.

    Attributes:
        seq: journal sequence number of its start; ``epoch`` is that of the owner that started it.
    """

    number: int
    started_at: Timestamp
    ended_at: Timestamp | None = None
    error: ErrorInfo | None = None
    seq: int = 0
    epoch: int = 0


@dataclass(slots=True)
class Frame:
    """One frame as the journal tells it.

    Attributes:
        value: the memo; only meaningful when ``status`` is completed.
        error: the outcome of a failed frame, or the last error of one that is retried.
        waits_on: what it waits on while ``status`` is waiting.
        due_at: when it goes on by itself, if it waits for an instant or has a deadline.
        outcome_seq: journal sequence number of its outcome.
    """

    fid: Fid
    kind: FrameKind
    name: str
    digest: str
    started_at: Timestamp
    started_seq: int
    metadata: dict[str, Data]
    status: FrameStatus = FrameStatus.RUNNING
    attempts: list[AttemptView] = field(default_factory=list)
    value: Data = None
    error: ErrorInfo | None = None
    waits_on: On | None = None
    due_at: Timestamp | None = None
    message_seq: int | None = None
    ended_at: Timestamp | None = None
    outcome_seq: int | None = None
    why: str = ""

    @property
    def attempt(self) -> int:
        """The number of the last attempt, 0 before the first."""
        return self.attempts[-1].number if self.attempts else 0


class JournalFold:
    """The state of one execution after a prefix of its journal.

    Attributes:
        execution: the record as ``execution.started`` repeats it; None before.
        version: the version that runs it now.
        status: where it stands by the journal alone.
        epoch: of the last lifecycle entry.
        released_epoch: the lease of this epoch is free: the last lifecycle entry is a suspension or an end.
        suspended: the last suspension, while nothing followed it.
        named: all that suspensions have named.
        marked: the channels that the last suspension waited on; ``suspended_until`` the earliest instant that it waited
            for, and its frame.
        frames: by fid, in the order of their start.
        applied: ids of requests that are journaled; never applied again.
        consumed: for each channel the sequence numbers of the messages consumed.
        last_consumed: for each channel the sequence number and commit of the last one of them.
        seq: of the last entry; ``at`` its instant.
    """

    def __init__(self, entries: Iterable[JournalEntry] = ()) -> None:
        self.execution: Execution | None = None
        self.version = ""
        self.status = ExecutionStatus.PENDING
        self.epoch = 0
        self.suspended: ExecutionSuspended | None = None
        self.suspended_until: tuple[Timestamp, Fid] | None = None
        self.named: set[On] = set()
        self.marked: set[str] = set()
        self.end: ExecutionCompleted | ExecutionFailed | ExecutionCancelled | None = None
        self.frames: dict[Fid, Frame] = {}
        self._live: dict[Fid, Frame] = {}
        self.patches: dict[str, bool] = {}
        self.applied: set[str] = set()
        self.consumed: dict[str, set[int]] = {}
        self.last_consumed: dict[str, tuple[int, int]] = {}
        self.cancel_requested: str | None = None
        self.paused: str | None = None
        self.erased = False
        self.anomalies: list[Anomaly] = []
        self.seq = 0
        self.lifecycle_seq = 0
        self.at: Timestamp | None = None
        for entry in entries:
            self.add(entry)

    @property
    def released_epoch(self) -> int | None:
        """The epoch whose lease the journal has released, or None while somebody owns the execution."""
        return self.epoch if self.suspended is not None or self.end is not None else None

    @property
    def parked(self) -> OnOperator | None:
        """Why it waits on the operator, if it does."""
        waits = self.suspended.on if self.suspended else ()
        return next((on for on in waits if isinstance(on, OnOperator)), None)

    @property
    def waits(self) -> tuple[On, ...]:
        """All that the last suspension waits on, while nothing followed it."""
        if self.suspended is None or not self.suspended.others:
            return () if self.suspended is None else self.suspended.on
        waiting = sorted(self.live_frames(), key=lambda frame: frame.fid)
        return tuple(dict.fromkeys(frame.waits_on for frame in waiting if frame.waits_on is not None))

    def markers(self) -> dict[str, int]:
        """The channels on which the last suspension left a wait marker, with its epoch."""
        return dict.fromkeys(sorted(self.marked), self.epoch)

    def received_on(self) -> set[str]:
        """The channels on which some frame has received or waited."""
        found = (frame.metadata.get("channel") for frame in self.frames.values() if frame.kind is FrameKind.RECEIVE)
        return {channel for channel in found if isinstance(channel, str)}

    def timers(self) -> list[Timer]:
        """The timer that the last suspension left, if it left one."""
        if self.suspended_until is None or self.execution is None:
            return []
        due_at, fid = self.suspended_until
        return [Timer(due_at, self.execution.eid, fid, self.execution.queue, self.execution.priority)]

    def live_frames(self) -> list[Frame]:
        """The frames without an outcome, in the order of their start."""
        return list(self._live.values())

    def add(self, entry: JournalEntry) -> None:
        """Take one more entry into account."""
        body, seq = entry.body, entry.seq or self.seq + 1
        if seq != self.seq + 1:
            self.anomalies.append(Anomaly(seq, f"entry {seq} follows entry {self.seq}"))
        self.seq, self.at = seq, entry.by.at
        if self.end is not None and not isinstance(body, ExecutionErased):
            self.anomalies.append(Anomaly(seq, f"{body.tag} after the end of the execution"))
            return
        if self.suspended is not None and entry.by.site.epoch > self.epoch:
            # a clean hand-over: the next owner's first commit needs no execution.resumed
            self.epoch, self.suspended = entry.by.site.epoch, None
            self._become(ExecutionStatus.RUNNING, seq)
        if isinstance(body, _OF_FRAMES):  # nearly all are
            self._frame(body, entry, seq)
            return
        match body:
            case ExecutionStarted() | ExecutionResumed() | ExecutionSuspended():
                self._lifecycle(body, entry, seq)
            case ExecutionCompleted() | ExecutionFailed() | ExecutionCancelled():
                self._end(body, entry, seq)
            case ExecutionPaused():
                self.paused = body.reason
                self.applied.add(body.request)
            case ExecutionUnpaused():
                self.paused = None
                self.applied.add(body.request)
            case ExecutionCancelRequested():
                self.cancel_requested = body.reason
                self.applied.add(body.request)
            case ExecutionMigrated():
                self.version = body.to_version
                self.applied.add(body.request)
            case ExecutionPatched():
                self.patches.setdefault(body.change_id, body.value)
            case ExecutionErased():
                self.erased = True
            case UnknownBody():
                self.anomalies.append(Anomaly(seq, f"unknown entry {body.tag}, written by a newer version"))
            case _:
                assert_never(body)

    def _become(self, status: ExecutionStatus, seq: int) -> None:
        if status not in TRANSITIONS[self.status]:
            self.anomalies.append(Anomaly(seq, f"the execution goes from {self.status} to {status}"))
        self.status = status

    def _lifecycle(
        self, body: ExecutionStarted | ExecutionResumed | ExecutionSuspended, entry: JournalEntry, seq: int
    ) -> None:
        self.lifecycle_seq = seq
        match body:
            case ExecutionStarted(execution):
                if self.execution is not None:
                    self.anomalies.append(Anomaly(seq, "a second execution.started"))
                    return
                self.execution, self.version = execution, execution.version
                self._epoch(max(1, entry.by.site.epoch), seq)
                self.suspended = None
                self._become(ExecutionStatus.RUNNING, seq)
            case ExecutionResumed(epoch):
                self._epoch(epoch, seq)
                self.suspended = None
                self._become(ExecutionStatus.RUNNING, seq)
            case ExecutionSuspended(_, epoch):
                self._epoch(epoch, seq)
                self.suspended = body
                self.named.update(body.on)
                waits = [frame.waits_on for frame in self._live.values()] if body.others else body.on
                self.marked = {on.channel for on in waits if isinstance(on, OnChannel)}
                due = [(frame.due_at, frame.fid) for frame in self._live.values() if frame.due_at is not None]
                self.suspended_until = min(due, default=None)
                self._become(ExecutionStatus.SUSPENDED, seq)
            case _:
                assert_never(body)

    def _epoch(self, epoch: int, seq: int) -> None:
        if epoch < self.epoch:
            self.anomalies.append(Anomaly(seq, f"epoch {epoch} after epoch {self.epoch}"))
        self.epoch = max(epoch, self.epoch)

    def _end(
        self, body: ExecutionCompleted | ExecutionFailed | ExecutionCancelled, entry: JournalEntry, seq: int
    ) -> None:
        ends = {
            ExecutionCompleted: ExecutionStatus.COMPLETED,
            ExecutionFailed: ExecutionStatus.FAILED,
            ExecutionCancelled: ExecutionStatus.CANCELLED,
        }
        self.lifecycle_seq = seq
        # who terminates against an owner ends it under an epoch of which nothing else is journaled
        self._epoch(entry.by.site.epoch or self.epoch, seq)
        self._become(ends[type(body)], seq)
        self.end, self.suspended = body, None
        if isinstance(body, ExecutionCancelled):
            self.applied.add(body.request)

    def _frame(self, body: AnyFrameBody, entry: JournalEntry, seq: int) -> None:
        frame = self.frames.get(body.fid)
        if isinstance(body, FrameStarted):
            self._started(body, entry, seq, frame)
        elif frame is None:
            self.anomalies.append(Anomaly(seq, f"{body.tag} of {body.fid}, which never started"))
        elif frame.status.ended:
            self.anomalies.append(Anomaly(seq, f"{body.tag} of {body.fid} after its outcome; ignored"))
        else:
            self._outcome(frame, body, entry, seq)

    def _started(self, body: FrameStarted, entry: JournalEntry, seq: int, frame: Frame | None) -> None:
        if frame is None:
            frame = Frame(body.fid, body.kind, body.name, body.digest, entry.by.at, seq, body.metadata)
            self.frames[body.fid] = self._live[body.fid] = frame
        elif frame.status.ended:
            self.anomalies.append(Anomaly(seq, f"attempt {body.attempt} of {body.fid} after its outcome"))
            return
        frame.status, frame.waits_on, frame.due_at = FrameStatus.RUNNING, None, None
        frame.attempts.append(AttemptView(body.attempt, entry.by.at, seq=seq, epoch=entry.by.site.epoch))

    def _outcome(self, frame: Frame, body: AnyFrameBody, entry: JournalEntry, seq: int) -> None:
        match body:
            case FrameCompleted():
                frame.status, frame.value = FrameStatus.COMPLETED, body.value
            case FrameFailed():
                frame.error = body.error
                if frame.attempts:
                    frame.attempts[-1].error = body.error
                if body.retry_at is None:
                    frame.status = FrameStatus.FAILED
            case FrameCancelled():
                frame.status, frame.why = FrameStatus.CANCELLED, body.why
            case FrameSuspended():
                frame.status, frame.waits_on = FrameStatus.WAITING, body.on
                frame.due_at = body.on.due_at if isinstance(body.on, OnTimer) else body.deadline
            case FrameFulfilled():
                frame.waits_on = None
                if isinstance(body.on, OnChannel) and body.message_seq is not None:
                    frame.message_seq = body.message_seq
                    self.consumed.setdefault(body.on.channel, set()).add(body.message_seq)
                    last = (body.message_seq, body.message_commit or 0)
                    self.last_consumed[body.on.channel] = max(last, self.last_consumed.get(body.on.channel, last))
        if isinstance(body, _ENDING_ATTEMPTS) and frame.attempts:
            frame.attempts[-1].ended_at = entry.by.at
        if frame.status.ended:
            self._live.pop(frame.fid, None)
            frame.ended_at, frame.outcome_seq, frame.waits_on = entry.by.at, seq, None
