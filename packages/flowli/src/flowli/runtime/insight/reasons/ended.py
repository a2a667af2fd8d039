"""Why nothing more happens: it has ended."""

from __future__ import annotations

from flowli.domain.entries import ExecutionCancelled, ExecutionCancelRequested, ExecutionCompleted, ExecutionFailed
from flowli.domain.frames import FrameKind
from flowli.runtime.insight import places
from flowli.runtime.insight.culprit import culprit
from flowli.runtime.insight.explanation import Explanation, Moves
from flowli.runtime.insight.reasons.case import Case, act, actor, counted, said, when
from flowli.runtime.insight.reasons.names import Reason

__all__ = ["cancelled", "completed", "erased", "failed"]


def erased(case: Case) -> Explanation | None:
    """Its payloads were removed on request."""
    seen = case.seen
    if not seen.fold.erased:
        return None
    seqs = seen.seq_of("execution.erased")
    by = seen.entries[seqs[0] - 1].by
    end = f"It had ended as {seen.fold.status}."
    return case.is_because(
        Reason.ERASED,
        f"{actor(by.actor)} erased its payloads at {when(by.at)}; what stays is what it did and when",
        Moves.NOBODY,
        act("show what stays", "show", case.eid),
        journal=(*seqs, seen.fold.lifecycle_seq),
        keys=_archive(case),
        details=(end,),
    )


def completed(case: Case) -> Explanation | None:
    """Its function returned."""
    seen = case.seen
    if not isinstance(seen.fold.end, ExecutionCompleted):
        return None
    return case.is_because(
        Reason.COMPLETED,
        f"it completed at {_ended(case)}",
        Moves.NOBODY,
        act("show what it did and returned", "show", case.eid, "--values"),
        act("start it again with the same input", "replay", case.eid),
        journal=(seen.fold.lifecycle_seq,),
        keys=_archive(case),
        details=_archived(case),
    )


def failed(case: Case) -> Explanation | None:
    """Its function raised."""
    seen, end = case.seen, case.seen.fold.end
    if not isinstance(end, ExecutionFailed):
        return None
    frame, what = culprit(case.eid, seen.fold, end), said(end.error)
    if frame is None:
        reason, sentence = Reason.FAILED, f"its own code raised at {_ended(case)}: {what}"
    elif frame.kind is FrameKind.CHILD:
        child = frame.metadata.get("eid")
        reason = Reason.CHILD_FAILED
        sentence = f"child {child} ended without a result, and so it failed at {_ended(case)}: {said(frame.error)}"
    elif frame.attempt > 1:
        reason = Reason.RETRIES_EXHAUSTED
        sentence = (
            f"step {frame.fid} failed {counted(frame.attempt, 'time')}, the last one allowed at {_ended(case)}: "
            f"{said(frame.error)}"
        )
    else:
        reason = Reason.STEP_FAILED
        why = said(frame.error)
        sentence = f"step {frame.fid} failed and may not be tried again, and so it failed at {_ended(case)}: {why}"
    actions = [
        act("go on from what failed, in a new execution", "retry", case.eid),
        act("start it again with the same input", "replay", case.eid),
    ]
    if reason is Reason.CHILD_FAILED and frame is not None:
        actions.insert(0, act("explain the child", "explain", frame.metadata.get("eid")))
    return case.is_because(
        reason,
        " ".join(sentence.split()),
        Moves.NOBODY,
        *actions,
        journal=(seen.fold.lifecycle_seq, None if frame is None else frame.outcome_seq),
        keys=_archive(case),
        details=_archived(case),
    )


def cancelled(case: Case) -> Explanation | None:
    """It was cancelled, or terminated."""
    seen, end = case.seen, case.seen.fold.end
    if not isinstance(end, ExecutionCancelled):
        return None
    asked = [entry for entry in seen.entries if isinstance(entry.body, ExecutionCancelRequested)]
    last = seen.entries[seen.fold.lifecycle_seq - 1]
    why = end.reason or seen.fold.cancel_requested or ""
    told = f": {why}" if why else ""
    if asked and not end.request:
        by = actor(asked[-1].by.actor)
        reason, sentence = Reason.CANCELLED, f"it was cancelled at {when(last.at)}, its code told by {by}{told}"
    else:
        by = actor(last.by.actor)
        reason, sentence = Reason.TERMINATED, f"{by} terminated it at {when(last.at)}{told}"
    return case.is_because(
        reason,
        sentence,
        Moves.NOBODY,
        act("start it again with the same input", "replay", case.eid),
        journal=(*(entry.seq for entry in asked), last.seq),
        keys=_archive(case),
        details=_archived(case),
    )


def _ended(case: Case) -> str:
    return when(case.seen.entries[case.seen.fold.lifecycle_seq - 1].at)


def _archive(case: Case) -> tuple[str, ...]:
    return () if case.seen.archived_at is None else (places.archive(case.eid),)


def _archived(case: Case) -> tuple[str, ...]:
    at = case.seen.archived_at
    return () if at is None else (f"It was archived at {when(at)}.",)
