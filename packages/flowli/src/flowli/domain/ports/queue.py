"""``Queue``: the tasks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from flowli.domain.ids import Eid
from flowli.domain.tasks import DeadTask, QueueSettings, Task, TaskLease, TaskView
from flowli.timestamp import Timestamp

__all__ = ["Queue"]


class Queue(Protocol):
    """Named queues of tasks, each task under a lease of its own while somebody works on it.

    Order: by priority, then by the instant of the cause; exact within one page, best effort between workers.
    Delivery: at least once. A task stays until it is acked; one whose holder vanished is taken over when its lease
    has been unchanged for its own ttl, or at once when the holder is certainly dead, and then its ``deaths`` rise by
    one. Identity: a task is put once, however many enqueue it; ``task_id`` and the instant of its cause name it.
    """

    async def enqueue(self, task: Task) -> bool:
        """Put a task; False if it is there already. With a ``not_before`` it is delayed until ``promote``."""

    async def dequeue(self, queue: str, holder: str, ttl_s: float, *, limit: int = 1) -> Sequence[TaskLease]:
        """Take up to ``limit`` tasks; an empty list if there are none or the queue is paused."""

    async def renew(self, lease: TaskLease, *, alive: bool = False) -> TaskLease:
        """Show that the holder lives.

        Args:
            alive: the task has come on under this holder: its ``deaths`` are set back to 0.

        Raises:
            LeaseLost: the task was taken over or removed.
        """

    async def ack(self, leases: Iterable[TaskLease]) -> None:
        """Remove tasks that are done. One that was lost meanwhile is left alone."""

    async def nack(self, lease: TaskLease, *, delay_s: float = 0.0, alive: bool = True) -> None:
        """Give a task back; it can be taken again after ``delay_s``. ``alive`` sets its ``deaths`` back to 0."""

    async def withdraw(self, task: Task) -> bool:
        """Remove a task that nobody holds; False if it is held or gone."""

    async def find(self, queue: str, eid: Eid, *, limit: int = 100) -> Sequence[TaskView]:
        """The tasks of one execution among the first ``limit`` of the queue, for tools."""

    async def list(self, queue: str, *, limit: int = 100) -> Sequence[TaskView]:
        """The first tasks of a queue, ready ones before delayed ones, for tools."""

    async def queues(self) -> Sequence[str]:
        """The names of the queues that hold anything."""

    async def promote(self, queue: str, now: Timestamp) -> int:
        """Make the delayed tasks ready that are due; returns how many."""

    async def bury(self, lease: TaskLease, cause: str, at: Timestamp) -> None:
        """Set a task aside: put it among the dead first, remove it from the ready ones second."""

    async def dead(self, queue: str, *, limit: int = 100) -> Sequence[DeadTask]:
        """The tasks that were set aside, oldest first."""

    async def revive(self, dead: DeadTask) -> bool:
        """Make a dead task ready again with no deaths; False if it is not among the dead."""

    async def discard(self, dead: DeadTask) -> bool:
        """Remove a dead task for good; False if it is not among the dead."""

    async def settings(self, queue: str) -> QueueSettings:
        """What holds for the queue fleet-wide."""

    async def configure(self, queue: str, settings: QueueSettings) -> None:
        """Change what holds for the queue; the last writer wins."""
