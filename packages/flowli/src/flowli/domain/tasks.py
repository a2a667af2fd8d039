"""Tasks: what queues hold."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from flowli.domain.data import Data
from flowli.domain.execution import DEFAULT_PRIORITY
from flowli.domain.ids import Eid
from flowli.domain.provenance import Provenance
from flowli.timestamp import Timestamp

__all__ = ["DeadTask", "QueueSettings", "Task", "TaskKind", "TaskLease", "TaskView"]


class TaskKind(StrEnum):
    """What a task asks for."""

    START = "START"
    RESUME = "RESUME"
    RUN_STEP = "RUN_STEP"
    DELEGATE = "DELEGATE"


@dataclass(frozen=True, slots=True)
class Task:
    """A request to do something for one execution.

    A RESUME is only a wake-up: all it says can be read elsewhere. Its key names one cause that cannot recur, and
    ``cause_at`` is the instant of that cause, so that every enqueuer of one task writes one and the same key.

    Attributes:
        queue: the queue.
        kind: what is asked for.
        target: the execution.
        cause_at: the instant of the cause: of the record, message, timer, child entry, ...
        key: tells apart tasks of one kind for one execution; "" for START.
        reason: one word for people: ``message``, ``timer``, ``child``, ``step``, ``request``, ``expired``, ``code``,
            ``audit``.
        not_before: a delayed task is invisible until then.
        priority: 0 first, 99 last.
        payload: START carries the whole record; RESUME may carry a child's outcome.
        enqueued_by: who put it there.
        more: fields that a newer release wrote; they are kept when the task is written anew.
    """

    queue: str
    kind: TaskKind
    target: Eid
    cause_at: Timestamp
    enqueued_by: Provenance
    key: str = ""
    reason: str = ""
    not_before: Timestamp | None = None
    priority: int = DEFAULT_PRIORITY
    payload: Data = None
    more: dict[str, Data] | None = None

    @property
    def task_id(self) -> str:
        """``{kind}:{eid}[:{key}]``."""
        return f"{self.kind}:{self.target}:{self.key}" if self.key else f"{self.kind}:{self.target}"


@dataclass(frozen=True, slots=True)
class TaskLease:
    """A task held by a worker.

    Attributes:
        epoch: rises with each taking.
        deaths: how often a holder vanished without releasing it.
        token: opaque; names this state of the lease to the backend.
    """

    task: Task
    holder: str
    epoch: int
    ttl_s: float
    deaths: int = 0
    token: str = ""


@dataclass(frozen=True, slots=True)
class TaskView:
    """A task as a listing shows it; ``holder`` is None while nobody holds it."""

    task: Task
    holder: str | None = None
    epoch: int = 0
    deaths: int = 0
    delayed: bool = False


@dataclass(frozen=True, slots=True)
class DeadTask:
    """A task that was set aside, with the cause in one sentence."""

    task: Task
    cause: str
    deaths: int
    died_at: Timestamp


@dataclass(frozen=True, slots=True)
class QueueSettings:
    """What holds for a queue in the whole fleet.

    Attributes:
        paused: the reason, or None while it is open.
        concurrency: how many of its tasks may be held at once; None for no limit.
        rate: tasks started per ``rate_period_s`` seconds; None for no limit.
    """

    paused: str | None = None
    concurrency: int | None = None
    rate: int | None = None
    rate_period_s: float = 1.0
