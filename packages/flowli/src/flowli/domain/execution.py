"""The execution record and the life of an execution."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from flowli.domain.data import Data
from flowli.domain.ids import Eid, Fid, FrameRef
from flowli.domain.provenance import Provenance
from flowli.timestamp import Timestamp

__all__ = ["DEFAULT_PRIORITY", "TRANSITIONS", "Execution", "ExecutionStatus", "Origin", "ParentClose"]

DEFAULT_PRIORITY = 50
"""Between 0 (first) and 99 (last)."""


class ExecutionStatus(StrEnum):
    """Where an execution stands. The last three are terminal: nothing leaves them, ever."""

    PENDING = "pending"
    RUNNING = "running"
    SUSPENDED = "suspended"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def terminal(self) -> bool:
        """Whether the execution has ended."""
        return not TRANSITIONS[self]


_ENDS = (ExecutionStatus.COMPLETED, ExecutionStatus.FAILED, ExecutionStatus.CANCELLED)

TRANSITIONS: dict[ExecutionStatus, frozenset[ExecutionStatus]] = {
    ExecutionStatus.PENDING: frozenset({ExecutionStatus.RUNNING, *_ENDS}),
    ExecutionStatus.RUNNING: frozenset({ExecutionStatus.RUNNING, ExecutionStatus.SUSPENDED, *_ENDS}),
    ExecutionStatus.SUSPENDED: frozenset({ExecutionStatus.RUNNING, ExecutionStatus.SUSPENDED, *_ENDS}),
    ExecutionStatus.COMPLETED: frozenset(),
    ExecutionStatus.FAILED: frozenset(),
    ExecutionStatus.CANCELLED: frozenset(),
}
"""The table that decides: the folds of the journal and of the control log consult it and nothing else."""


class ParentClose(StrEnum):
    """What becomes of a child whose parent ends first."""

    CANCEL = "cancel"
    ABANDON = "abandon"


@dataclass(frozen=True, slots=True)
class Origin:
    """The execution from which this one was made.

    Attributes:
        verb: ``fork``, ``retry`` or ``replay``.
        eid: the source.
        fid: the first frame that is not copied; None for replay, and for a retry that copies all of them.
        lineage: of a fork or retry: the executions whose frames it holds, the oldest first. The code draws the random
            numbers of the first of them, so that the copied frames replay.
    """

    verb: str
    eid: Eid
    fid: Fid | None = None
    lineage: tuple[Eid, ...] = ()


@dataclass(frozen=True, slots=True)
class Execution:
    """One run of a workflow, as it was asked for. It never changes, except ``version`` by migrate.

    Attributes:
        args: ``{"args": [...], "kwargs": {...}}``, JSON-compatible.
        created_by: who asked, where; its ``at`` is the instant of creation (of a fork: that of its source, since the
            copied frames are as old as that).
        queue: where its tasks go.
        priority: 0 first, 99 last.
        parent: the frame that started it as a child.
        dispatch_key: the business key under which it was started.
        origin: what it was forked, retried or replayed from.
        timeout_s: execution timeout in seconds from creation; None for none.
        more: fields that a newer release wrote; they are kept when the record is written anew.
    """

    eid: Eid
    workflow: str
    version: str
    args: dict[str, Data]
    created_by: Provenance
    queue: str = "default"
    priority: int = DEFAULT_PRIORITY
    parent: FrameRef | None = None
    parent_queue: str | None = None
    on_parent_close: ParentClose = ParentClose.CANCEL
    dispatch_key: str | None = None
    origin: Origin | None = None
    timeout_s: float | None = None
    more: dict[str, Data] | None = None

    @property
    def created_at(self) -> Timestamp:
        """When it was asked for; also the ``at`` of its ``execution.started``."""
        return self.created_by.at
