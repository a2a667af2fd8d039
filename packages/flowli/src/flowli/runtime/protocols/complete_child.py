"""Telling the parent that a child has ended.

1. The child's terminal entry is durable. *Crash after it*: the child's task is taken again; its worker sees the end
   and does the rest.
2. A RESUME for the parent, which carries the outcome if it is small (else a reference: the parent reads the child's
   journal). Its key names the child, so that repeating the step is one task. *Crash after it*: only the child's
   control twin and ack are missing; the task is taken again.
3. The owner of the parent, if it is in this process, is told at once.

There is nothing for the parent to look at before it suspends: the RESUME always follows the end, and is acked only
after the outcome is in the parent's journal.
"""

from __future__ import annotations

from dataclasses import dataclass

from flowli import codec
from flowli.domain.data import Data
from flowli.domain.entries import ExecutionCancelled, ExecutionCompleted, ExecutionFailed
from flowli.domain.errors import ErrorInfo
from flowli.domain.execution import Execution
from flowli.domain.ids import Eid
from flowli.domain.memo import JournalFold
from flowli.domain.ports import Ports
from flowli.domain.provenance import Provenance
from flowli.runtime.hub import Hub
from flowli.runtime.protocols.wake import ChildCause, resume_task
from flowli.timestamp import Timestamp

__all__ = ["ChildEnd", "child_end", "from_payload", "read_child_end", "tell_parent"]

_INLINE_BYTES = 16_384


@dataclass(frozen=True, slots=True)
class ChildEnd:
    """How a child ended: with a value, or with an error."""

    value: Data = None
    error: ErrorInfo | None = None


def child_end(end: ExecutionCompleted | ExecutionFailed | ExecutionCancelled) -> ChildEnd:
    """The end as its parent sees it."""
    match end:
        case ExecutionCompleted(value):
            return ChildEnd(value)
        case ExecutionFailed(error):
            return ChildEnd(error=error)
        case ExecutionCancelled(reason):
            return ChildEnd(error=ErrorInfo("flowli.ExecutionCancelled", reason or "it was cancelled"))


def from_payload(payload: Data) -> ChildEnd | None:
    """The end that a RESUME carries, or None if it has to be read."""
    if not isinstance(payload, dict):
        return None
    if "error" in payload:
        return ChildEnd(error=codec.load(ErrorInfo, payload["error"]))
    return ChildEnd(payload["value"]) if "value" in payload else None


async def read_child_end(ports: Ports, eid: Eid) -> ChildEnd | None:
    """The end of a child from its journal, or from its archive; None if it goes on."""
    end = JournalFold((await ports.journal.read(eid)).entries).end
    if end is None:
        archived = await ports.archive.get(eid)
        end = JournalFold(archived.entries).end if archived is not None else None
    return None if end is None else child_end(end)


async def tell_parent(
    ports: Ports,
    hub: Hub,
    child: Execution,
    end: ExecutionCompleted | ExecutionFailed | ExecutionCancelled,
    *,
    at: Timestamp,
    by: Provenance,
) -> None:
    """Steps 2 and 3; nothing if ``child`` has no parent.

    Args:
        at: instant of the terminal entry.
    """
    if child.parent is None:
        return
    seen = child_end(end)
    payload: dict[str, Data] = {"error": codec.dump(seen.error)} if seen.error is not None else {"value": seen.value}
    cause = ChildCause(child.eid)
    queue = child.parent_queue or child.queue
    task = resume_task(
        queue=queue,
        priority=child.priority,
        eid=child.parent.eid,
        cause=cause,
        at=at,
        by=by,
        payload=payload if len(codec.canonical(payload)) <= _INLINE_BYTES else None,
    )
    await ports.queue.enqueue(task)
    hub.wake_queue(queue)
