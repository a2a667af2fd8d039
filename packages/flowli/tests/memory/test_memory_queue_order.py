"""Any tasks, put in any order, come out in the one order; deaths and limits on any schedule."""

from __future__ import annotations

import asyncio

from hypothesis import given, settings
from hypothesis import strategies as st

from flowli.adapters.memory import MemoryBackend
from flowli.domain.tasks import Task, TaskKind, TaskLease
from flowli.testing.clock import ManualClock, ManualWorld
from flowli.testing.suites.port_suite import by, new_eid
from flowli.timestamp import Timestamp

quick = settings(max_examples=60, deadline=None)

tasks = st.builds(
    lambda priority, at_us, key: Task("q", TaskKind.RESUME, new_eid(), Timestamp(at_us), by(), key, priority=priority),
    st.integers(0, 99),
    st.integers(0, 3) | st.integers(0, 2**50),
    st.sampled_from(["a", "b", ""]),
)


@quick
@given(st.lists(tasks, max_size=20), st.randoms(use_true_random=False))
def test_tasks_come_by_priority_then_instant_then_id(given_tasks: list[Task], chance: object) -> None:
    async def scenario() -> None:
        queue = MemoryBackend(ManualWorld()).ports.queue
        for task in given_tasks:
            await queue.enqueue(task)
        taken = [lease.task for lease in await queue.dequeue("q", "w-1", 30, limit=100)]
        assert taken == sorted(given_tasks, key=lambda task: (task.priority, task.cause_at, task.task_id))

    asyncio.run(scenario())


@quick
@given(st.lists(st.sampled_from(["take", "take", "ack", "nack", "die", "wait"]), max_size=40), st.integers(1, 5))
def test_no_task_is_held_twice_and_none_is_lost(moves: list[str], count: int) -> None:
    async def scenario() -> None:
        clock = ManualClock()
        queue = MemoryBackend(ManualWorld(clock)).ports.queue
        todo = [Task("q", TaskKind.START, new_eid(), Timestamp(n), by()) for n in range(count)]
        for task in todo:
            await queue.enqueue(task)
        held: list[TaskLease] = []
        left, vanished = {task.task_id for task in todo}, dict.fromkeys((task.task_id for task in todo), 0)
        for move in moves:
            if move == "wait":
                await clock.advance(5)
                held = [await queue.renew(lease) for lease in held]
            elif move == "take":
                for lease in await queue.dequeue("q", "w", 10):
                    assert lease.task.task_id not in {one.task.task_id for one in held}
                    assert lease.deaths == vanished[lease.task.task_id]
                    held.append(lease)
            elif held:
                lease = held.pop(0)
                if move == "ack":
                    await queue.ack([lease])
                    left.discard(lease.task.task_id)
                elif move == "nack":
                    await queue.nack(lease)
                    vanished[lease.task.task_id] = 0
                else:
                    vanished[lease.task.task_id] += 1
                    for _ in range(3):  # the others are renewed while this one's lease runs out
                        await clock.advance(5)
                        held = [await queue.renew(one) for one in held]
        assert {view.task.task_id for view in await queue.list("q")} == left

    asyncio.run(scenario())
