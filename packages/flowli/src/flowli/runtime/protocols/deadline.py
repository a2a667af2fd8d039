"""The two timers of an execution timeout: the first one cancels, the second one, a grace later, terminates."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from flowli.domain.execution import Execution
from flowli.domain.ids import ROOT, Fid
from flowli.domain.timers import Timer
from flowli.runtime.services import Services

__all__ = ["OVERDUE", "deadline", "drop_timeout", "overdue", "renew_timeout"]

OVERDUE: Fid = f"{ROOT}:overdue"
"""Stands in the second timer in the place of a frame."""


def deadline(execution: Execution) -> Timer | None:
    """The first timer; None without a timeout."""
    if execution.timeout_s is None:
        return None
    due_at = execution.created_at + timedelta(seconds=execution.timeout_s)
    return Timer(due_at, execution.eid, ROOT, execution.queue, execution.priority)


def overdue(first: Timer, grace_s: float) -> Timer:
    """The second timer."""
    return replace(first, fid=OVERDUE, due_at=first.due_at + timedelta(seconds=grace_s))


async def renew_timeout(services: Services, execution: Execution) -> None:
    """Set the first timer once more if it is due when the START is taken: it may have been given up meanwhile."""
    first = deadline(execution)
    if first is not None and first.due_at <= services.world.now():
        await services.ports.timers.set(first)


async def drop_timeout(services: Services, execution: Execution) -> None:
    """Remove the timer that is set: the second one is set before the first one is deleted."""
    first = deadline(execution)
    if first is not None and not await services.ports.timers.cancel(first):
        await services.ports.timers.cancel(overdue(first, services.config.grace_s))
