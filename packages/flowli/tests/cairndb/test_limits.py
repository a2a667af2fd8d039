"""Concurrency and rate hold for the whole fleet, whoever crashes where."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable

import pytest

from flowli.adapters.cairndb import CairnBackend, keys
from flowli.domain.tasks import QueueSettings, TaskLease
from flowli.stores.memory import MemoryStore
from flowli.testing.clock import ManualClock, ManualWorld
from flowli.testing.stores import CountingStore, Fault, FaultStore, Hold

from .builders import task

Another = Callable[[str], CairnBackend]
TTL = 30.0


async def fill(backend: CairnBackend, tasks: int) -> None:
    for n in range(tasks):
        await backend.ports.queue.enqueue(task(f"{n:03}", at_s=n))


async def take(backend: CairnBackend, who: str, limit: int = 10) -> list[TaskLease]:
    return [*await backend.ports.queue.dequeue("finance", who, TTL, limit=limit)]


async def test_no_more_are_held_than_allowed(backend: CairnBackend, another: Another) -> None:
    other = another("host-b")
    await backend.ports.queue.configure("finance", QueueSettings(concurrency=3))
    await fill(backend, 10)
    mine, theirs = await take(backend, "w-1", 2), await take(other, "w-2")
    assert (len(mine), len(theirs)) == (2, 1)
    assert await take(backend, "w-1") == []
    await other.ports.queue.ack(theirs)
    (again,) = await take(backend, "w-1")
    await backend.ports.queue.nack(again)
    assert len(await take(other, "w-2")) == 1


async def test_a_dead_holder_frees_its_slot_when_its_task_is_taken_over(
    backend: CairnBackend, another: Another, clock: ManualClock
) -> None:
    other = another("host-b")
    await backend.ports.queue.configure("finance", QueueSettings(concurrency=1))
    await fill(backend, 2)
    assert len(await take(other, "w-2")) == 1
    assert await take(backend, "w-1") == []
    await clock.advance(TTL + 1)
    (lease,) = await take(backend, "w-1")
    assert (lease.task.key, lease.deaths) == ("000", 1)
    await backend.ports.queue.ack([lease])
    assert [one.task.key for one in await take(backend, "w-1")] == ["001"]


async def test_a_slot_whose_task_nobody_holds_is_cleared(
    backend: CairnBackend, store: CountingStore, clock: ManualClock
) -> None:
    await backend.ports.queue.configure("finance", QueueSettings(concurrency=1))
    await fill(backend, 2)
    (lease,) = await take(backend, "w-1")
    await store.delete(keys.ready(lease.task))  # its holder freed no slot: it crashed, or is of another release
    await clock.advance(10)
    assert [one.task.key for one in await take(backend, "w-1")] == ["001"]


async def test_a_clearer_and_a_taker_never_both_win(clock: ManualClock) -> None:
    """The taker stops between its slot and its task while another finds the slot without a task and clears it."""
    hold = Hold()
    inner = MemoryStore(world=ManualWorld(clock))
    slow = FaultStore(inner, [])
    taker = CairnBackend(slow, world=ManualWorld(clock, name="taker"))
    other = CairnBackend(inner, world=ManualWorld(clock, name="other"))
    await other.ports.queue.configure("finance", QueueSettings(concurrency=1))
    await fill(other, 2)
    await taker.check()
    slow.script.append(Fault(hold, key="wf/queues/finance/ready/*"))
    taking = asyncio.ensure_future(take(taker, "w-1", 1))
    await hold.reached.wait()
    # task 000 has a slot and no holder: the other one clears the slot, and takes both tasks' place
    theirs = await take(other, "w-2", 1)
    assert len(theirs) == 1
    hold.gate.set()
    mine = await taking
    assert len(mine) + len(theirs) == 1
    held = [view for view in await other.ports.queue.list("finance") if view.holder]
    assert len(held) == 1


@pytest.mark.parametrize("seed", range(8))
async def test_random_fleets_keep_to_the_limit(
    backend: CairnBackend, another: Another, clock: ManualClock, seed: int
) -> None:
    chance = random.Random(seed)
    await backend.ports.queue.configure("finance", QueueSettings(concurrency=4))
    await fill(backend, 60)
    done: set[str] = set()
    most = 0

    async def work(worker: CairnBackend, name: str) -> None:
        nonlocal most
        idle = 0
        while len(done) < 60 and idle < 400:
            leases = await take(worker, name, chance.randint(1, 3))
            idle = 0 if leases else idle + 1
            views = await worker.ports.queue.list("finance")
            most = max(most, sum(view.holder is not None for view in views))
            for lease in leases:
                await asyncio.sleep(0)
                if chance.random() < 0.2:
                    await worker.ports.queue.nack(lease)
                else:
                    await worker.ports.queue.ack([lease])
                    done.add(lease.task.key)
            if not leases:
                clock.elapsed_us += 500_000
                await asyncio.sleep(0)

    await asyncio.gather(*(work(another(f"host-{n}"), f"w-{n}") for n in range(4)))
    assert len(done) == 60
    assert most <= 4


async def test_rate_holds_over_any_period(backend: CairnBackend, another: Another, clock: ManualClock) -> None:
    other = another("host-b")
    await backend.ports.queue.configure("finance", QueueSettings(rate=5, rate_period_s=10.0))
    await fill(backend, 40)
    started: list[float] = []
    for tick in range(60):
        for worker in (backend, other):
            leases = await take(worker, "w", 2)
            started += [tick * 0.7] * len(leases)
            await worker.ports.queue.ack(leases)
        await clock.advance(0.7)
    assert len(started) >= 20
    for begin in started:
        assert sum(begin <= at < begin + 10 for at in started) <= 5


async def test_a_limit_alone_writes_nothing_when_nothing_is_free(backend: CairnBackend, store: CountingStore) -> None:
    await backend.ports.queue.configure("finance", QueueSettings(rate=5, concurrency=5))
    await take(backend, "w-1")
    mark = store.snapshot()
    assert await take(backend, "w-1") == []
    assert store.since(mark).put == 0
