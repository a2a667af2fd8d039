"""Where in a bucket something stands: the key layout, which is public, as evidence names it.

A backend that keeps no objects has the same things under these names.
"""

from __future__ import annotations

import hashlib
from urllib.parse import quote

from flowli.domain.ids import Eid
from flowli.domain.tasks import DeadTask, Task, TaskView
from flowli.domain.timers import Timer

__all__ = ["archive", "channel", "dead", "journal", "lease", "marker", "record", "settings", "task", "timer"]

_LONG, _KEPT = 300, 200


def record(eid: Eid) -> str:
    """The execution record."""
    return f"wf/exec/{eid}/meta"


def lease(eid: Eid) -> str:
    """The lease of an execution, or of a name under its synthetic id."""
    return f"wf/exec/{eid}/lease"


def archive(eid: Eid) -> str:
    """The folded execution."""
    return f"wf/archive/{eid}.msgpack"


def journal(eid: Eid) -> str:
    """The prefix of the journal."""
    return f"logs/wf.exec.{eid}/"


def channel(name: str) -> str:
    """The prefix of a channel's messages."""
    return f"logs/wf.ch.{name}/"


def marker(name: str, eid: Eid) -> str:
    """The wait marker of an execution on a channel."""
    return f"wf/waits/{name}/{eid}"


def timer(one: Timer) -> str:
    """A timer."""
    return f"wf/timers/{one.timer_id}"


def settings(queue: str) -> str:
    """What holds for a queue fleet-wide."""
    return f"wf/queues/{queue}/limits/settings"


def task(view: TaskView) -> str:
    """A task in its queue."""
    one, last = view.task, _part(view.task)
    if view.delayed:
        return f"wf/queues/{one.queue}/delayed/{one.not_before}/{one.priority:02d}/{last}"
    return f"wf/queues/{one.queue}/ready/{one.priority:02d}/{one.cause_at}/{last}"


def dead(one: DeadTask) -> str:
    """A task that was set aside."""
    return f"wf/queues/{one.task.queue}/dead/{one.died_at}/{one.task.priority:02d}/{_part(one.task)}"


def _part(one: Task) -> str:
    part = quote(one.task_id, safe=":@=+~")
    return part if len(part) <= _LONG else f"{part[:_KEPT]}%{hashlib.sha256(part.encode()).hexdigest()}"
