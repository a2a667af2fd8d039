"""Entries of the journal and of the control log: the only way in which anything changes.

The journal is the authority on one execution; its entry comes first, the twin in the control log second. What
workflow code can observe is in the journal or computed from it. The bodies of the control log stand in
``control_entries``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, TypeAlias

from flowli.domain.control_entries import (
    Announced,
    AttributesSet,
    ControlBody,
    ControlEntry,
    ExecutionArchived,
    ExecutionCreated,
    OperatorActed,
    StatusChanged,
    TaskEnqueued,
)
from flowli.domain.data import Data
from flowli.domain.errors import ErrorInfo
from flowli.domain.execution import Execution
from flowli.domain.frames import FrameKind
from flowli.domain.ids import Fid
from flowli.domain.provenance import Provenance
from flowli.domain.unknown import UnknownBody
from flowli.domain.waits import On
from flowli.timestamp import Timestamp

__all__ = [
    "START",
    "AnyFrameBody",
    "Announced",
    "AttributesSet",
    "ControlBody",
    "ControlEntry",
    "ExecutionArchived",
    "ExecutionCancelRequested",
    "ExecutionCancelled",
    "ExecutionCompleted",
    "ExecutionCreated",
    "ExecutionErased",
    "ExecutionFailed",
    "ExecutionMigrated",
    "ExecutionPatched",
    "ExecutionPaused",
    "ExecutionResumed",
    "ExecutionStarted",
    "ExecutionSuspended",
    "ExecutionUnpaused",
    "FrameCancelled",
    "FrameCompleted",
    "FrameDeferred",
    "FrameFailed",
    "FrameFulfilled",
    "FrameStarted",
    "FrameSuspended",
    "JournalBody",
    "JournalEntry",
    "OperatorActed",
    "Position",
    "StatusChanged",
    "TaskEnqueued",
    "UnknownBody",
]


@dataclass(frozen=True, slots=True, order=True)
class Position:
    """A place in a log: after ``commit`` commits and ``seq`` entries."""

    commit: int
    seq: int


START = Position(0, 0)


@dataclass(frozen=True, slots=True)
class ExecutionStarted:
    """The first entry. Repeats the whole record; its ``at`` is the record's ``created_at``."""

    tag: ClassVar[str] = "execution.started"
    execution: Execution


@dataclass(frozen=True, slots=True)
class ExecutionResumed:
    """A worker took the execution over; from here on only entries of ``epoch`` count until the next takeover."""

    tag: ClassVar[str] = "execution.resumed"
    epoch: int
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ExecutionSuspended:
    """Every live frame waits. This entry is the release of the lease of ``epoch``.

    Attributes:
        on: what it waits on: all that no earlier entry named, and some of the rest. Empty if it was only handed over.
        others: how many things more it waits on; the ``frame.suspended`` of its live frames tell which. So the entries
            of a fan-in of n, which is woken n times, are O(n) bytes in all.
    """

    tag: ClassVar[str] = "execution.suspended"
    on: tuple[On, ...]
    epoch: int
    others: int = 0


@dataclass(frozen=True, slots=True)
class ExecutionPaused:
    """An operator asked that nothing go on until ``unpaused``."""

    tag: ClassVar[str] = "execution.paused"
    reason: str
    request: str = ""


@dataclass(frozen=True, slots=True)
class ExecutionUnpaused:
    """An operator let it go on."""

    tag: ClassVar[str] = "execution.unpaused"
    reason: str
    request: str = ""


@dataclass(frozen=True, slots=True)
class ExecutionCancelRequested:
    """Stands at the point where the cancel is delivered to the code."""

    tag: ClassVar[str] = "execution.cancel_requested"
    reason: str
    request: str = ""


@dataclass(frozen=True, slots=True)
class ExecutionPatched:
    """What ``ctx.patched(change_id)`` answers in this execution."""

    tag: ClassVar[str] = "execution.patched"
    change_id: str
    value: bool


@dataclass(frozen=True, slots=True)
class ExecutionMigrated:
    """An operator moved the execution to another version of its workflow."""

    tag: ClassVar[str] = "execution.migrated"
    from_version: str
    to_version: str
    reason: str = ""
    request: str = ""


