"""Tasks as events."""

from __future__ import annotations

from flowli.domain.tasks import Task, TaskLease
from flowli.runtime.observe.events import TaskGivenBack, TaskSetAside, TaskTaken, WarmSought
from flowli.timestamp import Timestamp
from flowli.world import World

__all__ = ["given_back", "set_aside", "taken", "warm_sought"]


def taken(lease: TaskLease, now: Timestamp) -> TaskTaken:
    """A worker begins with a task now."""
    task = lease.task
    since = task.cause_at if task.not_before is None else max(task.cause_at, task.not_before)
    waited_s = max(0.0, (now.us - since.us) / 1_000_000)
    return TaskTaken(task.target, task.queue, task.kind, task.task_id, now, waited_s, lease.deaths)


def set_aside(task: Task, cause: str, now: Timestamp) -> TaskSetAside:
    """A task is among the dead letters since now."""
    return TaskSetAside(task.target, task.queue, task.kind, task.task_id, now, cause)


def given_back(task: Task, why: str, now: Timestamp) -> TaskGivenBack:
    """A worker gives a task back now."""
    return TaskGivenBack(task.target, task.queue, task.kind, task.task_id, now, why)


def warm_sought(task: Task, found: bool, kept: int, world: World) -> WarmSought:
    """A worker looks for the coroutine of an execution that goes on."""
    return WarmSought(task.target, world.now(), found, kept)
