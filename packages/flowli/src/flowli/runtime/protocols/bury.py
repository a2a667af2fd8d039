"""Setting a task aside that brought down one process after another, or cannot be carried out.

1. Take the lease of the execution. Is it held by an owner that lives, the task is none of its and is given back.
2. Journal ``execution.suspended`` on the operator, with the cause and the task. *Crash after it*: the task is taken
   again with its deaths, and the rest is done.
3. Put the task among the dead, then remove it from the ready ones. *Crash between*: the same.
4. Post the twin. *Crash before it*: the sweeper posts it.

From now on wake-ups of the execution are acked, until an operator revives the task or lets the execution go on.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any

from flowli import codec
from flowli.domain.entries import ExecutionStarted, ExecutionSuspended, JournalEntry
from flowli.domain.errors import LeaseLost
from flowli.domain.execution import Execution
from flowli.domain.ports import Appended, Lease
from flowli.domain.tasks import Task, TaskKind, TaskLease
from flowli.domain.waits import OnOperator
from flowli.runtime.protocols.standing import Standing, find_standing
from flowli.runtime.protocols.twins import twins
from flowli.runtime.services import Services

__all__ = ["bury"]

Acquire = Callable[[Standing], Coroutine[Any, Any, Lease | None]]


async def bury(services: Services, lease: TaskLease, cause: str, acquire: Acquire) -> bool:
    """Set a task aside; False if its execution is owned by somebody who lives.

    Args:
        cause: one sentence.
        acquire: takes the lease of the execution; None if it is held.

    Raises:
        LeaseLost: somebody else took the execution meanwhile.
    """
    task = lease.task
    posted = None
    if task.kind in (TaskKind.START, TaskKind.RESUME):
        standing = await find_standing(services.ports, task.target)
        if standing is None and task.kind is TaskKind.START:
            standing = Standing.new(codec.load(Execution, task.payload))
        if standing is not None and not standing.ended and standing.fold.parked is None:
            held = await acquire(standing)
            if held is None:
                return False
            written = await _park(services, standing, task, cause, held.epoch)
            posted = services.announcer.post(twins(written, task.target))
    await services.ports.queue.bury(lease, cause, services.world.now())
    if posted is not None:
        await posted
    return True


async def _park(services: Services, standing: Standing, task: Task, cause: str, epoch: int) -> tuple[JournalEntry, ...]:
    """Step 2; returns what was journaled."""
    why = OnOperator("dead_letter", cause, task=task.task_id)
    while True:
        by = services.provenance(epoch=epoch)
        by = replace(by, at=max(by.at, standing.at))
        entries = [JournalEntry(ExecutionSuspended((why,), epoch), by)]
        if standing.fold.execution is None:
            begun = replace(by, at=standing.execution.created_at)
            entries.insert(0, JournalEntry(ExecutionStarted(standing.execution), begun))
        result = await services.ports.journal.append(
            task.target, entries, after=standing.position, epoch=epoch, writer=services.site.worker_id
        )
        if isinstance(result, Appended):
            first = standing.fold.seq + 1
            return tuple(replace(entry, seq=first + n) for n, entry in enumerate(entries))
        if result.epoch >= epoch:
            raise LeaseLost(f"execution {task.target} was taken over by epoch {result.epoch}")
        standing = standing.extended(result.entries, result.position)
