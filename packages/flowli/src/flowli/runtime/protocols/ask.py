"""Asking the owner of an execution for something: how operators act without appending to a journal that is not theirs.

1. Look at the execution: an unknown or finished one is refused. A request id that is journaled with the same content
   was done before; with other content it is refused.
2. Leave the request in the lease, under its id. *Crash after it*: the request survives every change of owner; an owner
   applies it at its next renewal, the audit of the sweeper does step 3 for an execution that waits.
3. Enqueue a RESUME for it. *Crash after it*: nothing is missing but the control entry of the verb, which the same call
   with the same key posts.
4. Wake the owner in this process, and the workers of the queue.

The owner journals the request at the point where it takes effect, and clears it from the lease only then.
"""

from __future__ import annotations

from dataclasses import dataclass

from flowli.domain.data import Data
from flowli.domain.entries import (
    ExecutionCancelled,
    ExecutionCancelRequested,
    ExecutionMigrated,
    ExecutionPaused,
    ExecutionUnpaused,
    JournalEntry,
)
from flowli.domain.errors import DispatchConflict
from flowli.domain.execution import Execution
from flowli.domain.ids import Eid
from flowli.domain.ports import Lease, LeaseRequest, Ports
from flowli.domain.tasks import Task
from flowli.runtime.hub import Hub
from flowli.runtime.protocols.standing import Standing
from flowli.runtime.protocols.wake import RequestCause, resume_task

__all__ = ["Asked", "ask", "request_task", "was_applied"]


@dataclass(frozen=True, slots=True)
class Asked:
    """The request as it stands in the lease (the first one, if its id was used before), and the RESUME put for it."""

    lease: Lease
    request: LeaseRequest
    task: Task


def request_task(execution: Execution, request: LeaseRequest) -> Task:
    """The RESUME of a request."""
    return resume_task(
        queue=execution.queue,
        priority=execution.priority,
        eid=execution.eid,
        cause=RequestCause(request.id),
        at=request.by.at,
        by=request.by,
    )


def was_applied(standing: Standing, request: LeaseRequest) -> bool:
    """Whether the request is journaled.

    Raises:
        DispatchConflict: its id is journaled with other content.
    """
    if request.id not in standing.fold.applied:
        return False
    earlier = next(content for entry in standing.entries if (content := _content(entry)) and content[0] == request.id)
    _compare(standing.execution.eid, request, *earlier[1:])
    return True


async def ask(ports: Ports, hub: Hub, execution: Execution, request: LeaseRequest) -> Asked:
    """Leave ``request`` for the owner of an execution that has not ended, and wake it (steps 2 to 4).

    Raises:
        DispatchConflict: a request with this id and other content stands in the lease.
    """
    lease = await ports.ownership.request(execution.eid, request)
    stands = next((other for other in lease.requests if other.id == request.id), request)
    _compare(execution.eid, request, stands.verb, stands.reason, stands.data)
    task = request_task(execution, stands)
    await ports.queue.enqueue(task)
    hub.wake_queue(execution.queue)
    hub.wake_execution(execution.eid, RequestCause(stands.id).key)
    return Asked(lease, stands, task)


def _content(entry: JournalEntry) -> tuple[str, str, str, dict[str, Data]] | None:
    """Request id, verb, reason and data of an entry that a request led to."""
    match entry.body:
        case ExecutionPaused(reason, request):
            return request, "pause", reason, {}
        case ExecutionUnpaused(reason, request):
            return request, "unpause", reason, {}
        case ExecutionCancelRequested(reason, request):
            return request, "cancel", reason, {}
        case ExecutionCancelled(reason, request):
            return request, "terminate", reason, {}
        case ExecutionMigrated(_, to_version, reason, request):
            return request, "migrate", reason, {"version": to_version}
        case _:
            return None


def _compare(eid: Eid, request: LeaseRequest, verb: str, reason: str, data: dict[str, Data]) -> None:
    if (request.verb, request.reason, request.data) != (verb, reason, data):
        raise DispatchConflict(
            f"key {request.id!r} was used on execution {eid} for {verb} (reason {reason!r}, {data or 'no data'}) and "
            f"cannot stand for {request.verb} (reason {request.reason!r}, {request.data or 'no data'}); use another key"
        )
