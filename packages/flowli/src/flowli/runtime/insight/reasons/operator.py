"""Why only an operator moves it: paused, parked, set aside."""

from __future__ import annotations

from flowli.domain.entries import ExecutionPaused
from flowli.domain.waits import OnOperator
from flowli.runtime.insight import places
from flowli.runtime.insight.explanation import Explanation, Moves
from flowli.runtime.insight.reasons.case import Case, act, actor, counted, when, whole
from flowli.runtime.insight.reasons.names import Reason

__all__ = ["code_changed", "dead_letter", "parked", "paused"]

_RELEASES = frozenset({"cancel", "unpause", "terminate", "migrate"})


def dead_letter(case: Case) -> Explanation | None:
    """One of its tasks was set aside."""
    seen, on = case.seen, _held_up(case)
    if on is not None and on.cause != "dead_letter":
        return None
    dead = next((one for one in seen.dead if on is None or one.task.task_id == on.task), None)
    if dead is None and on is None:
        return None
    if dead is None:
        cause, queue = on.reason if on is not None else "", seen.execution.queue
        told = f"a task of it was set aside and is no longer among the dead letters of queue '{queue}'"
    else:
        cause, queue = dead.cause, dead.task.queue
        told = f"its task {dead.task.task_id} was set aside on queue '{queue}' at {when(dead.died_at)}"
    actions = [act("let it go on without that task", "resume", case.eid)]
    if dead is not None:
        actions.insert(0, act("put the task back", "dead-letters", "retry", case.eid))
    return case.is_because(
        Reason.DEAD_LETTER,
        f"{told}: {cause}",
        Moves.OPERATOR,
        *actions,
        act("give it up", "cancel", case.eid),
        journal=(seen.fold.lifecycle_seq if on is not None else None,),
        keys=() if dead is None else (places.dead(dead),),
        details=() if dead is None or not dead.deaths else (f"{counted(dead.deaths, 'worker')} died of it.",),
    )


def paused(case: Case) -> Explanation | None:
    """An operator paused it."""
    on = _held_up(case)
    if on is None or on.cause != "paused":
        return None
    (seq,) = case.seen.seq_of(ExecutionPaused.tag) or (case.seen.fold.lifecycle_seq,)
    by = case.seen.entries[seq - 1].by
    why = f": {on.reason}" if on.reason else ""
    return case.is_because(
        Reason.PAUSED,
        f"it was paused at {when(by.at)}{why}",
        Moves.OPERATOR,
        act("let it go on", "resume", case.eid),
        act("give it up", "cancel", case.eid),
        journal=(seq, case.seen.fold.lifecycle_seq),
        details=(f"The pause was carried out by {actor(by.actor)}.",),
    )


def code_changed(case: Case) -> Explanation | None:
    """Its code no longer does what the journal records."""
    on = _held_up(case)
    if on is None or on.cause != "nondeterminism":
        return None
    at = case.seen.entries[case.seen.fold.lifecycle_seq - 1].at
    code = f" (code {on.code_ref})" if on.code_ref else ""
    return case.is_because(
        Reason.CODE_CHANGED,
        f"{case.what} no longer repeats what it did{code}, and so it was parked at {when(at)}",
        Moves.OPERATOR,
        act("run it by a version that repeats it", "migrate", case.eid, "--version", "VERSION", fill=["VERSION"]),
        act("try once more, after the code that fits was deployed", "resume", case.eid),
        act("give it up", "cancel", case.eid),
        journal=(case.seen.fold.lifecycle_seq,),
        details=(whole(f"the first difference: {on.reason}"), "A worker with other code tries it by itself."),
    )


def parked(case: Case) -> Explanation | None:
    """It waits for an operator for any other reason."""
    on = _held_up(case)
    if on is None:
        return None
    at = case.seen.entries[case.seen.fold.lifecycle_seq - 1].at
    return case.is_because(
        Reason.PARKED,
        f"it waits for an operator since {when(at)} ({on.cause})" + (f": {on.reason}" if on.reason else ""),
        Moves.OPERATOR,
        act("let it go on", "resume", case.eid),
        act("give it up", "cancel", case.eid),
        journal=(case.seen.fold.lifecycle_seq,),
    )


def _held_up(case: Case) -> OnOperator | None:
    """What it waits for an operator for, unless one has acted already or an owner is at it."""
    seen = case.seen
    if seen.owned or any(request.verb in _RELEASES for request in seen.requests):
        return None
    return seen.fold.parked
