"""Wake-ups: what causes a RESUME, and the task that carries it.

A RESUME is only a wake-up: all it says can be read elsewhere. Its key names one cause that cannot recur, so that
however many processes enqueue it, it is one task; one whose cause is already journaled is acked unread.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

from flowli.domain.data import Data
from flowli.domain.ids import Eid, Fid
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
class MessageCause:
    """A message arrived."""

    reason: ClassVar[str] = "message"
    channel: str
    seq: int

    @property
    def key(self) -> str:
        """Names this cause among all causes of the execution."""
        return f"message:{self.channel}:{self.seq}"


@dataclass(frozen=True, slots=True)
class TimerCause:
    """A timer fired."""

    reason: ClassVar[str] = "timer"
    timer_id: str

    @property
    def key(self) -> str:
        """Names this cause among all causes of the execution."""
        return f"timer:{self.timer_id}"


@dataclass(frozen=True, slots=True)
class ChildCause:
    """A child ended."""

    reason: ClassVar[str] = "child"
    eid: Eid

    @property
    def key(self) -> str:
        """Names this cause among all causes of the execution."""
        return f"child:{self.eid}"


@dataclass(frozen=True, slots=True)
class StepCause:
    """A detached step has its outcome."""

    reason: ClassVar[str] = "step"
    fid: Fid
    attempt: int

    @property
    def key(self) -> str:
        """Names this cause among all causes of the execution."""
        return f"step:{hashlib.sha256(self.fid.encode()).hexdigest()[:16]}:{self.attempt}"


@dataclass(frozen=True, slots=True)
class RequestCause:
    """A request was left in the lease."""

    reason: ClassVar[str] = "request"
    id: str

    @property
    def key(self) -> str:
        """Names this cause among all causes of the execution."""
        return f"request:{self.id}"


@dataclass(frozen=True, slots=True)
class ExpiredCause:
    """The owner of ``epoch`` vanished."""

    reason: ClassVar[str] = "expired"
    epoch: int

    @property
    def key(self) -> str:
        """Names this cause among all causes of the execution."""
        return f"expired:{self.epoch}"


@dataclass(frozen=True, slots=True)
class CodeCause:
    """A worker with other code than the one that parked it is here."""

    reason: ClassVar[str] = "code"
    code_ref: str

    @property
    def key(self) -> str:
        """Names this cause among all causes of the execution."""
        return f"code:{self.code_ref}"


@dataclass(frozen=True, slots=True)
class AuditCause:
    """The audit found something satisfied that nobody had acted on at journal entry ``seq``."""

    reason: ClassVar[str] = "audit"
    seq: int

    @property
    def key(self) -> str:
        """Names this cause among all causes of the execution."""
        return f"audit:{self.seq}"


Cause: TypeAlias = (
    MessageCause | TimerCause | ChildCause | StepCause | RequestCause | ExpiredCause | CodeCause | AuditCause
)


def resume_task(
    *, queue: str, priority: int, eid: Eid, cause: Cause, at: Timestamp, by: Provenance, payload: Data = None
) -> Task:
    """The RESUME of ``eid`` for ``cause``.

    Args:
        at: the instant of the cause itself (of the message, the due time, the child's end, ...), never the present.
        payload: a child's outcome, if it is small.
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
