"""Why a task that would move it is not worked on yet."""

from __future__ import annotations

from flowli.domain.tasks import TaskKind, TaskView
from flowli.runtime.insight import places
from flowli.runtime.insight.explanation import Explanation, Moves, NextAction
from flowli.runtime.insight.inspection import QueueView
from flowli.runtime.insight.reasons.case import Case, act, actor, counted, when
from flowli.runtime.insight.reasons.names import Reason

__all__ = [
    "no_worker",
    "queue_full",
    "queue_paused",
    "start_worker",
    "task_taken",
    "unknown_workflow",
    "waits_in_queue",
]

_CAUSES = {
    "message": "a message has come",
    "timer": "a timer has fired",
    "child": "a child has ended",
    "step": "a step that ran elsewhere has ended",
    "request": "an operator has asked for something",
    "expired": "its owner was lost",
    "code": "a worker with other code has come",
    "audit": "the audit found something that it waits for",
}


def queue_paused(case: Case) -> Explanation | None:
    """Its queue is paused in the whole fleet."""
    view, queue = _waiting(case), case.seen.queue
    if view is None or queue.settings.paused is None:
        return None
    return case.is_because(
        Reason.QUEUE_PAUSED,
        f"queue '{queue.name}' is paused ({queue.settings.paused}), and {_told(view)}",
        Moves.OPERATOR,
        act("let workers take from the queue again", "queues", "resume", queue.name),
        keys=(places.settings(queue.name), places.task(view)),
        journal=(case.seen.fold.seq,),
    )


def no_worker(case: Case) -> Explanation | None:
    """No worker takes from its queue."""
    view, queue, at = _waiting(case), case.seen.queue, case.seen.at
    if view is None or (queue.worker is not None and queue.worker.fresh(at)):
        return None
    if queue.worker is None:
        since, keys = "no worker has ever listened on queue", tuple[str, ...]()
    else:
        since, keys = "no worker listens on queue", (places.lease(queue.worker.eid),)
    until = "" if queue.worker is None else f" since {when(queue.worker.at)}"
    return case.is_because(
        Reason.NO_WORKER,
        f"{since} '{queue.name}'{until}, and {_told(view)}",
        Moves.OPERATOR,
        start_worker(queue.name),
        keys=(places.task(view), *keys),
        journal=(case.seen.fold.seq,),
    )


def unknown_workflow(case: Case) -> Explanation | None:
    """Workers take from its queue, and none of them knows its workflow."""
    view, queue = _waiting(case), case.seen.queue
    if view is None or queue.knows is not False:
        return None
    return case.is_because(
        Reason.UNKNOWN_WORKFLOW,
        f"no worker that has announced itself knows {case.what}, and {_told(view)}",
        Moves.OPERATOR,
        act("start a worker whose application registers it", "worker", "--queue", queue.name),
        act("run it by a version that is there", "migrate", case.eid, "--version", "VERSION", fill=["VERSION"]),
        act("give it up", "terminate", case.eid),
        keys=(places.task(view), "logs/wf/"),
        journal=(case.seen.fold.seq,),
    )


def queue_full(case: Case) -> Explanation | None:
    """As many tasks of its queue are worked on as may be."""
    view, queue = _waiting(case), case.seen.queue
    most = queue.settings.concurrency
    if view is None or most is None or queue.held < most:
        return None
    return case.is_because(
        Reason.QUEUE_FULL,
        f"{counted(queue.held, 'task')} of queue '{queue.name}' are worked on and no more than {most} may be, "
        f"and {_told(view)}",
        Moves.ITSELF,
        act("take the limits of the queue away", "queues", "limit", queue.name, "--none"),
        keys=(places.settings(queue.name), places.task(view)),
        journal=(case.seen.fold.seq,),
        details=_ahead(case),
    )


def waits_in_queue(case: Case) -> Explanation | None:
    """A worker will take its task."""
    view, queue = _waiting(case), case.seen.queue
    if view is None:
        return None
    result = Reason.REQUEST_WAITING if view.task.reason == "request" else Reason.RESULT_WAITING
    reason = Reason.START_WAITING if view.task.kind is TaskKind.START else result
    asked = tuple(f"{actor(one.by.actor)} asked for {one.verb} at {when(one.by.at)}." for one in case.seen.requests)
    return case.is_because(
        reason,
        f"{_told(view)}; {_listener(queue)} listens there",
        Moves.ITSELF,
        start_worker(queue.name),
        act("see it go on", "watch", case.eid),
        keys=(places.task(view),),
        journal=(case.seen.fold.seq,),
        details=(*asked, *_ahead(case)),
    )


def task_taken(case: Case) -> Explanation | None:
    """A worker has its task and has not begun to work under its lease."""
    seen = case.seen
    view = next((one for one in seen.tasks if one.holder is not None), None)
    if view is None or (seen.owned and not seen.expired):
        return None
    died = f"{counted(view.deaths, 'worker')} died with it before." if view.deaths else ""
    return case.is_because(
        Reason.TASK_TAKEN,
        f"worker {(view.holder or '').partition('/')[0]} has taken {_name(view)} from queue '{seen.queue.name}' "
        f"and has not begun; if it died, another worker takes over when its hold expires",
        Moves.ITSELF,
        start_worker(seen.queue.name),
        act("see it go on", "watch", case.eid),
        keys=(places.task(view),),
        journal=(seen.fold.seq,),
        details=(died,) if died else (),
    )


def _waiting(case: Case) -> TaskView | None:
    """A task of it that may be taken, unless somebody works on it already."""
    seen = case.seen
    if (seen.owned and not seen.expired) or any(view.holder is not None for view in seen.tasks):
        return None
    return next((view for view in seen.tasks if not view.delayed), None)


def _name(view: TaskView) -> str:
    if view.task.kind is TaskKind.START:
        return "its START"
    cause = _CAUSES.get(view.task.reason, "")
    return f"its {view.task.kind}" + (f" ({cause})" if cause else "")


def _told(view: TaskView) -> str:
    return f"{_name(view)} waits in queue '{view.task.queue}' since {when(view.task.cause_at)}"


def _listener(queue: QueueView) -> str:
    return "a worker" if queue.worker is None else f"worker {queue.worker.worker}"


def _ahead(case: Case) -> tuple[str, ...]:
    ahead = case.seen.queue.ahead
    return () if ahead is None else (f"{counted(ahead, 'task')} that nobody works on stand before it.",)


def start_worker(queue: str) -> NextAction:
    """Start a worker for a queue."""
    return act("start a worker that takes from the queue", "worker", "--queue", queue)
