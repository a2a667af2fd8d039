"""What it waits for in good order."""

from __future__ import annotations

from flowli.domain.entries import FrameDeferred, FrameFailed
from flowli.domain.frames import FrameKind
from flowli.domain.ids import Fid
from flowli.domain.waits import OnChannel, OnChild, OnOperator, OnStep, OnTimer
from flowli.runtime.insight import places
from flowli.runtime.insight.explanation import Explanation, Moves, NextAction
from flowli.runtime.insight.inspection import Wait
from flowli.runtime.insight.reasons.case import Case, act, said, told_progress, when, whole
from flowli.runtime.insight.reasons.names import Reason
from flowli.runtime.insight.reasons.queued import start_worker

__all__ = ["waiting"]

_ORDER = (
    Reason.WAITING_STEP,
    Reason.WAITING_CHILD,
    Reason.WAITING_LEASE,
    Reason.WAITING_UPDATE,
    Reason.WAITING_MESSAGE,
    Reason.WAITING_RETRY,
    Reason.DEFERRED,
    Reason.SLEEPING,
)
_OUTSIDE = frozenset(_ORDER[1:5])
_LEASE, _UPDATE = "_lease-", "_update-"


def waiting(case: Case) -> Explanation | None:
    """The first of all that its frames wait for; the others are told in the details."""
    waits = [wait for wait in case.seen.waits if not isinstance(wait.on, OnOperator)]
    if not waits:
        return None
    ranked = sorted(waits, key=lambda wait: (_ORDER.index(_reason(case, wait)), wait.seq, wait.fid))
    first = ranked[0]
    reason = _reason(case, first)
    held = whole(f"{case.owner} holds it meanwhile") if case.seen.owned else ""
    return case.is_because(
        reason,
        _sentence(case, reason, first),
        _mover(case, reason, first),
        *_actions(case, reason, first),
        journal=(wait.seq for wait in ranked),
        keys=(key for wait in ranked for key in _places(case, wait)),
        details=(
            *(whole(f"besides, {_sentence(case, _reason(case, wait), wait)}") for wait in ranked[1:]),
            *((held,) if held else ()),
            *told_progress(case, [wait.fid for wait in ranked]),
            *_unread(case, first),
        ),
    )


def _mover(case: Case, reason: Reason, wait: Wait) -> Moves:
    if isinstance(wait.on, OnStep) and (step := case.seen.step(wait.on.fid)) is not None and step.holder is None:
        works = step.paused is None and step.worker is not None and step.worker.fresh(case.seen.at)
        return Moves.ITSELF if works else Moves.OPERATOR
    return Moves.OUTSIDE if reason in _OUTSIDE else Moves.ITSELF


def _reason(case: Case, wait: Wait) -> Reason:
    match wait.on:
        case OnStep():
            return Reason.WAITING_STEP
        case OnChild():
            return Reason.WAITING_CHILD
        case OnChannel(channel):
            name = channel.rpartition(".")[2]
            if name.startswith(_LEASE):
                return Reason.WAITING_LEASE
            return Reason.WAITING_UPDATE if name.startswith(_UPDATE) else Reason.WAITING_MESSAGE
        case _:
            frame = case.seen.fold.frames[wait.fid]
            if frame.kind is not FrameKind.STEP:
                return Reason.SLEEPING
            bodies = [one.body for one in case.seen.entries if isinstance(one.body, FrameDeferred | FrameFailed)]
            last = next((body for body in reversed(bodies) if body.fid == wait.fid), None)
            return Reason.DEFERRED if isinstance(last, FrameDeferred) else Reason.WAITING_RETRY


