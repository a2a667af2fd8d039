"""Queues, tasks, dead letters, timers. Holders of tasks are not shown: that word opens a task."""

from __future__ import annotations

from pydantic import Field, JsonValue

from flowli.domain.tasks import DeadTask, QueueSettings, Task, TaskView
from flowli.domain.timers import Timer
from flowli_api.dto.base import Out
from flowli_api.dto.common import ActorOut, instant

__all__ = [
    "DeadOut",
    "DeadPage",
    "QueueOut",
    "QueuePage",
    "SettingsOut",
    "TaskOut",
    "TaskPage",
    "TimerOut",
    "TimerPage",
]


class SettingsOut(Out):
    """What holds for a queue in the whole fleet."""

    paused: str | None = Field(default=None, description="The reason, while it is paused.")
    concurrency: int | None = None
    rate: int | None = None
    rate_period_s: float = 1.0

    @classmethod
    def of(cls, settings: QueueSettings) -> SettingsOut:
        """From the domain."""
        return cls(
            paused=settings.paused,
            concurrency=settings.concurrency,
            rate=settings.rate,
            rate_period_s=settings.rate_period_s,
        )


class QueueOut(Out):
    """One queue."""

    name: str = Field(examples=["default"])
    settings: SettingsOut
    tasks: int = Field(description="Tasks listed, up to the limit that `counted_to` names.")
    held: int
    delayed: int
    dead: int
    counted_to: int
    worker_seen_at: str | None = Field(default=None, description="Last sign of life of a worker that takes from it.")


class QueuePage(Out):
    """All queues."""

    items: list[QueueOut]


class TaskOut(Out):
    """One task. Payloads need ``values:read``."""

    task_id: str
    queue: str
    kind: str
    eid: str
    key: str
    reason: str
    priority: int
    cause_at: str
    not_before: str | None = None
    enqueued_by: ActorOut
    held: bool = False
    epoch: int = 0
    deaths: int = 0
    delayed: bool = False
    payload: JsonValue = None

    @classmethod
    def of(cls, view: TaskView, values: bool) -> TaskOut:
        """From the domain."""
        held = {"held": view.holder is not None, "delayed": view.delayed}
        return cls.model_validate({**_task(view.task, values), **held, "epoch": view.epoch, "deaths": view.deaths})


class TaskPage(Out):
    """The first tasks of a queue, ready ones before delayed ones."""

    items: list[TaskOut]
    values_hidden: bool = False


class DeadOut(TaskOut):
    """A task that was set aside."""

    cause: str
    died_at: str

    @classmethod
    def dead(cls, dead: DeadTask, values: bool) -> DeadOut:
        """From the domain."""
        how = {"deaths": dead.deaths, "cause": dead.cause, "died_at": str(dead.died_at)}
        return cls.model_validate({**_task(dead.task, values), **how})


class DeadPage(Out):
    """Tasks that were set aside, the oldest first."""

    items: list[DeadOut]
    values_hidden: bool = False


class TimerOut(Out):
    """A resume that lies in the future."""

    due_at: str
    eid: str
    fid: str
    queue: str

    @classmethod
    def of(cls, timer: Timer) -> TimerOut:
        """From the domain."""
        return cls(due_at=str(timer.due_at), eid=str(timer.eid), fid=timer.fid, queue=timer.queue)


class TimerPage(Out):
    """The first timers, due or not."""

    items: list[TimerOut]


def _task(task: Task, values: bool) -> dict[str, object]:
    return {
        "task_id": task.task_id,
        "queue": task.queue,
        "kind": task.kind.value,
        "eid": str(task.target),
        "key": task.key,
        "reason": task.reason,
        "priority": task.priority,
        "cause_at": str(task.cause_at),
        "not_before": instant(task.not_before),
        "enqueued_by": ActorOut.by(task.enqueued_by),
        "payload": task.payload if values else None,
    }
