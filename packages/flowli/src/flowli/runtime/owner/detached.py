"""Putting a detached step, and taking it back (``protocols.detached``)."""

from __future__ import annotations

from dataclasses import replace

from flowli.domain.data import Data
from flowli.domain.entries import ControlEntry, TaskEnqueued
from flowli.domain.execution import Execution
from flowli.runtime.limits import check_size
from flowli.runtime.protocols.detached import StepOrder, StepRun, put_step, read_step_end, step_task
from flowli.runtime.replay.calls import RunStep
from flowli.runtime.services import Services

__all__ = ["detach", "withdraw"]


async def detach(
    services: Services,
    execution: Execution,
    run: StepRun,
    action: RunStep,
    queue: str,
    epoch: int,
    *,
    again: bool,
) -> Data:
    """Put the RUN_STEP task of a run.

    Args:
        epoch: of the owner.
        again: an earlier owner may have done it.

    Returns:
        The outcome, if it is there already.

    Raises:
        PayloadTooLarge: the arguments are over the limit.
    """
    end = await read_step_end(services.ports, run) if again else None
    if end is not None:
        return end.to_data()
    check_size(f"what step '{action.step}' is given", action.arguments, services.config.max_value_bytes)
    order = StepOrder(
        run,
        action.step,
        execution.workflow,
        action.arguments,
        execution.queue,
        execution.priority,
        action.timeout_s,
        action.heartbeat_s,
    )
    by = replace(services.provenance(epoch=epoch), trace=execution.created_by.trace)
    task = await put_step(services.ports, services.hub, order, queue, by)
    if task is not None:
        said = TaskEnqueued(execution.eid, queue, str(task.kind), task.task_id)
        services.announcer.post([ControlEntry(said, by)])
    return None


async def withdraw(services: Services, execution: Execution, run: StepRun, queue: str) -> None:
    """Take a run back; who is at it already finds in the journal that nobody waits for it."""
    task = step_task(run, queue, execution.priority, services.provenance())
    if not await services.ports.queue.withdraw(task):
        services.hub.changed(execution.eid)
