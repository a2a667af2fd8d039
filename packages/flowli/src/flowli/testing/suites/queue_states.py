"""Queues: delayed tasks, dead ones, settings."""

from __future__ import annotations

import asyncio

from flowli.domain.ports import Ports
from flowli.domain.tasks import QueueSettings, Task, TaskLease
from flowli.testing.suites.port_suite import Elapse, after_s
from flowli.testing.suites.queue_base import QueueTests, task_for

__all__ = ["QueueStates"]


class QueueStates(QueueTests):
    """What keeps a task from being taken."""

    async def test_a_delayed_task_is_invisible_until_it_is_promoted(self, ports: Ports, elapse: Elapse) -> None:
        """QUE-5."""
        task = task_for(after=60)
        assert await ports.queue.enqueue(task)
        assert not await ports.queue.enqueue(task)
        assert await self.nothing(ports)
        assert await ports.queue.promote("finance", after_s(59.999999)) == 0
        assert await self.nothing(ports)
        assert await ports.queue.promote("finance", after_s(60)) == 1
        (lease,) = await self.take(ports, elapse)
        assert lease.task == task
        await ports.queue.ack([lease])
        assert list(await ports.queue.list("finance")) == []
        assert await ports.queue.promote("finance", after_s(100)) == 0
        assert await self.nothing(ports)

    async def test_promoting_twice_is_promoting_once(self, ports: Ports, elapse: Elapse) -> None:
        tasks = [task_for(str(n), at_s=n, after=60 - n) for n in range(5)]
        for task in tasks:
            await ports.queue.enqueue(task)
        counts = await asyncio.gather(*(ports.queue.promote("finance", after_s(58)) for _ in range(3)))
        assert sum(counts) == 3
        assert await ports.queue.promote("finance", after_s(58)) == 0
        assert not await ports.queue.enqueue(tasks[3]), "a promoted task is there already"
        assert sorted(lease.task.key for lease in await self.take(ports, elapse, 3)) == ["2", "3", "4"]
        assert await self.nothing(ports)

    async def test_a_promoted_task_that_is_done_does_not_come_again(self, ports: Ports, elapse: Elapse) -> None:
        """Promotion may come before, between and after the two halves of an ack; the task runs once (QUE-5)."""
        for n in range(10):
            await ports.queue.enqueue(task_for(str(n), after=60))
            await ports.queue.promote("finance", after_s(60))
            leases = await self.take(ports, elapse)
            await asyncio.gather(
                ports.queue.ack(leases), *(ports.queue.promote("finance", after_s(60)) for _ in range(3))
            )
            await elapse(self.ttl_s / 2)
            assert await self.nothing(ports, "w-1")
        assert list(await ports.queue.list("finance")) == []

    async def test_a_promoted_task_can_be_given_back(self, ports: Ports, elapse: Elapse) -> None:
        task = task_for(after=60)
        await ports.queue.enqueue(task)
        await ports.queue.promote("finance", after_s(60))
        (lease,) = await self.take(ports, elapse)
        await ports.queue.nack(lease)
        assert await ports.queue.promote("finance", after_s(61)) == 0
        (again,) = await self.take(ports, elapse)
        assert again.task == task

    async def _bury(self, ports: Ports, elapse: Elapse, task: Task, at_s: float = 10) -> TaskLease:
        await ports.queue.enqueue(task)
        (lease,) = await self.take(ports, elapse)
        await ports.queue.bury(lease, "it killed 5 workers", after_s(at_s))
        return lease

    async def test_a_buried_task_is_among_the_dead_only(self, ports: Ports, elapse: Elapse) -> None:
        task = task_for()
        lease = await self._bury(ports, elapse, task)
        (dead,) = await ports.queue.dead("finance")
        assert (dead.task, dead.cause, dead.died_at) == (task, "it killed 5 workers", after_s(10))
        assert dead.deaths == lease.deaths
        await elapse(self.ttl_s * 1.1)
        assert await self.nothing(ports)
        assert list(await ports.queue.list("finance")) == []

    async def test_the_dead_are_listed_oldest_first(self, ports: Ports, elapse: Elapse) -> None:
        for at_s in (3, 1, 2):
            await self._bury(ports, elapse, task_for(str(at_s), at_s=-at_s), at_s)
        assert [dead.task.key for dead in await ports.queue.dead("finance")] == ["1", "2", "3"]
        assert [dead.task.key for dead in await ports.queue.dead("finance", limit=2)] == ["1", "2"]

    async def test_a_revived_task_comes_again_with_no_deaths(self, ports: Ports, elapse: Elapse) -> None:
        task = task_for()
        await ports.queue.enqueue(task)
        await self.take(ports, elapse)
        assert await self.nothing(ports)
        await elapse(self.ttl_s * 1.1)
        (lease,) = await self.take(ports, elapse, holder="w-2")
        await ports.queue.bury(lease, "why", after_s(1))
        (dead,) = await ports.queue.dead("finance")
        assert dead.deaths == 1
        assert await ports.queue.revive(dead)
        assert not await ports.queue.revive(dead)
        assert list(await ports.queue.dead("finance")) == []
        (again,) = await self.take(ports, elapse, holder="w-3")
        assert (again.task.task_id, again.deaths) == (task.task_id, 0)

    async def test_a_buried_delayed_task_stays_buried_and_revives(self, ports: Ports, elapse: Elapse) -> None:
        task = task_for(after=60)
        await ports.queue.enqueue(task)
        await ports.queue.promote("finance", after_s(60))
        (lease,) = await self.take(ports, elapse)
        await ports.queue.bury(lease, "why", after_s(61))
        assert await ports.queue.promote("finance", after_s(100)) == 0
        assert await self.nothing(ports)
        (dead,) = await ports.queue.dead("finance")
        assert await ports.queue.revive(dead)
        (again,) = await self.take(ports, elapse)
        assert again.task.task_id == task.task_id

    async def test_a_discarded_task_is_gone_for_good(self, ports: Ports, elapse: Elapse) -> None:
        await ports.queue.enqueue(task_for())
        (lease,) = await self.take(ports, elapse)
        await ports.queue.bury(lease, "why", after_s(1))
        (dead,) = await ports.queue.dead("finance")
        assert await ports.queue.discard(dead)
        assert not await ports.queue.discard(dead)
        assert not await ports.queue.revive(dead)
        assert list(await ports.queue.dead("finance")) == []
        assert await self.nothing(ports)

    async def test_settings_are_open_until_configured(self, ports: Ports) -> None:
        assert await ports.queue.settings("finance") == QueueSettings()
        for settings in (QueueSettings("month end", 3, 10, 60.0), QueueSettings(concurrency=1), QueueSettings()):
            await ports.queue.configure("finance", settings)
            assert await ports.queue.settings("finance") == settings
        assert await ports.queue.settings("other") == QueueSettings()

    async def test_a_paused_queue_gives_nothing_and_takes_all(self, ports: Ports, elapse: Elapse) -> None:
        """QUE-10."""
        await ports.queue.configure("finance", QueueSettings(paused="month end"))
        assert await ports.queue.enqueue(task_for())
        assert await self.nothing(ports)
        await ports.queue.configure("finance", QueueSettings())
        await self.take(ports, elapse)

    async def test_no_more_tasks_are_held_than_the_queue_allows(self, ports: Ports, elapse: Elapse) -> None:
        """QUE-8."""
        await ports.queue.configure("finance", QueueSettings(concurrency=2))
        for n in range(4):
            await ports.queue.enqueue(task_for(str(n), at_s=n))
        leases = await ports.queue.dequeue("finance", "w-1", self.ttl_s * 50, limit=10)
        assert len(leases) == 2
        assert await self.nothing(ports, "w-2")
        await ports.queue.ack(leases[:1])
        await self.take(ports, elapse, holder="w-2")
        assert await self.nothing(ports, "w-3")

    async def test_no_more_tasks_are_started_than_the_rate_allows(self, ports: Ports, elapse: Elapse) -> None:
        """QUE-8."""
        await ports.queue.configure("finance", QueueSettings(rate=2, rate_period_s=self.ttl_s * 2))
        for n in range(5):
            await ports.queue.enqueue(task_for(str(n), at_s=n))
        leases = await ports.queue.dequeue("finance", "w-1", self.ttl_s * 50, limit=10)
        assert len(leases) == 2
        await ports.queue.ack(leases)
        assert await self.nothing(ports, "w-2")
        await elapse(self.ttl_s * 2.1)
        assert len(await self.take(ports, elapse, 2, holder="w-2")) == 2
