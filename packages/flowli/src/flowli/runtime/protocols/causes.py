"""Whether what a RESUME says has had its effect: such a task is acked without taking the lease."""

from __future__ import annotations

from collections.abc import Sequence

from flowli.domain.entries import (
    ExecutionCancelled,
    ExecutionCancelRequested,
    ExecutionMigrated,
    ExecutionPaused,
    ExecutionResumed,
    ExecutionSuspended,
    ExecutionUnpaused,
    FrameCancelled,
    FrameCompleted,
    FrameDeferred,
    FrameFailed,
    FrameFulfilled,
    JournalEntry,
)
from flowli.domain.ids import Eid, Fid, frame_hash
from flowli.domain.memo import Frame, JournalFold
from flowli.domain.tasks import Task, TaskKind
from flowli.domain.waits import OnChannel, OnChild, OnOperator, OnStep
from flowli.runtime.protocols.detached import cause_of, detached_queue
from flowli.runtime.protocols.wake import ChildCause, MessageCause, RequestCause

__all__ = ["OUTCOMES", "answered_cause", "is_answered", "is_journaled", "request_of", "was_held"]

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
            timed = rest.rpartition("-")[2]
            return any(frame.status.ended and frame_hash(fid) == timed for fid, frame in fold.frames.items())
        case "step":
            named = rest.partition(":")[0]
            step = next((frame for fid, frame in fold.frames.items() if frame_hash(fid) == named), None)
            return step is not None and _has_ended(step, cause)
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
        case FrameFulfilled(fid=fid, on=OnStep()) | FrameDeferred(fid=fid):
            return _step_cause(entry, fid, fold)
        case FrameFailed(fid=fid, retry_at=retry_at):
            child = fold.frames[fid].metadata.get("eid") if fid in fold.frames and retry_at is None else None
            return ChildCause(Eid(child)).key if isinstance(child, str) else _step_cause(entry, fid, fold)
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


def was_held(entries: Sequence[JournalEntry]) -> bool:
    """Whether the execution waited on the operator since its code last ran: wake-ups were acked meanwhile."""
    for entry in reversed(entries):
        match entry.body:
            case ExecutionSuspended(on) if any(isinstance(one, OnOperator) for one in on):
                return True
            case ExecutionSuspended(on=()) | ExecutionUnpaused() | ExecutionMigrated() | ExecutionResumed():
                pass
            case _:
                return False
    return False


def _has_ended(frame: Frame, cause: str) -> bool:
    """Whether the run of a detached step with this cause is over.

    A run that is not journaled is one that a fold of an earlier instant, of a coroutine kept warm, does not know yet.
    """
    if frame.status.ended:
        return True
    known = {cause_of(frame, before=one.seq + 1).key: one for one in frame.attempts}
    run = known.get(cause)
    return run is not None and (run is not frame.attempts[-1] or run.ended_at is not None)


def _step_cause(entry: JournalEntry, fid: Fid, fold: JournalFold) -> str | None:
    """The cause of a detached step of which ``entry`` is the outcome."""
    frame = fold.frames.get(fid)
    if frame is None or detached_queue(frame) is None:
        return None
    return cause_of(frame, before=entry.seq).key