@dataclass(frozen=True, slots=True)
class ExecutionErased:
    """The payloads of this finished execution were removed on request."""

    tag: ClassVar[str] = "execution.erased"
    reason: str = ""


@dataclass(frozen=True, slots=True)
class ExecutionCompleted:
    """The function returned. Terminal."""

    tag: ClassVar[str] = "execution.completed"
    value: Data


@dataclass(frozen=True, slots=True)
class ExecutionFailed:
    """The function raised. Terminal."""

    tag: ClassVar[str] = "execution.failed"
    error: ErrorInfo


@dataclass(frozen=True, slots=True)
class ExecutionCancelled:
    """The function ended in the cancel that was requested, or it was terminated. Terminal."""

    tag: ClassVar[str] = "execution.cancelled"
    reason: str = ""
    request: str = ""


@dataclass(frozen=True, slots=True)
class FrameStarted:
    """An attempt of a frame began. For attempt 1 it is a command of the code; later attempts are the engine's.

    Attributes:
        digest: sha256 of the canonical arguments; a replay compares it.
        metadata: small map: ``due_at``, ``channel``, ``deadline``, ``irreversible``, ...
    """

    tag: ClassVar[str] = "frame.started"
    fid: Fid
    kind: FrameKind
    name: str
    digest: str
    attempt: int = 1
    metadata: dict[str, Data] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FrameCompleted:
    """An outcome with a value. The first one of a frame is its memo."""

    tag: ClassVar[str] = "frame.completed"
    fid: Fid
    attempt: int
    value: Data


@dataclass(frozen=True, slots=True)
class FrameFailed:
    """An attempt failed. With ``retry_at`` another attempt follows; without, the failure is the frame's outcome."""

    tag: ClassVar[str] = "frame.failed"
    fid: Fid
    attempt: int
    error: ErrorInfo
    retryable: bool
    retry_at: Timestamp | None = None


@dataclass(frozen=True, slots=True)
class FrameDeferred:
    """The step asked to be run again at ``until``; no attempt was used."""

    tag: ClassVar[str] = "frame.deferred"
    fid: Fid
    attempt: int
    until: Timestamp


@dataclass(frozen=True, slots=True)
class FrameCancelled:
    """The code stopped waiting for the frame: ``cancelled``, ``timeout``, ``disarmed`` (a timer no longer needed)."""

    tag: ClassVar[str] = "frame.cancelled"
    fid: Fid
    attempt: int
    why: str


@dataclass(frozen=True, slots=True)
class FrameSuspended:
    """The frame waits while nobody owns the execution."""

    tag: ClassVar[str] = "frame.suspended"
    fid: Fid
    attempt: int
    on: On
    deadline: Timestamp | None = None


@dataclass(frozen=True, slots=True)
class FrameFulfilled:
    """What the frame waited on has come. Its outcome follows in the same commit.

    Attributes:
        message_seq: of the message consumed; ``message_commit`` is its commit, where a later reader of the channel
            begins.
    """

    tag: ClassVar[str] = "frame.fulfilled"
    fid: Fid
    attempt: int
    on: On
    message_seq: int | None = None
    message_commit: int | None = None


AnyFrameBody: TypeAlias = (
    FrameStarted | FrameCompleted | FrameFailed | FrameDeferred | FrameCancelled | FrameSuspended | FrameFulfilled
)
JournalBody: TypeAlias = (
    ExecutionStarted
    | ExecutionResumed
    | ExecutionSuspended
    | ExecutionPaused
    | ExecutionUnpaused
    | ExecutionCancelRequested
    | ExecutionPatched
    | ExecutionMigrated
    | ExecutionErased
    | ExecutionCompleted
    | ExecutionFailed
    | ExecutionCancelled
    | AnyFrameBody
    | UnknownBody
)


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """One entry of a journal. ``seq`` counts entries from 1; 0 while it is not yet appended.

    Attributes:
        more: fields of the body that a newer release wrote; they are kept when the entry is copied.
    """

    body: JournalBody
    by: Provenance
    seq: int = 0
    more: dict[str, Data] | None = None

    @property
    def at(self) -> Timestamp:
        """When, by the owner's clock; never before the entry that precedes it."""
        return self.by.at
