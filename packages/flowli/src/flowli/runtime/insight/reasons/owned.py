"""Why it seems to stand still although a worker has it, or had it."""

from __future__ import annotations

from flowli.domain.entries import ExecutionCancelRequested
from flowli.domain.execution import ExecutionStatus
from flowli.domain.frames import FrameKind
from flowli.domain.memo import Frame
from flowli.domain.waits import OnOperator
from flowli.runtime.insight import places
from flowli.runtime.insight.explanation import Explanation, Moves
from flowli.runtime.insight.inspection import Inspection
from flowli.runtime.insight.reasons.case import Case, act, actor, counted, said, told_progress, when
from flowli.runtime.insight.reasons.names import Reason

__all__ = ["cancelling", "owner_lost", "running_code", "running_step"]


def owner_lost(case: Case) -> Explanation | None:
    """Its owner no longer renews the lease."""
    seen, queue = case.seen, case.seen.queue
    if not (seen.expired or (seen.fold.status is ExecutionStatus.RUNNING and not seen.owned)):
        return None
    at = when(seen.fold.at or seen.execution.created_at)
    lost = f"{case.owner} owns it and has not renewed its lease" if seen.owned else "nobody owns it"
    sweeps = seen.sweeper is not None and seen.sweeper.fresh(seen.at)
    works = queue.worker is not None and queue.worker.fresh(seen.at)
    take_over = act("take it over", "worker", "--queue", queue.name)
    if seen.tasks:
        told = f"its task in queue '{queue.name}' has the next worker take it over"
        actions = [take_over]
        moves = Moves.ITSELF if works else Moves.OPERATOR
    else:
        told = f"no task that has it taken over is in queue '{queue.name}'"
        actions = [act("put the task that has it taken over", "sweeper", "--eid", case.eid), take_over]
        moves = Moves.ITSELF if works and sweeps else Moves.OPERATOR
    return case.is_because(
        Reason.OWNER_LOST,
        f"{lost}; its journal ends at {at}, and {told}",
        moves,
        *actions,
        journal=(seen.fold.seq, seen.fold.lifecycle_seq),
        keys=(*((case.lease_key,) if seen.lease is not None else ()), *map(places.task, seen.tasks)),
        details=(*_lease(case), *_deaths(case)),
    )


def cancelling(case: Case) -> Explanation | None:
    """It was told to stop, and cleans up."""
    seen = case.seen
    if not _runs(seen) or seen.fold.cancel_requested is None:
        return None
    asked = [entry for entry in seen.entries if isinstance(entry.body, ExecutionCancelRequested)]
    frames = _steps(seen) or seen.fold.live_frames()
    doing = ", ".join(frame.fid for frame in frames) or "its code"
    return case.is_because(
        Reason.CANCELLING,
        f"its code was told to stop at {when(asked[-1].at)} and cleans up: {doing} is under way on {case.owner}",
        Moves.ITSELF,
        act("see it end", "watch", case.eid),
        act("end it without its clean-up", "terminate", case.eid),
        journal=(asked[-1].seq, *(case.attempt_seq(frame) for frame in frames)),
        keys=(case.lease_key,),
    )


def running_step(case: Case) -> Explanation | None:
    """A step is under way."""
    seen = case.seen
    steps = _steps(seen) if _runs(seen) else []
    if not steps:
        return None
    first = steps[0]
    since = first.attempts[-1].started_at
    more = f" and {len(steps) - 1} more" if len(steps) > 1 else ""
    return case.is_because(
        Reason.RUNNING_STEP,
        f"{first.kind} {first.fid}{more} is under way on {case.owner} since {when(since)}, attempt {first.attempt}",
        Moves.ITSELF,
        act("see it go on", "watch", case.eid),
        act("read what it printed and logged", "logs", case.eid, "--frame", first.fid),
        act("give it up", "cancel", case.eid),
        act("end it without its clean-up", "terminate", case.eid),
        journal=(case.attempt_seq(frame) for frame in steps),
        keys=(case.lease_key,),
        details=(*_lease(case), *_errors(steps), *told_progress(case, [frame.fid for frame in steps])),
    )


def running_code(case: Case) -> Explanation | None:
    """A worker owns it, and no frame of it is under way or waits."""
    seen = case.seen
    if not _runs(seen) or any(not isinstance(wait.on, OnOperator) for wait in seen.waits):
        return None
    at = seen.fold.at or seen.execution.created_at
    return case.is_because(
        Reason.RUNNING_CODE,
        f"{case.owner} runs its code; its last entry is of {when(at)}",
        Moves.ITSELF,
        act("see it go on", "watch", case.eid),
        act("end it without running its code", "terminate", case.eid),
        journal=(seen.fold.seq,),
        keys=(case.lease_key,),
        details=_lease(case),
    )


def _runs(seen: Inspection) -> bool:
    return seen.owned and not seen.expired


def _steps(seen: Inspection) -> list[Frame]:
    """The frames whose effect is under way."""
    waiting = {wait.fid for wait in seen.waits}
    kinds = (FrameKind.STEP, FrameKind.EFFECT)
    return [frame for frame in seen.fold.live_frames() if frame.kind in kinds and frame.fid not in waiting]


def _lease(case: Case) -> tuple[str, ...]:
    lease = case.seen.lease
    if lease is None:
        return ()
    told = [f"The lease has epoch {lease.epoch} and expires {lease.ttl_s:g} s after its last renewal."]
    for request in case.seen.requests:
        told.append(f"{actor(request.by.actor)} asked for {request.verb} at {when(request.by.at)}; it is not applied.")
    return tuple(told)


def _deaths(case: Case) -> tuple[str, ...]:
    died = sum(view.deaths for view in case.seen.tasks)
    return (f"{counted(died, 'worker')} died with its task before.",) if died else ()


def _errors(steps: list[Frame]) -> tuple[str, ...]:
    return tuple(
        f"The attempt before of {one.fid} failed: {said(one.error)}." for one in steps if one.error is not None
    )
