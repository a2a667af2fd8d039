"""Starting an execution, and taking a START task.

Putting (``put_start``):

1. A timer, if there is an execution timeout. *Crash after it*: it is due for nobody, and deleted an hour later.
2. The START task; it carries the whole record. *Crash after it*: nothing was acknowledged; whoever dequeues the task
   writes the record from it and runs.
3. The record. *Crash after it*: the execution exists and will run; only ``execution.created`` is missing in the control
   log, and ``execution.started`` repeats all that it says.

Taking (``take_start``), by the worker that dequeues a START and by the sweeper before it puts one again:

1. Read the record.
2. If there is none, or if the journal is empty, read the archive: an archive means that the execution has finished; a
   record beside it is a leftover of a late step 3 above and is deleted.
3. Write the record from the task, if there was none. *Crash after it*: as after step 3 above.
4. Read the archive again: retention may have put it between 2 and 3.
"""

from __future__ import annotations

from flowli import codec
from flowli.domain.entries import ExecutionCreated
from flowli.domain.errors import NotAllowed
from flowli.domain.execution import Execution
from flowli.domain.ports import Ports
from flowli.domain.provenance import Provenance
from flowli.domain.tasks import Task, TaskKind
from flowli.runtime.protocols.deadline import deadline
from flowli.timestamp import Timestamp

__all__ = ["created", "put_start", "start_task", "take_start"]


def start_task(execution: Execution, by: Provenance) -> Task:
    """The START task of an execution: one for each execution, whoever puts it."""
    return Task(
        queue=execution.queue,
        kind=TaskKind.START,
        target=execution.eid,
        cause_at=execution.created_at,
        enqueued_by=by,
        reason="start",
        priority=execution.priority,
        payload=codec.dump(execution),
    )


def created(execution: Execution) -> ExecutionCreated:
    """What the control log says of a new execution: the record with a digest in the place of the arguments."""
    return ExecutionCreated(
        eid=execution.eid,
        workflow=execution.workflow,
        version=execution.version,
        args_digest=codec.digest(execution.args),
        queue=execution.queue,
        created_at=execution.created_at,
        priority=execution.priority,
        parent=execution.parent,
        dispatch_key=execution.dispatch_key,
        origin=execution.origin,
    )


async def put_start(ports: Ports, execution: Execution, by: Provenance) -> None:
    """Steps 1 to 3. When it returns, the execution will run. Doing it twice is doing it once."""
    timer = deadline(execution)
    if timer is not None:
        await ports.timers.set(timer)
    await ports.queue.enqueue(start_task(execution, by))
    await ports.executions.put(execution)


async def take_start(
    ports: Ports, task: Task, *, journal_empty: bool | None = None, oldest: Timestamp | None = None
) -> Execution | None:
    """The execution that a START task asks for, its record durable; None if it has finished (ack the task).

    Args:
        journal_empty: whether the journal is known to have entries; None looks it up if there is a record.
        oldest: a START from before it may be of an execution whose archive has expired; it is refused if neither record
            nor archive exists.

    Raises:
        NotAllowed: the START is from before ``oldest``; the caller sets it aside.
    """
    found = await ports.executions.get(task.target)
    if found is not None:
        if journal_empty is None:
            journal_empty = not (await ports.journal.read(task.target)).entries
        return await _unless_archived(ports, found) if journal_empty else found
    if await ports.archive.get(task.target) is not None:
        return None
    execution = codec.load(Execution, task.payload)
    if oldest is not None and task.cause_at < oldest and not await _is_copy(ports, execution):
        raise NotAllowed(
            f"execution {task.target} was asked for at {task.cause_at} and has neither record nor archive: it may have "
            "finished so long ago that its archive expired; start it anew if it never ran"
        )
    await ports.executions.put(execution)
    return await _unless_archived(ports, execution)


async def _is_copy(ports: Ports, execution: Execution) -> bool:
    """Whether it was forked: then it is as old as its source, and its journal stands before its START."""
    return execution.origin is not None and bool((await ports.journal.read(execution.eid)).entries)


async def _unless_archived(ports: Ports, execution: Execution) -> Execution | None:
    if await ports.archive.get(execution.eid) is None:
        return execution
    await ports.executions.delete(execution.eid)
    return None
