"""Setting a task aside that brought down one process after another, or cannot be carried out.

A task counts its deaths, and each outcome of its execution sets them back; but who dies right after an outcome cannot
say so any more. So the journal has the last word (``is_deadly``).

1. Take the lease of the execution. Is it held by an owner that lives, the task is none of its and is given back.
2. Journal ``execution.suspended`` on the operator, with the cause and the task. *Crash after it*: the task is taken
   again with its deaths, and the rest is done.
   Of a detached step nothing is journaled: its outcome is a failure with the cause, and its execution is told of it
   (``detached``). *Crash after it*: the task is taken again, and whoever takes it finds the outcome.
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
from flowli.runtime.protocols.causes import OUTCOMES
from flowli.runtime.protocols.detached import give_up_step
from flowli.runtime.protocols.standing import Standing, find_standing
from flowli.runtime.protocols.twins import twins
from flowli.runtime.services import Services

__all__ = ["MAX_DEATHS", "bury", "is_deadly"]

MAX_DEATHS = 5
"""A task whose holders vanished so often without any outcome between is set aside."""

Acquire = Callable[[Standing], Coroutine[Any, Any, Lease | None]]


async def is_deadly(services: Services, lease: TaskLease) -> bool:
    """Whether so many holders of a task have vanished in a row that nobody else is to try."""
    task = lease.task
    if lease.deaths < MAX_DEATHS:
        return False
    if task.kind not in (TaskKind.START, TaskKind.RESUME):
        return True
    found = await services.ports.journal.read(task.target)
    came_on = [entry.by.site.epoch for entry in found.entries if isinstance(entry.body, OUTCOMES)]
    if not came_on:
        return True
    held = await services.ports.ownership.read(task.target)
    return held is None or held.epoch - came_on[-1] + 1 >= MAX_DEATHS


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
    if task.kind is TaskKind.RUN_STEP:
        await give_up_step(services, task, cause)
    if task.kind in (TaskKind.START, TaskKind.RESUME):
        standing = await find_standing(services.ports, task.target)
        if standing is None and task.kind is TaskKind.START:
            standing = Standing.new(codec.load(Execution, task.payload))
        parked = standing.fold.parked if standing is not None else None
        if parked is not None and parked.cause == "dead_letter" and parked.task != task.task_id:
            # it only died beside the one that was set aside; letting the execution go on looks at everything again
            await services.ports.queue.ack([lease])
            return True
        if standing is not None and not standing.ended and parked is None:
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
