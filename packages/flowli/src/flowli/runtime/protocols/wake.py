"""Wake-ups: what causes a RESUME, and the task that carries it.

A RESUME is only a wake-up: all it says can be read elsewhere. Its key names one cause that cannot recur, so that
however many processes enqueue it, it is one task; one whose cause is already journaled is acked unread.

A key is the cause's ``reason`` and its ``detail``, with a colon between: ``message:orders:17``.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import ClassVar, TypeAlias

from flowli.domain.data import Data
from flowli.domain.ids import Eid, Fid, frame_hash
from flowli.domain.provenance import Provenance
from flowli.domain.tasks import Task, TaskKind
from flowli.timestamp import Timestamp

__all__ = [
    "AuditCause",
    "Cause",
    "ChildCause",
    "CodeCause",
    "ExpiredCause",
    "MessageCause",
    "RequestCause",
    "StepCause",
    "TimerCause",
    "resume_task",
]


@dataclass(frozen=True, slots=True)
class _Cause:
    """What all causes share; ``reason`` is one word for people."""

    reason: ClassVar[str]

    @property
    def detail(self) -> str:
        """Tells causes of one kind apart."""
        return ":".join(str(getattr(self, one.name)) for one in fields(self))

    @property
    def key(self) -> str:
        """Names this cause among all causes of the execution."""
        return f"{self.reason}:{self.detail}"


@dataclass(frozen=True, slots=True)
class MessageCause(_Cause):
    """A message arrived."""

    reason: ClassVar[str] = "message"
    channel: str
    seq: int


@dataclass(frozen=True, slots=True)
class TimerCause(_Cause):
    """A timer fired."""

    reason: ClassVar[str] = "timer"
    timer_id: str


@dataclass(frozen=True, slots=True)
class ChildCause(_Cause):
    """A child ended."""

    reason: ClassVar[str] = "child"
    eid: Eid


@dataclass(frozen=True, slots=True)
class StepCause(_Cause):
    """A detached step has the outcome of an attempt; ``run`` counts the runs of one that was deferred."""

    reason: ClassVar[str] = "step"
    fid: Fid
    attempt: int
    run: int = 1

    @property
    def detail(self) -> str:
        """Of the RUN_STEP task as well."""
        return f"{frame_hash(self.fid)}:{self.attempt}" + (f".{self.run}" if self.run > 1 else "")


@dataclass(frozen=True, slots=True)
class RequestCause(_Cause):
    """A request was left in the lease."""

    reason: ClassVar[str] = "request"
    id: str


@dataclass(frozen=True, slots=True)
class ExpiredCause(_Cause):
    """The owner of ``epoch`` vanished."""

    reason: ClassVar[str] = "expired"
    epoch: int


@dataclass(frozen=True, slots=True)
class CodeCause(_Cause):
    """A worker with other code than the one that parked it is here."""

    reason: ClassVar[str] = "code"
    code_ref: str


@dataclass(frozen=True, slots=True)
class AuditCause(_Cause):
    """The audit found something satisfied that nobody had acted on at journal entry ``seq``."""

    reason: ClassVar[str] = "audit"
    seq: int


Cause: TypeAlias = (
    MessageCause | TimerCause | ChildCause | StepCause | RequestCause | ExpiredCause | CodeCause | AuditCause
)


def resume_task(
    *, queue: str, priority: int, eid: Eid, cause: Cause, at: Timestamp, by: Provenance, payload: Data = None
) -> Task:
    """The RESUME of ``eid`` for ``cause``.

    Args:
        at: the instant of the cause itself (of the message, the due time, the child's end, ...), never the present.
        payload: the outcome of a child or of a detached step, if it is small.
    """
    return Task(
        queue=queue,
        kind=TaskKind.RESUME,
        target=eid,
        cause_at=at,
        enqueued_by=by,
        key=cause.key,
        reason=cause.reason,
        priority=priority,
        payload=payload,
    )
