"""What each operation costs: the bill is part of the design (requests of a write's class, reads, deletes)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import pytest

from flowli.adapters.cairndb import CairnBackend
from flowli.domain.channels import WaitMarker
from flowli.domain.entries import START, Position
from flowli.domain.ids import Eid
from flowli.domain.ports import Appended, Overtaken, Ports
from flowli.testing.clock import ManualClock
from flowli.testing.stores import CountingStore, Counts
from flowli.testing.suites.port_suite import entry, new_eid, record

from .builders import NOW, control_entry, holder, message, request, task, timer


@dataclass
class Bill:
    put: int = 0
    list: int = 0
    get: int = 0
    delete: int = 0


Cost = Callable[[Awaitable[object]], Awaitable[Bill]]


@pytest.fixture
async def ports(backend: CairnBackend) -> Ports:
    await backend.check()
    await backend.ports.queue.dequeue("finance", "w-1", 30.0)  # reads the settings, which are kept for a while
    return backend.ports


@pytest.fixture
def cost(store: CountingStore) -> Cost:
    async def measure(work: Awaitable[object]) -> Bill:
        mark = store.snapshot()
        await work
        return bill(store.since(mark))

    return measure


def bill(counts: Counts) -> Bill:
    return Bill(counts.put, counts.list, counts.get, counts.delete + counts.delete_many)


async def test_start(ports: Ports, cost: Cost) -> None:
    execution = record()
    assert await cost(ports.queue.enqueue(task(eid=execution.eid))) == Bill(put=1)
    assert await cost(ports.executions.put(execution)) == Bill(put=1)
    assert await cost(ports.executions.get(execution.eid)) == Bill(get=1)


async def test_a_journal_append_is_one_put_without_list_or_read(ports: Ports, cost: Cost) -> None:
    eid = new_eid()
    await ports.ownership.acquire(eid, holder(), 30.0)
    position = START
    for _ in range(5):
        position = await append(ports, cost, eid, position)
    assert await cost(ports.journal.read(eid, after=position)) == Bill(get=1)


async def append(ports: Ports, cost: Cost, eid: Eid, position: Position) -> Position:
    done: Appended | Overtaken | None = None

    async def work() -> None:
        nonlocal done
        done = await ports.journal.append(eid, [entry(1), entry(2)], after=position, epoch=1, writer="w-1")

    assert await cost(work()) == Bill(put=1)
    assert isinstance(done, Appended)
    return done.position


async def test_an_overtaken_append_learns_the_epoch_by_one_read(ports: Ports, store: CountingStore) -> None:
    eid = new_eid()
    await ports.journal.append(eid, [entry("theirs", epoch=3)], after=START, epoch=3, writer="w-2")
    mark = store.snapshot()
    outcome = await ports.journal.append(eid, [entry("mine")], after=START, epoch=1, writer="w-1")
    assert bill(store.since(mark)) == Bill(put=1, get=1)
    assert isinstance(outcome, Overtaken)
    assert outcome.epoch == 3
    assert [one.body.value for one in outcome.entries] == ["theirs"]  # type: ignore[union-attr]


async def test_control_entries_of_one_process_share_a_commit(
    ports: Ports, store: CountingStore, clock: ManualClock
) -> None:
    await ports.control.append([control_entry()])
    mark = store.snapshot()
    began_us = clock.elapsed_us
    last = await asyncio.gather(*(ports.control.append([control_entry(), control_entry()]) for _ in range(20)))
    assert bill(store.since(mark)) == Bill(put=1)
    assert last == list(range(3, 42, 2))
    assert clock.elapsed_us - began_us == 50_000


async def test_dequeue_and_ack_of_one_task(ports: Ports, store: CountingStore, cost: Cost) -> None:
    await ports.queue.enqueue(task())
    mark = store.snapshot()
    leases = await ports.queue.dequeue("finance", "w-1", 30.0)
    assert bill(store.since(mark)) == Bill(list=1, get=1, put=1)
    assert await cost(ports.queue.renew(leases[0])) == Bill(put=1)
    assert await cost(ports.queue.ack(leases)) == Bill(delete=1)


async def test_dequeue_shares_its_listing_among_the_tasks_it_takes(ports: Ports, store: CountingStore) -> None:
    for n in range(30):
        await ports.queue.enqueue(task(str(n), at_s=n))
    mark = store.snapshot()
    assert len(await ports.queue.dequeue("finance", "w-1", 30.0, limit=20)) == 20
    assert bill(store.since(mark)) == Bill(list=1, get=20, put=20)


async def test_dequeue_costs_the_same_however_many_are_queued_or_leased(
    ports: Ports, store: CountingStore, another: Callable[[str], CairnBackend]
) -> None:
    """BUD-5."""
    for n in range(300):
        await ports.queue.enqueue(task(str(n), at_s=n))
    other = another("host-b")
    await other.check()
    assert len(await other.ports.queue.dequeue("finance", "w-2", 30.0, limit=200)) == 200
    # once this process goes past what the other holds, which it has never seen before
    assert len(await ports.queue.dequeue("finance", "w-1", 30.0)) == 1
    mark = store.snapshot()
    for _ in range(10):
        assert len(await ports.queue.dequeue("finance", "w-1", 30.0)) == 1
    assert bill(store.since(mark)) == Bill(list=10, get=10, put=10)


async def test_an_idle_dequeue_is_one_listing(ports: Ports, store: CountingStore, cost: Cost) -> None:
    """BUD-5."""
    assert await cost(ports.queue.dequeue("finance", "w-1", 30.0)) == Bill(list=1)
    await ports.queue.enqueue(task())
    await ports.queue.dequeue("finance", "w-1", 30.0)
    # what is held and unchanged costs no read, from any place in the queue
    for _ in range(5):
        spent = await cost(ports.queue.dequeue("finance", "w-1", 30.0))
        assert (spent.get, spent.put) == (0, 0)
        assert spent.list <= 2


async def test_a_pass_over_delayed_tasks_costs_what_is_newly_due(ports: Ports, cost: Cost) -> None:
    for n in range(40):
        await ports.queue.enqueue(task(str(n), delay_s=n))
    due = task("0", delay_s=4.5).not_before
    assert due is not None
    assert await cost(ports.queue.promote("finance", due)) == Bill(list=1, get=5, put=5)
    assert await cost(ports.queue.promote("finance", due)) == Bill(list=1)


async def test_leases(ports: Ports, cost: Cost) -> None:
    eid = new_eid()
    assert await cost(ports.ownership.acquire(eid, holder(), 30.0)) == Bill(put=1)
    lease = await ports.ownership.read(eid)
    assert lease is not None
    assert await cost(ports.ownership.renew(lease)) == Bill(put=1)
    assert await cost(ports.ownership.request(eid, request("r-1"))) == Bill(get=1, put=1)
    assert await cost(ports.ownership.acquire(eid, holder("w-2"), 30.0, free_epoch=1)) == Bill(get=1, put=1)
    seen = await ports.ownership.read(eid)
    assert await cost(ports.ownership.acquire(eid, holder("w-3"), 30.0, free_epoch=2, seen=seen)) == Bill(put=1)


async def test_messages_and_markers(ports: Ports, store: CountingStore, cost: Cost) -> None:
    eid = new_eid()
    channel = f"{eid}.payments"
    for _ in range(3):
        assert await cost(ports.channel.send(message(channel))) == Bill(put=1)
    end = await ports.channel.end(channel)
    assert await cost(ports.channel.end(channel)) == Bill(get=1)
    assert await cost(ports.channel.read(channel, after=end)) == Bill(get=1)
    marker = WaitMarker(channel, eid, 1, ("root/receive#1",))
    assert await cost(ports.channel.mark(marker)) == Bill(put=1)
    assert await cost(ports.channel.marker(channel, eid)) == Bill(get=1)
    assert await cost(ports.channel.unmark(channel, eid, up_to_epoch=1)) == Bill(delete=1)
    assert await cost(ports.channel.read(channel, limit=1)) == Bill(get=1)


async def test_a_first_commit_after_a_look_at_the_archive_reads_nothing(ports: Ports, cost: Cost) -> None:
    eid = new_eid()
    assert await cost(ports.archive.get(eid)) == Bill(get=1)
    assert await cost(ports.journal.append(eid, [entry(1)], after=START, epoch=1, writer="w-1")) == Bill(put=1)


async def test_timers_cost_what_is_due(ports: Ports, cost: Cost) -> None:
    eid = new_eid()
    timers = [timer(n, eid=eid) for n in range(40)]
    for one in timers:
        assert await cost(ports.timers.set(one)) == Bill(put=1)
    assert await cost(ports.timers.due(NOW)) == Bill(list=1, get=1)
    assert await cost(ports.timers.cancel(timers[0])) == Bill(delete=1)


async def test_claims(ports: Ports, cost: Cost) -> None:
    assert await cost(ports.dispatch.claim("slot", 1)) == Bill(put=1)
    assert await cost(ports.dispatch.claim("slot", 2)) == Bill(put=1, get=1)


async def test_the_fold_of_a_segment_is_off_the_critical_path(
    backend: CairnBackend, ports: Ports, store: CountingStore
) -> None:
    eid, position = new_eid(), START
    for _ in range(64):
        done = await ports.journal.append(eid, [entry(1)], after=position, epoch=1, writer="w-1")
        assert isinstance(done, Appended)
        position = done.position
    segments = f"logs/wf.exec.{eid}/snapshots/segment/"
    for _ in range(1000):
        if (await store.list(segments)).items:
            break
        await asyncio.sleep(0)
    assert [item.key for item in (await store.list(segments)).items] == [f"{segments}000000000001.msgpack"]
    assert len((await ports.journal.read(eid)).entries) == 64
