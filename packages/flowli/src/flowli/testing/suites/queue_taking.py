"""Queues: putting, taking, looking, withdrawing."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from flowli.domain.ports import Ports
from flowli.domain.tasks import Task, TaskKind, TaskLease
from flowli.testing.suites.port_suite import Elapse, after_s, by, new_eid
from flowli.testing.suites.queue_base import QueueTests, task_for, tasks_of

__all__ = ["QueueTaking"]


class QueueTaking(QueueTests):
    """Order and identity."""

    async def test_an_empty_queue(self, ports: Ports) -> None:
        assert await self.nothing(ports)
        assert list(await ports.queue.list("finance")) == []
        assert "finance" not in await ports.queue.queues()

    async def test_a_task_comes_back_equal_under_a_lease(self, ports: Ports, elapse: Elapse) -> None:
        task = task_for()
        assert await ports.queue.enqueue(task)
        (lease,) = await self.take(ports, elapse)
        assert (lease.task, lease.holder, lease.ttl_s, lease.deaths) == (task, "w-1", self.ttl_s, 0)
        assert lease.epoch >= 1

    async def test_every_kind_of_task_comes_back_equal(self, ports: Ports, elapse: Elapse) -> None:
        written = [replace(task_for(f"step:{kind}"), kind=kind) for kind in TaskKind]
        written.append(Task("finance", TaskKind.START, new_eid(), after_s(0), by()))
        for task in written:
            assert await ports.queue.enqueue(task)
        taken = tasks_of(await self.take(ports, elapse, len(written)))
        assert sorted(taken, key=lambda task: task.task_id) == sorted(written, key=lambda task: task.task_id)

    async def test_tasks_come_by_priority_and_then_by_the_instant_of_their_cause(self, ports: Ports) -> None:
        """QUE-1."""
        order = [(0, 9), (0, 10), (7, 1), (50, -3), (50, 0.000001), (50, 2), (50, 100), (99, 0)]
        tasks = [task_for(str(n), at_s=at_s, priority=priority) for n, (priority, at_s) in enumerate(order)]
        for n in (5, 2, 7, 0, 3, 6, 1, 4):
            await ports.queue.enqueue(tasks[n])
        assert tasks_of(await ports.queue.dequeue("finance", "w-1", self.ttl_s, limit=8)) == tasks

    async def test_a_task_is_put_once_however_many_put_it(self, ports: Ports, elapse: Elapse) -> None:
        """QUE-4."""
        task = task_for()
        others = [replace(task, enqueued_by=by(worker=f"w-{n}")) for n in range(8)]
        done = await asyncio.gather(*(ports.queue.enqueue(other) for other in others))
        assert done.count(True) == 1
        assert not await ports.queue.enqueue(task)
        await self.take(ports, elapse)
        assert not await ports.queue.enqueue(task), "a task that is being worked on is there already"
        assert await self.nothing(ports)

    async def test_tasks_of_one_execution_are_told_apart_by_kind_and_key(self, ports: Ports, elapse: Elapse) -> None:
        eid = new_eid()
        tasks = [task_for("", eid=eid), task_for("message:a:1", eid=eid), task_for("message:a:2", eid=eid)]
        tasks.append(replace(tasks[1], kind=TaskKind.RUN_STEP))
        for task in tasks:
            assert await ports.queue.enqueue(task)
        taken = {task.task_id for task in tasks_of(await self.take(ports, elapse, 4))}
        assert taken == {task.task_id for task in tasks}

    async def test_a_limit_is_kept(self, ports: Ports) -> None:
        for n in range(5):
            await ports.queue.enqueue(task_for(str(n), at_s=n))
        assert len(await ports.queue.dequeue("finance", "w-1", self.ttl_s, limit=3)) == 3

    async def test_a_task_is_given_to_one_worker_at_a_time(self, ports: Ports, elapse: Elapse) -> None:
        """QUE-2."""
        tasks = [task_for(str(n), at_s=n) for n in range(24)]
        for task in tasks:
            await ports.queue.enqueue(task)

        async def work(holder: str) -> list[TaskLease]:
            return [*await ports.queue.dequeue("finance", holder, self.ttl_s * 50, limit=5)]

        taken: list[TaskLease] = []
        for _ in range(40):
            for leases in await asyncio.gather(*(work(f"w-{n}") for n in range(6))):
                taken += leases
            if len(taken) >= 24:
                break
            await elapse(self.ttl_s / 8)
        assert sorted(lease.task.task_id for lease in taken) == sorted(task.task_id for task in tasks)

    async def test_queues_do_not_touch_each_other(self, ports: Ports) -> None:
        here, there = task_for(), replace(task_for(), queue="finance-2")
        await ports.queue.enqueue(here)
        await ports.queue.enqueue(there)
        assert tasks_of(await ports.queue.dequeue("finance-2", "w-1", self.ttl_s, limit=10)) == [there]
        assert tasks_of(await ports.queue.dequeue("finance", "w-1", self.ttl_s, limit=10)) == [here]

    async def test_listings_show_tasks_in_order_with_their_state(self, ports: Ports, elapse: Elapse) -> None:
        first, second = task_for("1", at_s=1), task_for("2", at_s=2)
        later = task_for("3", after=3600)
        for task in (later, second, first):
            await ports.queue.enqueue(task)
        await ports.queue.dequeue("finance", "w-1", self.ttl_s)
        views = await ports.queue.list("finance")
        assert [view.task for view in views] == [first, second, later]
        assert [view.holder for view in views] == ["w-1", None, None]
        assert [view.delayed for view in views] == [False, False, True]
        assert views[0].epoch >= 1
        assert [view.task for view in await ports.queue.list("finance", limit=2)] == [first, second]
        assert "finance" in await ports.queue.queues()

    async def test_find_shows_the_tasks_of_one_execution(self, ports: Ports) -> None:
        eid = new_eid()
        mine = [task_for("a", at_s=1, eid=eid), task_for("b", at_s=3, eid=eid)]
        for task in (*mine, task_for("c", at_s=2)):
            await ports.queue.enqueue(task)
        assert [view.task for view in await ports.queue.find("finance", eid)] == mine
        assert list(await ports.queue.find("finance", new_eid())) == []

    async def test_withdraw_removes_a_task_that_nobody_holds(self, ports: Ports, elapse: Elapse) -> None:
        task, delayed = task_for("1"), task_for("2", after=60)
        for one in (task, delayed):
            await ports.queue.enqueue(one)
            assert await ports.queue.withdraw(one)
            assert not await ports.queue.withdraw(one)
        assert await ports.queue.promote("finance", after_s(100)) == 0
        assert await self.nothing(ports)

    async def test_withdraw_leaves_a_held_task_alone(self, ports: Ports, elapse: Elapse) -> None:
        task = task_for()
        await ports.queue.enqueue(task)
        (lease,) = await self.take(ports, elapse)
        assert not await ports.queue.withdraw(task)
        await ports.queue.renew(lease)

    async def test_withdraw_or_dequeue_gets_a_task_not_both(self, ports: Ports) -> None:
        for n in range(12):
            task = task_for(str(n))
            await ports.queue.enqueue(task)
            withdrawn, leases = await asyncio.gather(
                ports.queue.withdraw(task), ports.queue.dequeue("finance", "w-1", self.ttl_s * 50, limit=20)
            )
            assert not (withdrawn and leases)
            if withdrawn:
                assert task.task_id not in [view.task.task_id for view in await ports.queue.list("finance")]