def _sentence(case: Case, reason: Reason, wait: Wait) -> str:
    until = f", until {when(wait.deadline)}" if wait.deadline is not None and isinstance(wait.on, OnChannel) else ""
    since, frame = when(wait.since), case.seen.fold.frames[wait.fid]
    match wait.on:
        case OnStep(fid, attempt):
            return f"{_elsewhere(case, fid)} since {since}, attempt {attempt}"
        case OnChild(eid):
            child = case.seen.child(eid)
            stands = f", which is {child.status}" if child is not None and child.status is not None else ""
            return f"it waits for child {eid} of workflow '{frame.name}'{stands}, since {since}"
        case OnChannel(channel) if reason is Reason.WAITING_LEASE:
            return f"another one holds the lease '{_lease_name(case, channel)}' for which it waits since {since}"
        case OnChannel(channel) if reason is Reason.WAITING_UPDATE:
            return f"it waits for an update '{_name(channel).removeprefix(_UPDATE)}' since {since}{until}"
        case OnChannel(channel):
            wanted = frame.metadata.get("correlation")
            only = f" with correlation '{wanted}'" if wanted else ""
            where = "channel" if "." in channel else "the global channel"
            return f"it waits for a message{only} on {where} '{_name(channel)}' since {since}{until}"
        case OnTimer(due_at) if reason is Reason.SLEEPING:
            return f"it sleeps until {when(due_at)}"
        case OnTimer(due_at) if reason is Reason.DEFERRED:
            return f"step {wait.fid} asked to be run again at {when(due_at)}"
        case OnTimer(due_at):
            return (
                f"step {wait.fid} failed ({said(frame.error)}) and is tried again at {when(due_at)}, "
                f"attempt {frame.attempt + 1}"
            )
        case OnOperator(cause):
            return f"it waits for an operator ({cause})"


def _elsewhere(case: Case, fid: Fid) -> str:
    step = case.seen.step(fid)
    if step is None:
        return f"step {fid} is with another worker"
    if step.holder is not None:
        return f"worker {step.holder.partition('/')[0]} runs step {fid} of queue '{step.queue}'"
    if step.paused is not None:
        return f"step {fid} waits in queue '{step.queue}', which is paused ({step.paused}),"
    if step.worker is None:
        return f"step {fid} waits in queue '{step.queue}', on which no worker has ever listened,"
    if not step.worker.fresh(case.seen.at):
        gone = when(step.worker.at)
        return f"step {fid} waits in queue '{step.queue}', on which no worker listens since {gone},"
    return f"step {fid} waits in queue '{step.queue}', where worker {step.worker.worker} listens,"


def _actions(case: Case, reason: Reason, wait: Wait) -> tuple[NextAction, ...]:
    give_up = act("give it up", "cancel", case.eid)
    match wait.on:
        case OnStep(fid):
            return (*_move_step(case, fid), act("see it go on", "watch", case.eid), give_up)
        case OnChild(eid):
            return act("explain the child", "explain", eid), act("see it go on", "watch", case.eid), give_up
        case OnChannel(channel) if reason is Reason.WAITING_MESSAGE and not _name(channel).startswith("_"):
            return _send(case, channel, wait), give_up
        case OnChannel():
            return act("see it go on", "watch", case.eid), give_up
        case _:
            return act("see it go on", "watch", case.eid), give_up


def _move_step(case: Case, fid: Fid) -> tuple[NextAction, ...]:
    step = case.seen.step(fid)
    if step is None or step.holder is not None:
        return (act("read what it printed and logged", "logs", case.eid, "--frame", fid),)
    if step.paused is not None:
        return (act("let workers take from the queue again", "queues", "resume", step.queue),)
    return (start_worker(step.queue),)


def _send(case: Case, channel: str, wait: Wait) -> NextAction:
    correlation = case.seen.fold.frames[wait.fid].metadata.get("correlation")
    more = ("--correlation", correlation) if isinstance(correlation, str) else ()
    words = ("--json", "PAYLOAD", *more)
    if "." not in channel:
        text = "send a message to all that wait there"
        return act(text, "broadcast", channel, *words, fill=["PAYLOAD"])
    return act("send the message", "signal", case.eid, _name(channel), *words, fill=["PAYLOAD"])


def _places(case: Case, wait: Wait) -> tuple[str, ...]:
    timers = tuple(places.timer(one) for one in case.seen.timers if one.fid == wait.fid)
    match wait.on:
        case OnChannel(channel) if case.seen.channel(channel).marked is not None:
            return places.marker(channel, case.eid), *timers
        case OnChild(eid) if (child := case.seen.child(eid)) is not None and child.status is not None:
            return (places.record(eid),)
        case _:
            return timers


def _unread(case: Case, wait: Wait) -> tuple[str, ...]:
    if not isinstance(wait.on, OnChannel):
        return ()
    unread = len(case.seen.channel(wait.on.channel).unread)
    return (f"{unread} unread on that channel, none of which it can have.",) if unread else ()


def _lease_name(case: Case, channel: str) -> str:
    """The name of the lease for which a frame waits: that of the last frame that asked for it."""
    names = [frame.metadata.get("lease") for frame in case.seen.fold.frames.values() if frame.name == "lease"]
    return str(names[-1]) if names else _name(channel)


def _name(channel: str) -> str:
    return channel.rpartition(".")[2]
