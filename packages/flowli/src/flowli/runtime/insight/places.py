"""Where in a bucket something stands, as evidence names it: by the key layout, which is public.

A backend that keeps no objects has the same things under these names.
"""

from __future__ import annotations

from flowli.domain import keys
from flowli.domain.ids import Eid
from flowli.domain.keys import archive, lease, marker, settings, timer
from flowli.domain.keys import meta as record
from flowli.domain.tasks import DeadTask, TaskView

__all__ = ["archive", "channel", "dead", "journal", "lease", "marker", "record", "settings", "task", "timer"]


def journal(eid: Eid) -> str:
    """The prefix of the journal."""
    return f"logs/{keys.journal_log(eid)}/"


def channel(name: str) -> str:
    """The prefix of a channel's messages."""
    return f"logs/{keys.channel_log(name)}/"


def task(view: TaskView) -> str:
    """A task in its queue."""
    return keys.delayed(view.task) if view.delayed else keys.ready(view.task)


def dead(one: DeadTask) -> str:
    """A task that was set aside."""
    return keys.dead(one.task, one.died_at)
