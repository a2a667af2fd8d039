"""What the tests of ``Queue`` share.

A worker may look at a queue in stretches and return to its beginning after a while (at most half a ttl), so the tests
wait for a task that must come, and allow any order beyond one answer.
"""

from __future__ import annotations

from collections.abc import Sequence

from flowli.domain.ids import Eid
from flowli.domain.ports import Ports
from flowli.domain.tasks import Task, TaskKind, TaskLease
from flowli.testing.suites.port_suite import Elapse, PortSuite, after_s, by, new_eid

__all__ = ["QueueTests", "task_for", "tasks_of"]


def task_for(
    key: str = "k", *, at_s: float = 0, priority: int = 50, after: float | None = None, eid: Eid | None = None
) -> Task:
    """A RESUME on the queue ``finance``; with ``after`` it is delayed for so many seconds after ``T0``."""
    return Task(
        "finance",
        TaskKind.RESUME,
        eid or new_eid(),
        after_s(at_s),
        by(),
        key,
        "message",
        None if after is None else after_s(after),
        priority,
        {"n": [1, None, "ü"]},
    )


def tasks_of(leases: Sequence[TaskLease]) -> list[Task]:
    """The tasks under some leases."""
    return [lease.task for lease in leases]


class QueueTests(PortSuite):
    """The base of the queue's tests."""

    async def take(self, ports: Ports, elapse: Elapse, count: int = 1, holder: str = "w-1") -> list[TaskLease]:
        """Take tasks until there are ``count``."""
        taken: list[TaskLease] = []
        for _ in range(8):
            taken += await ports.queue.dequeue("finance", holder, self.ttl_s, limit=count - len(taken))
            if len(taken) == count:
                return taken
            await elapse(self.ttl_s / 8)
        raise AssertionError(f"{count} tasks were expected within a ttl, {len(taken)} came")

    async def nothing(self, ports: Ports, holder: str = "w-2") -> bool:
        """Whether there is nothing to take."""
        return not await ports.queue.dequeue("finance", holder, self.ttl_s, limit=10)
