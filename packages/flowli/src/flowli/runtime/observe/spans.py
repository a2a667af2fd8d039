"""The spans of an engine: what each is called, to what it belongs, what it tells."""

from __future__ import annotations

from dataclasses import replace

from flowli.domain.channels import Message
from flowli.domain.entries import (
    ExecutionCancelled,
    ExecutionCompleted,
    ExecutionFailed,
    JournalEntry,
)
from flowli.domain.execution import Execution
from flowli.domain.ids import Eid, Fid
from flowli.domain.tasks import Task
from flowli.runtime.observe.tracer import Role, Tracer, Work
from flowli.runtime.step import StepScope
from flowli.timestamp import Timestamp

__all__ = [
    "attempt_work",
    "delegate_work",
    "handler_work",
    "in_trace",
    "send_work",
    "start_work",
    "trace_end",
    "trace_receipt",
]


def in_trace(message: Message, trace: str) -> Message:
    """A message that carries a context."""
    return replace(message, sent_by=replace(message.sent_by, trace=trace))


def start_work(execution: Execution, parent: str, owner: Eid | None = None) -> Work:
    """Putting an execution; ``owner`` is the one that puts it as its child."""
    told = {"flowli.workflow": execution.workflow, "flowli.eid": str(execution.eid), "flowli.queue": execution.queue}
    return Work(f"start {execution.workflow}", Role.PRODUCER, parent, owner, told)


def send_work(message: Message, parent: str, owner: Eid | None = None) -> Work:
    """Sending a message; ``owner`` is the execution that sends it."""
    receiver, _, channel = message.channel.rpartition(".")
    told = {"flowli.channel": channel} | ({"flowli.eid": receiver} if receiver else {})
    return Work("send", Role.PRODUCER, parent, owner, told)


def delegate_work(task: Task, parent: str) -> Work:
    """Putting a task for consumers."""
    return Work(f"delegate {task.queue}", Role.PRODUCER, parent, task.target, _of_task(task))


def handler_work(task: Task, delivery: int) -> Work:
    """The work of a consumer on one delivery of a task."""
    told = {**_of_task(task), "flowli.delivery": delivery}
    return Work(f"work {task.queue}", Role.CONSUMER, task.enqueued_by.trace, task.target, told)


def _of_task(task: Task) -> dict[str, str | int]:
    return {"flowli.queue": task.queue, "flowli.eid": str(task.target), "flowli.task": task.task_id}


def attempt_work(scope: StepScope) -> Work:
    """One attempt of a step."""
    info = scope.info
    told: dict[str, str | int] = {
        "flowli.workflow": info.workflow,
        "flowli.eid": str(info.eid),
        "flowli.fid": info.fid,
        "flowli.attempt": info.attempt,
        "flowli.epoch": info.epoch,
    }
    role = Role.CONSUMER if scope.detached else Role.INTERNAL
    return Work(f"step {_name_of(info.fid)}", role, scope.trace, info.eid, told)


def trace_receipt(
    tracer: Tracer, execution: Execution, fid: Fid, message: Message, began: Timestamp | None, ended: Timestamp
) -> None:
    """A receive has its message: a span over its wait, linked to who sent it."""
    channel = message.channel.rpartition(".")[2]
    told = {"flowli.workflow": execution.workflow, "flowli.eid": str(execution.eid), "flowli.fid": fid}
    work = Work(
        "receive",
        Role.CONSUMER,
        execution.created_by.trace,
        execution.eid,
        {**told, "flowli.channel": channel},
        (message.sent_by.trace,) if message.sent_by.trace else (),
    )
    tracer.past(work, min(began or ended, ended), ended)


def trace_end(tracer: Tracer, execution: Execution, entry: JournalEntry) -> None:
    """If ``entry`` ends the execution: a span over its whole life."""
    match entry.body:
        case ExecutionCompleted():
            outcome, error_type = "completed", ""
        case ExecutionFailed(error):
            outcome, error_type = "failed", error.type
        case ExecutionCancelled():
            outcome, error_type = "cancelled", ""
        case _:
            return
    told = {
        "flowli.workflow": execution.workflow,
        "flowli.version": execution.version,
        "flowli.eid": str(execution.eid),
        "flowli.outcome": outcome,
    }
    parent = execution.created_by.trace
    work = Work(f"execution {execution.workflow}", Role.INTERNAL, parent, execution.eid, told, whole=True)
    tracer.past(work, execution.created_at, max(entry.at, execution.created_at), error_type)


def _name_of(fid: Fid) -> str:
    """The name of a step: the last part of its path without number or key."""
    return fid.rpartition("/")[2].partition("#")[0].partition(":")[0]
