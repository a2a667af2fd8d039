"""``timeline``: what happened, in order, in words. Arguments, values and payloads only where they are asked for."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import assert_never

from flowli.domain import entries as e
from flowli.domain.data import Data
from flowli.domain.entries import JournalEntry
from flowli.domain.ids import Fid
from flowli.domain.provenance import Provenance
from flowli.domain.waits import On, OnChannel, OnChild, OnOperator, OnStep, OnTimer
from flowli.runtime.insight.inspection import Inspection
from flowli.runtime.insight.reasons.case import actor, said, when
from flowli.timestamp import Timestamp

__all__ = ["Moment", "timeline"]


@dataclass(frozen=True, slots=True)
class Moment:
    """Something that happened.

    Attributes:
        seq: of the journal entry; None for what stands elsewhere: the request for it, requests not yet applied, the
            archiving.
        kind: the tag of the entry, or ``execution.created``, ``request.{verb}``, ``execution.archived``.
        text: one line.
        values: what the entry holds of arguments and results; empty unless they were asked for.
    """

    at: Timestamp
    seq: int | None
    kind: str
    text: str
    by: Provenance | None = None
    fid: Fid | None = None
    values: dict[str, Data] = field(default_factory=dict)


def timeline(seen: Inspection, *, values: bool = False) -> tuple[Moment, ...]:
    """The moments of an execution, the earliest first; those of one instant in the order of the journal."""
    record = seen.execution
    key = f" under key {record.dispatch_key}" if record.dispatch_key else ""
    parent = f" by frame {record.parent.fid} of {record.parent.eid}" if record.parent else ""
    asked = f"{actor(record.created_by.actor)} asked for {record.workflow} {record.version}{key}{parent}"
    moments = [Moment(record.created_at, None, "execution.created", asked, record.created_by)]
    moments += [_moment(entry, values=values) for entry in seen.entries]
    for request in seen.requests:
        why = f": {request.reason}" if request.reason else ""
        text = f"{actor(request.by.actor)} asked for {request.verb}{why}; not applied yet"
        moments.append(Moment(request.by.at, None, f"request.{request.verb}", text, request.by))
    if seen.archived_at is not None:
        moments.append(Moment(seen.archived_at, None, "execution.archived", "archived"))
    return tuple(sorted(moments, key=lambda one: one.at))


def _moment(entry: JournalEntry, *, values: bool) -> Moment:
    fid = getattr(entry.body, "fid", None)
    held = _values(entry) if values else {}
    return Moment(entry.at, entry.seq, entry.body.tag, _text(entry), entry.by, fid, held)


def _values(entry: JournalEntry) -> dict[str, Data]:
    match entry.body:
        case e.ExecutionStarted(execution):
            return dict(execution.args)
        case e.ExecutionCompleted(value) | e.FrameCompleted(value=value):
            return {"value": value}
        case _:
            return {}


def _text(entry: JournalEntry) -> str:
    match body := entry.body:
        case (
            e.FrameStarted()
            | e.FrameCompleted()
            | e.FrameFailed()
            | e.FrameDeferred()
            | e.FrameCancelled()
            | e.FrameSuspended()
            | e.FrameFulfilled()
        ):
            return _frame(body)
        case e.ExecutionStarted():
            return f"begun by {entry.by.site.worker_id}"
        case e.ExecutionResumed(epoch, reasons):
            return f"taken over by {entry.by.site.worker_id} (epoch {epoch}): {', '.join(reasons) or 'no reason'}"
        case e.ExecutionSuspended(on, _, others):
            more = f" and {others} more" if others else ""
            return "suspended; waits for " + (", ".join(map(_on, on)) or "the next worker") + more
        case e.ExecutionPaused(reason):
            return _why("paused", reason)
        case e.ExecutionUnpaused(reason):
            return _why("let go on", reason)
        case e.ExecutionCancelRequested(reason):
            return _why("its code is told to stop", reason)
        case e.ExecutionPatched(change_id, value):
            return f"takes the {'new' if value else 'old'} path of change '{change_id}'"
        case e.ExecutionMigrated(before, after, reason):
            return _why(f"moved from version {before} to {after}", reason)
        case e.ExecutionErased(reason):
            return _why(f"erased by {actor(entry.by.actor)}", reason)
        case e.ExecutionCompleted():
            return "completed"
        case e.ExecutionFailed(error):
            return f"failed: {said(error)}"
        case e.ExecutionCancelled(reason):
            return _why("cancelled", reason)
        case e.UnknownBody():
            return "an entry that a newer version wrote"
        case _:
            assert_never(body)


def _frame(body: e.AnyFrameBody) -> str:
    match body:
        case e.FrameStarted(fid, kind, _, _, attempt):
            return f"{kind} {_name(fid)} begins" + (f", attempt {attempt}" if attempt > 1 else "")
        case e.FrameCompleted(fid):
            return f"{_name(fid)} completed"
        case e.FrameFailed(fid, attempt, error, _, retry_at):
            again = f"; again at {when(retry_at)}" if retry_at is not None else ""
            return f"{_name(fid)} failed in attempt {attempt}: {said(error)}{again}"
        case e.FrameDeferred(fid, _, until):
            return f"{_name(fid)} asks to be run again at {when(until)}"
        case e.FrameCancelled(fid, _, why):
            return f"{_name(fid)} given up: {why}"
        case e.FrameSuspended(fid, _, on, deadline):
            limit = f", until {when(deadline)}" if deadline is not None else ""
            return f"{_name(fid)} waits for {_on(on)}{limit}"
        case e.FrameFulfilled(fid, _, on, seq):
            number = f" {seq}" if seq is not None else ""
            return f"{_name(fid)} gets {_on(on)}{number}"
        case _:
            assert_never(body)


def _on(wait: On) -> str:
    match wait:
        case OnChannel(channel):
            return f"a message on channel '{channel.rpartition('.')[2]}'"
        case OnTimer(due_at):
            return when(due_at)
        case OnChild(eid):
            return f"child {eid}"
        case OnStep(fid, attempt):
            return f"step {_name(fid)} in another worker, attempt {attempt}"
        case OnOperator(cause, reason):
            return _why(f"an operator ({cause})", reason)
        case _:
            assert_never(wait)


def _name(fid: Fid) -> str:
    return fid.removeprefix("root/")


def _why(text: str, reason: str) -> str:
    return f"{text}: {' '.join(reason.split())}" if reason else text
