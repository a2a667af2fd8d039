"""Entries of the control log: what is known of all executions. They hold digests, never arguments or results."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, TypeAlias

from flowli.domain.data import Data, Scalar
from flowli.domain.errors import ErrorInfo
from flowli.domain.execution import DEFAULT_PRIORITY, ExecutionStatus, Origin
from flowli.domain.ids import Eid, Fid, FrameRef
from flowli.domain.provenance import Provenance
from flowli.domain.unknown import UnknownBody
from flowli.domain.waits import On
from flowli.timestamp import Timestamp

__all__ = [
    "Announced",
    "AttributesSet",
    "ControlBody",
    "ControlEntry",
    "ExecutionArchived",
    "ExecutionCreated",
    "OperatorActed",
    "StatusChanged",
    "TaskEnqueued",
]


@dataclass(frozen=True, slots=True)
class ExecutionCreated:
    """An execution was asked for. The record without its arguments."""

    tag: ClassVar[str] = "execution.created"
    eid: Eid
    workflow: str
    version: str
    args_digest: str
    queue: str
    created_at: Timestamp
    priority: int = DEFAULT_PRIORITY
    parent: FrameRef | None = None
    dispatch_key: str | None = None
    origin: Origin | None = None


@dataclass(frozen=True, slots=True)
class StatusChanged:
    """The twin of a lifecycle entry. Folds keep the one with the greatest ``journal_seq`` of each execution.

    Attributes:
        entry: tag of the journal entry, for example ``execution.completed``.
        on: what a suspended execution waits on, as in the journal entry; ``others`` is how many things more that is.
        error: of a failed one: its type and message, no traceback.
        version: of a started, resumed or migrated one.
    """

    tag: ClassVar[str] = "execution.status"
    eid: Eid
    status: ExecutionStatus
    entry: str
    epoch: int
    journal_seq: int
    on: tuple[On, ...] = ()
    reason: str = ""
    error: ErrorInfo | None = None
    version: str | None = None
    others: int = 0


@dataclass(frozen=True, slots=True)
class TaskEnqueued:
    """A task that is not a wake-up was put on a queue: DELEGATE and RUN_STEP."""

    tag: ClassVar[str] = "task.enqueued"
    eid: Eid
    queue: str
    kind: str
    task_id: str


@dataclass(frozen=True, slots=True)
class Announced:
    """A public fact of a workflow, or a definition (schedule, paused queue) that readers fold. ``topic`` is a name."""

    tag: ClassVar[str] = "announce"
    topic: str
    data: Data
    eid: Eid | None = None
    fid: Fid | None = None


@dataclass(frozen=True, slots=True)
class AttributesSet:
    """Searchable attributes of an execution; a None removes one."""

    tag: ClassVar[str] = "execution.attributes"
    eid: Eid
    attributes: dict[str, Scalar]


@dataclass(frozen=True, slots=True)
class ExecutionArchived:
    """Retention folded the finished execution into its archive."""

    tag: ClassVar[str] = "execution.archived"
    eid: Eid


@dataclass(frozen=True, slots=True)
class OperatorActed:
    """An operator verb: who is in the provenance; ``key`` makes it once-only; ``digest`` is of its content."""

    tag: ClassVar[str] = "operator.acted"
    verb: str
    eid: Eid | None
    reason: str
    key: str | None = None
    digest: str = ""


ControlBody: TypeAlias = (
    ExecutionCreated
    | StatusChanged
    | TaskEnqueued
    | Announced
    | AttributesSet
    | ExecutionArchived
    | OperatorActed
    | UnknownBody
)


@dataclass(frozen=True, slots=True)
class ControlEntry:
    """One entry of the control log. ``seq`` counts entries from 1; 0 while it is not yet appended.

    Attributes:
        more: fields of the body that a newer release wrote; they are kept when the entry is copied.
    """

    body: ControlBody
    by: Provenance
    seq: int = 0
    more: dict[str, Data] | None = None

    @property
    def at(self) -> Timestamp:
        """When, by the writer's clock."""
        return self.by.at

    def is_late(self, epoch: int) -> bool:
        """Whether an owner wrote it that had been replaced: the one of ``epoch`` has done it again, or need not.

        Nothing fences the control log, so that a process that was frozen over a write makes it when it goes on.
        """
        return 0 < self.by.site.epoch < epoch
