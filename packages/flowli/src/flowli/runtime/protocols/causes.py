"""Whether what a RESUME says has had its effect: such a task is acked without taking the lease."""

from __future__ import annotations

import hashlib

from flowli.domain.entries import (
    ExecutionCancelled,
    ExecutionCancelRequested,
    ExecutionMigrated,
    ExecutionPaused,
    ExecutionUnpaused,
    FrameCancelled,
    FrameCompleted,
    FrameDeferred,
    FrameFailed,
    FrameFulfilled,
    JournalEntry,
)
from flowli.domain.ids import Eid
from flowli.domain.memo import JournalFold
from flowli.domain.tasks import Task, TaskKind
from flowli.domain.waits import OnChannel, OnChild
from flowli.runtime.protocols.wake import ChildCause, MessageCause, RequestCause

__all__ = ["OUTCOMES", "answered_cause", "is_answered", "is_journaled", "request_of"]

OUTCOMES = (FrameCompleted, FrameFailed, FrameDeferred, FrameFulfilled, FrameCancelled)
"""Entries that show that an execution has come on."""


def is_journaled(task: Task, fold: JournalFold) -> bool:
    """Whether the cause of a task has had its effect already."""
    return fold.seq > 0 if task.kind is TaskKind.START else is_answered(task.key, fold)


def is_answered(cause: str, fold: JournalFold) -> bool:
    """Whether the cause with this key has had its effect already."""
    kind, _, rest = cause.partition(":")
    match kind:
        case "message":
            channel, _, seq = rest.rpartition(":")
            return int(seq) in fold.consumed.get(channel, ())
        case "request":
            return rest in fold.applied
        case "child":
            return any(frame.metadata.get("eid") == rest and frame.status.ended for frame in fold.frames.values())
        case "timer":
            frame_hash = rest.rpartition("-")[2]
            return any(frame.status.ended and _hash(fid) == frame_hash for fid, frame in fold.frames.items())
        case _:
            return False


def answered_cause(entry: JournalEntry, fold: JournalFold) -> str | None:
    """The key of the RESUME whose cause this entry journals, if there is one.

    Args:
        fold: of the journal up to the entry or beyond it.
    """
    match entry.body:
        case FrameFulfilled(on=OnChannel(channel), message_seq=int(seq)):
            return MessageCause(channel, seq).key
        case FrameFulfilled(on=OnChild(eid)):
            return ChildCause(eid).key
        case FrameFailed(fid=fid, retry_at=None):
            child = fold.frames[fid].metadata.get("eid") if fid in fold.frames else None
            return ChildCause(Eid(child)).key if isinstance(child, str) else None
        case _:
            request = request_of(entry)
            return None if request is None else RequestCause(request).key


def request_of(entry: JournalEntry) -> str | None:
    """The id of the request that this entry answers, if it answers one."""
    match entry.body:
        case (
            ExecutionPaused(request=request)
            | ExecutionUnpaused(request=request)
            | ExecutionCancelRequested(request=request)
            | ExecutionCancelled(request=request)
            | ExecutionMigrated(request=request)
        ):
            return request or None
        case _:
            return None


def _hash(fid: str) -> str:
    return hashlib.sha256(fid.encode()).hexdigest()[:16]
