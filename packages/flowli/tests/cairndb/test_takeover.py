"""Tasks and leases whose holder is gone, and what other processes see of each other."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from flowli.adapters.cairndb import CairnBackend
from flowli.domain import keys
from flowli.domain.errors import LeaseLost
from flowli.domain.ports import Acquired, Held
from flowli.domain.tasks import QueueSettings
from flowli.testing.clock import ManualClock, ManualWorld
from flowli.testing.stores import CountingStore
from flowli.testing.suites.port_suite import new_eid

from .builders import NOW, holder, request, task

Another = Callable[[str], CairnBackend]
TTL = 30.0


async def take(backend: CairnBackend, who: str, limit: int = 1) -> list[str]:
    return [lease.task.key for lease in await backend.ports.queue.dequeue("finance", who, TTL, limit=limit)]


async def test_a_task_of_a_dead_process_of_this_host_is_taken_at_once(
    backend: CairnBackend, another: Another, world: ManualWorld
) -> None:
    other = another("other-process")
    await backend.ports.queue.enqueue(task("mine"))
    assert await take(other, "w-2") == ["mine"]
    assert await take(backend, "w-1") == []
    world.dead.add(other.ports.queue.opened.cairn.world.process())  # type: ignore[attr-defined]
    (lease,) = await backend.ports.queue.dequeue("finance", "w-1", TTL)
    assert (lease.deaths, lease.epoch) == (1, 2)


async def test_a_task_that_is_renewed_stays_with_its_holder(
    backend: CairnBackend, another: Another, clock: ManualClock
) -> None:
    other = another("host-b")
    await backend.ports.queue.enqueue(task())
    (lease,) = await other.ports.queue.dequeue("finance", "w-2", TTL)
    for _ in range(10):
        await clock.advance(TTL / 3)
        lease = await other.ports.queue.renew(lease)
        assert await take(backend, "w-1") == []
    await other.ports.queue.ack([lease])
    assert await backend.ports.queue.list("finance") == []


async def test_a_task_that_nobody_renews_is_taken_after_its_own_ttl(
    backend: CairnBackend, another: Another, clock: ManualClock
) -> None:
    other = another("host-b")
    await backend.ports.queue.enqueue(task())
    (lost,) = await other.ports.queue.dequeue("finance", "w-2", TTL)
    assert await take(backend, "w-1") == []  # seen for the first time: from now on it ages
    await clock.advance(TTL - 1)
    assert await take(backend, "w-1") == []
    await clock.advance(1)
    (lease,) = await backend.ports.queue.dequeue("finance", "w-1", 1.0)
    assert lease.deaths == 1
    with pytest.raises(LeaseLost):
        await other.ports.queue.renew(lost)
    await other.ports.queue.ack([lost])
    await other.ports.queue.nack(lost)
    assert [view.holder for view in await backend.ports.queue.list("finance")] == ["w-1"]


async def test_a_task_given_back_by_another_process_is_found(
    backend: CairnBackend, another: Another, clock: ManualClock
) -> None:
    other = another("host-b")
    await backend.ports.queue.enqueue(task())
    (lease,) = await other.ports.queue.dequeue("finance", "w-2", TTL)
    assert await take(backend, "w-1") == []
    await other.ports.queue.nack(lease, delay_s=5)
    assert await take(backend, "w-1") == []
    await clock.advance(5)
    assert await take(backend, "w-1") == ["k"]


async def test_the_lease_of_a_task_works_from_a_fork(backend: CairnBackend) -> None:
    fork = backend.fork()
    await backend.ports.queue.enqueue(task())
    (lease,) = await backend.ports.queue.dequeue("finance", "w-1", TTL)
    renewed = await fork.ports.queue.renew(lease)
    renewed = await fork.ports.queue.renew(renewed)
    assert renewed.token != lease.token
    await backend.ports.queue.ack([lease])  # with a token from before the renewals
    assert await backend.ports.queue.list("finance") == []
    with pytest.raises(LeaseLost):
        await fork.ports.queue.renew(renewed)


async def test_the_same_holder_taking_a_task_twice_is_two_leases(
    backend: CairnBackend, another: Another, clock: ManualClock
) -> None:
    await backend.ports.queue.enqueue(task())
    (first,) = await backend.ports.queue.dequeue("finance", "w-1", TTL)
    await backend.ports.queue.ack([first])
    await backend.ports.queue.enqueue(first.task)
    (second,) = await backend.ports.queue.dequeue("finance", "w-1", TTL)
    assert second.epoch == first.epoch
    with pytest.raises(LeaseLost):
        await backend.ports.queue.renew(first)
    await backend.ports.queue.ack([first])
    assert len(await backend.ports.queue.list("finance")) == 1


async def test_a_task_with_higher_priority_is_not_passed_by_for_long(
    backend: CairnBackend, another: Another, clock: ManualClock
) -> None:
    other = another("host-b")
    for n in range(5):
        await backend.ports.queue.enqueue(task(str(n), at_s=n))
    assert await take(backend, "w-1") == ["0"]
    await other.ports.queue.enqueue(task("early", at_s=-1))
    await clock.advance(TTL / 2)
    assert await take(backend, "w-1") == ["early"]


async def test_every_task_is_found_however_a_listing_is_cut(backend: CairnBackend, store: CountingStore) -> None:
    for n in range(1_005):
        await backend.ports.queue.enqueue(task(f"{n:04}", at_s=n))
    taken: list[str] = []
    while found := await take(backend, "w-1", 40):
        taken += found
    assert taken == [f"{n:04}" for n in range(1_005)]


async def test_many_workers_share_a_queue_without_loss_or_doubles(backend: CairnBackend, another: Another) -> None:
    for n in range(200):
        await backend.ports.queue.enqueue(task(f"{n:03}", at_s=n))
    workers = [another(f"host-{n}") for n in range(6)]
    taken: list[str] = []

    async def work(worker: CairnBackend, name: str) -> None:
        while found := await take(worker, name, 3):
            taken.extend(found)

    await asyncio.gather(*(work(worker, f"w-{n}") for n, worker in enumerate(workers)))
    assert sorted(taken) == [f"{n:03}" for n in range(200)]


async def test_a_late_promotion_makes_no_second_run(backend: CairnBackend, store: CountingStore) -> None:
    delayed = task(delay_s=1)
    assert delayed.not_before is not None
    await backend.ports.queue.enqueue(delayed)
    await backend.ports.queue.promote("finance", delayed.not_before)
    body = await store.get(keys.ready(delayed))
    assert body is not None
    leases = await backend.ports.queue.dequeue("finance", "w-1", TTL)
    await backend.ports.queue.ack(leases)
    await store.put(keys.ready(delayed), body.data, if_absent=True)
    assert await take(backend, "w-1") == []
    assert await store.get(keys.ready(delayed)) is None


async def test_a_lease_of_a_dead_process_of_this_host_is_free_at_once(
    backend: CairnBackend, another: Another, world: ManualWorld
) -> None:
    other, eid = another("other-process"), new_eid()
    assert isinstance(await other.ports.ownership.acquire(eid, holder("w-2"), TTL), Acquired)
    assert isinstance(await backend.ports.ownership.acquire(eid, holder(), TTL), Held)
    world.dead.add(other.ports.queue.opened.cairn.world.process())  # type: ignore[attr-defined]
    got = await backend.ports.ownership.acquire(eid, holder(), TTL)
    assert isinstance(got, Acquired)
    assert (got.lease.epoch, got.lease.deaths) == (2, 1)


async def test_a_lease_token_works_in_a_fork_and_keeps_what_others_wrote(backend: CairnBackend) -> None:
    fork, eid = backend.fork(), new_eid()
    got = await backend.ports.ownership.acquire(eid, holder(), TTL, state={"at": 7})
    assert isinstance(got, Acquired)
    await backend.ports.ownership.request(eid, request("r-1"))
    renewed = await fork.ports.ownership.renew(got.lease)
    assert (renewed.requests, renewed.state) == ((request("r-1"),), {"at": 7})
    assert (await backend.ports.ownership.renew(renewed, applied=["r-1"])).requests == ()


@pytest.mark.parametrize("paused", ["maintenance", ""])
async def test_a_pause_reaches_other_processes(
    backend: CairnBackend, another: Another, clock: ManualClock, paused: str
) -> None:
    other = another("host-b")
    await backend.ports.queue.enqueue(task())
    await other.ports.queue.dequeue("nothing", "w-2", TTL)
    await backend.ports.queue.configure("finance", QueueSettings(paused=paused))
    await clock.advance(3)
    assert await take(other, "w-2") == []
    await backend.ports.queue.configure("finance", QueueSettings())
    await clock.advance(3)
    assert await take(other, "w-2") == ["k"]


async def test_what_a_newer_release_wrote_beside_a_task_stays(backend: CairnBackend) -> None:
    documents = backend.ports.queue.opened.cairn.documents  # type: ignore[attr-defined]
    one = task()
    await backend.ports.queue.enqueue(one)
    doc = await documents.read(keys.ready(one))
    body = {**doc.body, "shard": 3, "task": {**doc.body["task"], "trace": "abc"}}
    await documents.swap(doc, body)
    (lease,) = await backend.ports.queue.dequeue("finance", "w-1", TTL)
    lease = await backend.ports.queue.renew(lease)
    await backend.ports.queue.nack(lease)
    stands = (await documents.read(doc.key)).body
    assert (stands["shard"], stands["task"]["trace"]) == (3, "abc")


async def test_bury_twice_is_one_dead_task(backend: CairnBackend, store: CountingStore) -> None:
    one = task()
    await backend.ports.queue.enqueue(one)
    (lease,) = await backend.ports.queue.dequeue("finance", "w-1", TTL)
    await backend.ports.queue.bury(lease, "it kills its worker", NOW)
    await backend.ports.queue.enqueue(one)  # as if the first one had crashed between its two writes
    (lease,) = await backend.ports.queue.dequeue("finance", "w-1", TTL)
    await backend.ports.queue.bury(lease, "again", NOW)
    (dead,) = await backend.ports.queue.dead("finance")
    assert dead.cause == "it kills its worker"
    assert await backend.ports.queue.list("finance") == []
