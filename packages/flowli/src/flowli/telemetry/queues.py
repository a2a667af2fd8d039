"""What autoscalers ask: how much work waits in a queue, for how long, and how many workers it needs."""

from __future__ import annotations

from dataclasses import dataclass

from flowli.domain.ports import Ports
from flowli.telemetry.instruments import Instruments
from flowli.timestamp import Timestamp

__all__ = ["QueueLoad", "queue_load"]

_COUNTED = 1000


@dataclass(frozen=True, slots=True)
class QueueLoad:
    """The load of one queue.

    Attributes:
        backlog: tasks that could be taken now; those beyond the first 1,000 of the queue are not counted.
        lag_s: how long the oldest of them has been waiting, in seconds.
        desired_workers: workers that can work on what waits and on what is held, all at once.
    """

    queue: str
    backlog: int
    lag_s: float
    desired_workers: int

    def show(self, instruments: Instruments) -> None:
        """Set the gauges of this queue."""
        instruments.gauge("flowli.queue.backlog", self.backlog, self.queue)
        instruments.gauge("flowli.queue.lag", self.lag_s, self.queue)
        instruments.gauge("flowli.queue.desired_workers", self.desired_workers, self.queue)


async def queue_load(ports: Ports, queue: str, now: Timestamp, *, concurrency: int = 50) -> QueueLoad:
    """Look at one queue: one listing.

    Args:
        concurrency: executions that one worker runs at once.
    """
    tasks = await ports.queue.list(queue, limit=_COUNTED)
    held = sum(view.holder is not None for view in tasks)
    waiting = [view.task for view in tasks if view.holder is None and not view.delayed]
    since = [task.cause_at if task.not_before is None else max(task.cause_at, task.not_before) for task in waiting]
    lag_s = max(0.0, (now.us - min(since).us) / 1_000_000) if since else 0.0
    return QueueLoad(queue, len(waiting), lag_s, -(-(len(waiting) + held) // concurrency))
