"""What observers are told: one frozen class for each kind of event."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from flowli.domain.errors import ErrorInfo
from flowli.domain.ids import Eid, Fid
from flowli.domain.waits import On
from flowli.timestamp import Timestamp

__all__ = [
    "AttemptBegan",
    "AttemptEnded",
    "AttemptOutcome",
    "Change",
    "Event",
    "ExecutionChanged",
    "LeaseWasLost",
    "StepRetries",
    "Swept",
    "Standing",
    "TaskGivenBack",
    "TaskSetAside",
    "TaskTaken",
    "WarmSought",
]


class Change(StrEnum):
    """What changed of an execution. The values are parts of the types of CloudEvents; they stay as they are."""

    CREATED = "created"
    STARTED = "started"
    RESUMED = "resumed"
    SUSPENDED = "suspended"
    PAUSED = "paused"
    UNPAUSED = "unpaused"
    CANCEL_REQUESTED = "cancel_requested"
    MIGRATED = "migrated"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    ERASED = "erased"
    ARCHIVED = "archived"


@dataclass(frozen=True, slots=True)
class ExecutionChanged:
    """A lifecycle change of an execution is durable in its journal (of ``created``: was announced).

    Attributes:
        eid: of the execution.
        change: which change.
        at: when, by the clock of who wrote it.
        workflow, version, queue: of the execution; empty if this process has not seen its record.
        epoch: of the lease under which it was written; 0 for none.
        journal_seq: of the entry in the journal; 0 for ``created`` and ``archived``, which have none.
        reason: why, for people.
        error: of ``failed``: type and message.
        on: of ``suspended``: what it waits on.
    """

    eid: Eid
    change: Change
    at: Timestamp
    workflow: str = ""
    version: str = ""
    queue: str = ""
    epoch: int = 0
    journal_seq: int = 0
    reason: str = ""
    error: ErrorInfo | None = None
    on: tuple[On, ...] = ()


@dataclass(frozen=True, slots=True)
class AttemptBegan:
    """An attempt of a step begins in this process."""

    eid: Eid
    fid: Fid
    attempt: int
    epoch: int
    workflow: str
    at: Timestamp


class AttemptOutcome(StrEnum):
    """How an attempt ended in this process."""

    RETURNED = "returned"
    RAISED = "raised"
    DEFERRED = "deferred"
    STOPPED = "stopped"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class AttemptEnded:
    """An attempt of a step has ended in this process; whether its outcome counts is decided by the journal.

    Attributes:
        outcome: ``stopped`` if nobody waits for it any more, ``refused`` if the lease was lost before it began.
        seconds: how long it took, waiting for a thread included.
        error_type: qualified name of the class of the error that it raised; empty for none.
    """

    eid: Eid
    fid: Fid
    attempt: int
    epoch: int
    workflow: str
    at: Timestamp
    outcome: AttemptOutcome
    seconds: float
    error_type: str = ""


@dataclass(frozen=True, slots=True)
class StepRetries:
    """An attempt failed and another one follows; both are durable in the journal.

    Attributes:
        attempt: the one that failed.
        retry_at: when the next one begins.
    """

    eid: Eid
    fid: Fid
    attempt: int
    workflow: str
    at: Timestamp
    error: ErrorInfo
    retry_at: Timestamp


@dataclass(frozen=True, slots=True)
class LeaseWasLost:
    """This process lost the lease of an execution that it was running; another one goes on."""

    eid: Eid
    at: Timestamp
    reason: str


@dataclass(frozen=True, slots=True)
class TaskTaken:
    """A worker begins with a task.

    Attributes:
        kind: ``START``, ``RESUME``, ``RUN_STEP`` or ``DELEGATE``.
        waited_s: seconds since the instant from which it could be taken, by this process's wall clock; at least 0.
        deaths: how many workers vanished over it.
    """

    eid: Eid
    queue: str
    kind: str
    task_id: str
    at: Timestamp
    waited_s: float
    deaths: int = 0


@dataclass(frozen=True, slots=True)
class TaskSetAside:
    """A task is among the dead letters now."""

    eid: Eid
    queue: str
    kind: str
    task_id: str
    at: Timestamp
    cause: str


@dataclass(frozen=True, slots=True)
class Swept:
    """A sweeper did something in a pass.

    Attributes:
        actions: how often it did what, by the names of ``SweepReport``; only what it did at least once.
    """

    at: Timestamp
    actions: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Standing:
    """A sweeper has counted the executions that have not ended, about once a minute.

    Attributes:
        counts: how many, by workflow and status.
    """

    at: Timestamp
    counts: Mapping[tuple[str, str], int]


@dataclass(frozen=True, slots=True)
class TaskGivenBack:
    """A worker gives a task back undone: it, or another one, takes it again.

    Attributes:
        why: ``elsewhere`` (another worker owns the execution), ``lease_lost``, ``stopping``, ``storage``,
            ``unknown_code``, ``other``.
    """

    eid: Eid
    queue: str
    kind: str
    task_id: str
    at: Timestamp
    why: str


@dataclass(frozen=True, slots=True)
class WarmSought:
    """A worker looked for the coroutine of an execution that goes on.

    Attributes:
        found: it was warm; otherwise the journal is replayed.
        kept: how many others this worker keeps warm.
    """

    eid: Eid
    at: Timestamp
    found: bool
    kept: int


Event: TypeAlias = (
    ExecutionChanged
    | AttemptBegan
    | AttemptEnded
    | StepRetries
    | LeaseWasLost
    | TaskTaken
    | TaskGivenBack
    | TaskSetAside
    | WarmSought
    | Swept
    | Standing
)
"""What an observer is told."""
