"""Concurrency and rate hold for the whole fleet, whoever crashes where."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable

import pytest

from flowli.adapters.cairndb import CairnBackend
from flowli.adapters.cairndb.limits import Limits
from flowli.domain import keys
from flowli.domain.tasks import QueueSettings, TaskLease
from flowli.testing.clock import ManualClock
from flowli.testing.stores import CountingStore

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
    """QUE-9."""
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


LIMIT_1 = QueueSettings(concurrency=1)


async def limits_of_two_processes(backend: CairnBackend, another: Another) -> tuple[Limits, Limits, list[str]]:
    await fill(backend, 2)
    other = another("host-b")
    found = [keys.ready(view.task) for view in await backend.ports.queue.list("finance")]
    made = [
        Limits(one.ports.queue.opened.cairn.documents, one.ports.queue.opened.cairn.world)  # type: ignore[attr-defined]
        for one in (backend, other)
    ]
    return made[0], made[1], found


async def test_a_slot_that_was_cleared_before_its_task_was_taken_is_not_confirmed(
    backend: CairnBackend, another: Another
) -> None:
    mine, theirs, (first, second) = await limits_of_two_processes(backend, another)
    assert await mine.admit("finance", LIMIT_1, [first]) == [first]
    assert await theirs.admit("finance", LIMIT_1, [second]) == [second]
    await take(backend, "w-1", 1)  # the first process goes on, late
    assert await mine.confirm("finance", LIMIT_1, [first]) == set()
    assert await theirs.confirm("finance", LIMIT_1, [second]) == {second}


async def test_a_slot_whose_task_is_taken_while_it_is_being_cleared_stays(
    backend: CairnBackend, another: Another, store: CountingStore
) -> None:
    mine, theirs, (first, second) = await limits_of_two_processes(backend, another)
    assert await mine.admit("finance", LIMIT_1, [first]) == [first]
    mark = store.snapshot()
    clearing = asyncio.ensure_future(theirs.admit("finance", LIMIT_1, [second]))
    for _ in range(10_000):
        if store.since(mark, "*/limits/slots").put:
            break
        await asyncio.sleep(0)
    # it is doubted now: who takes the task must not count on it before the doubt is settled
    unsettled = await mine.confirm("finance", LIMIT_1, [first])
    taken = await take(backend, "w-1", 1)
    admitted = await clearing
    settled = await mine.confirm("finance", LIMIT_1, [first])
    assert not (admitted and (unsettled or settled))
    assert len(taken) == 1


@pytest.mark.parametrize("seed", range(3))
async def test_random_fleets_keep_to_the_limit(
    backend: CairnBackend, another: Another, clock: ManualClock, seed: int
) -> None:
    """QUE-8."""
    chance = random.Random(seed)
    await backend.ports.queue.configure("finance", QueueSettings(concurrency=4))
    await fill(backend, 60)
    done: set[str] = set()
    working = most = 0

    async def work(worker: CairnBackend, name: str) -> None:
        nonlocal most, working
        idle = 0
        while len(done) < 60 and idle < 400:
            leases = await take(worker, name, chance.randint(1, 3))
            idle = 0 if leases else idle + 1
            working += len(leases)
            most = max(most, working)
            for lease in leases:
                await asyncio.sleep(chance.choice((0, 0.001)))
                working -= 1
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
    assert 2 <= most <= 4


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
