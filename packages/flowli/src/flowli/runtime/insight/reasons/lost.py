"""Why nobody was told to move it: something was left half done, or no sweeper is there."""

from __future__ import annotations

from flowli.domain.execution import ExecutionStatus
from flowli.domain.waits import OnChannel, OnChild, OnTimer
from flowli.runtime.insight import places
from flowli.runtime.insight.explanation import Explanation, Moves
from flowli.runtime.insight.inspection import Wait
from flowli.runtime.insight.reasons.case import Case, act, actor, counted, when
from flowli.runtime.insight.reasons.names import Reason

__all__ = ["anomaly", "no_sweeper", "request_lost", "start_lost", "timer_due", "unclear", "wakeup_lost"]


def start_lost(case: Case) -> Explanation | None:
    """It has a record, and no START."""
    seen = case.seen
    if seen.fold.seq or seen.owned or seen.tasks:
        return None
    return case.is_because(
        Reason.START_LOST,
        f"it was asked for at {when(seen.execution.created_at)}, and no START of it is in queue "
        f"'{seen.execution.queue}'",
        _mover(case),
        act("put its START", "sweeper", "--eid", case.eid),
        keys=(places.record(case.eid),),
        details=_sweeper(case),
    )


def request_lost(case: Case) -> Explanation | None:
    """An operator has asked for something, and nobody was told."""
    seen = case.seen
    if not seen.requests or (seen.owned and not seen.expired):
        return None
    first = seen.requests[0]
    return case.is_because(
        Reason.REQUEST_LOST,
        f"{actor(first.by.actor)} asked for {first.verb} at {when(first.by.at)}, and no task that tells a worker is in "
        f"queue '{seen.execution.queue}'",
        _mover(case),
        act("tell a worker of it", "sweeper", "--eid", case.eid),
        act("ask again", "resume" if first.verb == "unpause" else first.verb, case.eid, "--key", first.id),
        journal=(seen.fold.lifecycle_seq,),
        keys=(case.lease_key,),
        details=_sweeper(case),
    )


def timer_due(case: Case) -> Explanation | None:
    """One of its timers is due, and no sweeper has fired it."""
    seen = case.seen
    due = [timer for timer in seen.armed if timer.due_at <= seen.at]
    if not due or (seen.owned and not seen.expired):
        return None
    waits = [wait for wait in seen.waits if wait.fid == due[0].fid]
    return case.is_because(
        Reason.TIMER_DUE,
        f"its timer of {when(due[0].due_at)} is due and was not fired: {_no_sweeper(case)}",
        _mover(case),
        act("fire all timers that are due", "sweeper", "--once"),
        act("keep a sweeper running", "sweeper"),
        journal=(seen.fold.lifecycle_seq, *(wait.seq for wait in waits)),
        keys=[places.timer(timer) for timer in due if timer in seen.timers],
        details=_sweeper(case),
    )


def wakeup_lost(case: Case) -> Explanation | None:
    """What it waits for has come, and nobody was told."""
    seen = case.seen
    if seen.fold.suspended is None or seen.tasks:
        return None
    come = [wait for wait in seen.waits if seen.has_come(wait)]
    if not come and seen.fold.suspended.on:
        return None
    told = _come(case, come[0]) if come else "it was handed over"
    return case.is_because(
        Reason.WAKEUP_LOST,
        f"{told}, and no task that has it taken up is in queue '{seen.execution.queue}'",
        Moves.OPERATOR,
        act("put the task that has it taken up", "sweeper", "--eid", case.eid),
        journal=(seen.fold.lifecycle_seq, *(wait.seq for wait in come)),
        keys=(key for wait in come for key in _places(case, wait)),
        details=("The audit of a sweeper finds it within its period.", *_sweeper(case)),
    )


def no_sweeper(case: Case) -> Explanation | None:
    """It counts on a sweeper, and none is there."""
    seen = case.seen
    fresh = seen.sweeper is not None and seen.sweeper.fresh(seen.at)
    if fresh or not seen.armed or (seen.owned and not seen.expired):
        return None
    since = "" if seen.sweeper is None else f" since {when(seen.sweeper.at)}"
    return case.is_because(
        Reason.NO_SWEEPER,
        f"no sweeper has been seen{since or ' so far'}, and nothing else fires its timer of "
        f"{when(seen.armed[0].due_at)}",
        Moves.OPERATOR,
        act("keep a sweeper running", "sweeper"),
        keys=map(places.timer, seen.timers),
        journal=(seen.fold.lifecycle_seq,),
    )


def anomaly(case: Case) -> Explanation | None:
    """Something in its journal does not fit."""
    found = case.seen.anomalies
    if not found:
        return None
    return case.is_because(
        Reason.ANOMALY,
        f"its journal holds {counted(len(found), 'entry').replace('entrys', 'entries')} that do not fit, the first one "
        f"at {found[0].seq}: {found[0].problem}",
        Moves.OPERATOR if case.seen.fold.status is not ExecutionStatus.COMPLETED else Moves.NOBODY,
        act("look at the journal", "journal", case.eid),
        journal=(one.seq for one in found),
        keys=(places.journal(case.eid),),
    )


def unclear(case: Case) -> Explanation | None:
    """None of the reasons holds."""
    seen = case.seen
    return case.is_because(
        Reason.UNCLEAR,
        f"by its journal it is {seen.fold.status} since {when(seen.fold.at or seen.execution.created_at)}, and nothing "
        "in the bucket says why it does not go on",
        Moves.OPERATOR,
        act("look at the journal", "journal", case.eid),
        act("look after it, as sweepers do", "sweeper", "--eid", case.eid),
        journal=(seen.fold.seq,),
    )


def _come(case: Case, wait: Wait) -> str:
    match wait.on:
        case OnChannel(channel) if unread := case.seen.channel(channel).unread:
            first = next((one for one in unread if case.seen.fits(wait.fid, one)), unread[0])
            name = channel.rpartition(".")[2]
            return f"message {first.seq} on channel '{name}' came at {when(first.sent_by.at)}"
        case OnChild(eid):
            return f"child {eid} has ended"
        case OnTimer(due_at):
            return f"the instant {when(due_at)} has passed"
        case _:
            return f"the deadline {when(wait.deadline)} has passed" if wait.deadline else "it goes on"


def _places(case: Case, wait: Wait) -> tuple[str, ...]:
    match wait.on:
        case OnChannel(channel):
            return (places.channel(channel),)
        case OnChild(eid):
            return (places.journal(eid),)
        case _:
            return ()


def _mover(case: Case) -> Moves:
    seen = case.seen.sweeper
    return Moves.ITSELF if seen is not None and seen.fresh(case.seen.at) else Moves.OPERATOR


def _no_sweeper(case: Case) -> str:
    seen, number = case.seen, case.seen.due_timers or 0
    due, are = counted(number, "timer"), "is" if number == 1 else "are"
    if seen.sweeper is None:
        return f"no sweeper has been seen so far, {due} {are} due"
    if not seen.sweeper.fresh(seen.at):
        return f"no sweeper has been seen since {when(seen.sweeper.at)}, {due} {are} due"
    return f"the sweeper {seen.sweeper.worker} was seen at {when(seen.sweeper.at)}, {due} {are} due"


def _sweeper(case: Case) -> tuple[str, ...]:
    seen = case.seen.sweeper
    if seen is None:
        return ("No sweeper has been seen so far.",)
    return (f"A sweeper ({seen.worker}) was seen last at {when(seen.at)}.",)
