"""Errors of the cairn and of stores as the ports raise them, and writes whose answer is lost."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from flowli.adapters.cairndb import CairnBackend
from flowli.adapters.cairndb.errors import translate
from flowli.cairn import errors as cairn
from flowli.cairn.store import ObjectStore
from flowli.domain import errors as domain
from flowli.domain.channels import WaitMarker
from flowli.domain.entries import START
from flowli.domain.ports import Acquired, Appended, Ports
from flowli.testing.clock import ManualWorld
from flowli.testing.stores import DropReply, Fault, FaultStore, Refuse
from flowli.testing.suites.port_suite import entry, new_eid, record

from .builders import NOW, control_entry, holder, message, request, task, timer


def subclasses(kind: type) -> list[type]:
    return [one for direct in kind.__subclasses__() for one in (direct, *subclasses(direct))]


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (cairn.StoreThrottled("busy"), domain.BackendUnavailable),
        (cairn.StoreUnavailable("down"), domain.BackendUnavailable),
        (cairn.StorePermission("no"), domain.BackendRefused),
        (cairn.StoreMissing("no bucket"), domain.BackendRefused),
        (cairn.StoreFull("full"), domain.BackendUnavailable),
        (cairn.LayoutTooNew(9, 1), domain.BackendRefused),
        (cairn.FormatTooNew("9"), domain.BackendRefused),
        (cairn.LogTrimmed("wf", 1, 2, 3), domain.BackendRefused),
        (cairn.OutcomeUnknown("?"), domain.OutcomeUnknown),
        (cairn.LeaseGone("gone"), domain.LeaseLost),
        (cairn.LogFenced("fenced"), domain.LeaseLost),
        (cairn.KeyRefused("bad"), domain.InvalidName),
        (cairn.NotStorable("bad"), domain.InvalidValue),
    ],
)
def test_each_error_has_its_counterpart(error: cairn.CairnError, expected: type[Exception]) -> None:
    assert type(translate(error)) is expected
    assert error.fact in str(translate(error))


@pytest.fixture
def faults(inner: ObjectStore) -> FaultStore:
    return FaultStore(inner)


@pytest.fixture
async def ports(faults: FaultStore, world: ManualWorld) -> Ports:
    backend = CairnBackend(faults, world=world)
    await backend.check()
    return backend.ports


async def test_a_store_that_stays_down_is_unavailable(ports: Ports, faults: FaultStore) -> None:
    faults.script.append(Fault(Refuse(cairn.StoreUnavailable("the store is down")), verb="*", times=10**6))
    for call in (
        ports.executions.get(new_eid()),
        ports.executions.put(record()),
        ports.queue.dequeue("finance", "w-1", 30.0),
        ports.journal.append(new_eid(), [entry(1)], after=START, epoch=1, writer="w"),
        ports.control.append([control_entry()]),
        ports.timers.due(NOW),
    ):
        with pytest.raises(domain.BackendUnavailable, match="the store is down"):
            await call


async def test_a_refusal_is_told_at_once(ports: Ports, faults: FaultStore) -> None:
    faults.script.append(Fault(Refuse(cairn.StorePermission("the key may not write")), times=10**6))
    with pytest.raises(domain.BackendRefused, match="may not write"):
        await ports.executions.put(record())


Call = Callable[[Ports], Awaitable[object]]
EID, EXECUTION, TASK, TIMER = new_eid(), record(), task(), timer(1)

WRITES: dict[str, Call] = {
    "execution": lambda ports: ports.executions.put(EXECUTION),
    "task": lambda ports: ports.queue.enqueue(TASK),
    "claim": lambda ports: ports.dispatch.claim("slot", 7),
    "evidence": lambda ports: ports.evidence.put(EID, "a/b", b"x"),
    "mark": lambda ports: ports.channel.mark(WaitMarker("c", EID, 1, ("root/receive#1",))),
}


@pytest.mark.parametrize("name", WRITES)
async def test_a_first_write_whose_answer_is_lost_counts_as_done(ports: Ports, faults: FaultStore, name: str) -> None:
    faults.script.append(Fault(DropReply()))
    first = await WRITES[name](ports)
    assert getattr(first, "won", first) is True


async def test_appends_whose_answer_is_lost_are_made_once(ports: Ports, faults: FaultStore) -> None:
    eid = new_eid()
    faults.script.append(Fault(DropReply(), key="logs/*", times=10**6))
    done = await ports.journal.append(eid, [entry("a")], after=START, epoch=1, writer="w")
    assert isinstance(done, Appended)
    assert len((await ports.journal.read(eid)).entries) == 1
    assert [await ports.control.append([control_entry()]) for _ in range(3)] == [1, 2, 3]
    assert [(await ports.channel.send(message())).seq for _ in range(3)] == [1, 2, 3]
    assert len((await ports.control.read()).entries) == len((await ports.channel.read("payments")).messages) == 3


async def test_a_task_goes_its_way_although_every_answer_is_lost(ports: Ports, faults: FaultStore) -> None:
    faults.script.append(Fault(DropReply(), verb="*", times=10**6))
    delayed = task(delay_s=1)
    assert delayed.not_before is not None
    await ports.queue.enqueue(delayed)
    assert await ports.queue.promote("finance", delayed.not_before) == 1
    (lease,) = await ports.queue.dequeue("finance", "w-1", 30.0)
    assert (lease.epoch, lease.deaths) == (1, 0)
    lease = await ports.queue.renew(lease)
    await ports.queue.nack(lease)
    (lease,) = await ports.queue.dequeue("finance", "w-1", 30.0)
    await ports.queue.ack([lease])
    assert await ports.queue.list("finance") == []
    assert await ports.queue.queues() == []


async def test_a_lease_goes_its_way_although_every_answer_is_lost(ports: Ports, faults: FaultStore) -> None:
    faults.script.append(Fault(DropReply(), verb="*", times=10**6))
    eid = new_eid()
    await ports.ownership.request(eid, request("r-1"))
    got = await ports.ownership.acquire(eid, holder(), 30.0)
    assert isinstance(got, Acquired)
    assert (got.lease.epoch, got.lease.requests) == (1, (request("r-1"),))
    lease = await ports.ownership.renew(got.lease, applied=["r-1"])
    await ports.ownership.release(lease)
    again = await ports.ownership.acquire(eid, holder("w-2"), 30.0)
    assert isinstance(again, Acquired)
    assert (again.lease.epoch, again.lease.requests) == (2, ())


BAD = ["", ".", "..", "../x", "%2e%2e%2f", "..\\x", ".x/", "a\0", "a/../b", "\uff41", "a b"]


@pytest.mark.parametrize("name", BAD)
async def test_a_bad_name_reaches_no_store(ports: Ports, faults: FaultStore, name: str) -> None:
    eid, mark = new_eid(), faults.snapshot()
    calls: list[Awaitable[object]] = [
        ports.queue.dequeue(name, "w-1", 30.0),
        ports.queue.list(name),
        ports.queue.dead(name),
        ports.queue.settings(name),
        ports.queue.promote(name, NOW),
        ports.channel.send(message(name)),
        ports.channel.read(name),
        ports.channel.markers(name),
        ports.channel.mark(WaitMarker(name, eid, 1, ())),
        ports.dispatch.claim(name, 1),
        ports.dispatch.read_start(name),
    ]
    for call in calls:
        with pytest.raises(domain.InvalidName):
            await call
    assert faults.snapshot() == mark
