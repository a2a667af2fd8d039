"""What it costs: requests to the store, counted exactly (the bill is part of the design)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from flowli import Context
from flowli.domain.ids import role_eid
from flowli.testing.stores import CountingStore, Counts, Request

from .fleet import Fleet, Process


class Bill:
    """The requests of one process."""

    def __init__(self) -> None:
        self.stores: list[CountingStore] = []

    def wrap(self, store: Any) -> CountingStore:
        self.stores.append(CountingStore(store))
        return self.stores[-1]

    @property
    def requests(self) -> list[Request]:
        return [request for store in self.stores for request in store.requests]

    def clear(self) -> None:
        for store in self.stores:
            store.requests.clear()

    def of(self, *skip: str | tuple[str, ...]) -> Counts:
        """All requests but those for keys that begin with one of ``skip``."""
        return Counts.of(one for one in self.requests if not one.key.startswith(_flat(skip)))

    def keys(self, verb: str, *skip: str | tuple[str, ...]) -> list[str]:
        """The keys of the requests of one kind, in order."""
        return [one.key for one in self.requests if one.verb == verb and not one.key.startswith(_flat(skip))]


SIGN = f"wf/exec/{role_eid('flowli:sign:queue:default')}/"
CONTROL = ("logs/wf/", "wf/queues/default/limits/", SIGN)
"""Shares: the commits of the control log, the settings of the queue, which are read once in a while, and the sign that
somebody listens to the queue, which is written once a minute.
"""


def _flat(skip: tuple[str | tuple[str, ...], ...]) -> tuple[str, ...]:
    return tuple(prefix for one in skip for prefix in ((one,) if isinstance(one, str) else one))


@pytest.fixture
async def cairn(tmp_path: Path) -> AsyncIterator[Fleet]:
    made = Fleet("cairn", tmp_path)
    yield made
    await made.close()


async def process(fleet: Fleet, bill: Bill, name: str) -> Process:
    made = fleet.process(name, wrap=bill.wrap)
    await made.backend.check()
    bill.clear()
    return made


async def one(n: int) -> int:
    return n + 1


async def test_a_start_is_two_puts_beside_a_share_of_the_control_log(cairn: Fleet) -> None:
    """BUD-1."""

    @cairn.registry.workflow
    async def quick(ctx: Context) -> None:
        return None

    bill = Bill()
    app = await process(cairn, bill, "app")
    await app.engine.start(quick)
    await cairn.clock.advance(5)
    counts = bill.of(CONTROL)
    assert (counts.put, counts.list, counts.get, counts.delete) == (2, 0, 0, 0)
    assert len(bill.keys("put")) == 3


async def test_a_start_with_a_key_is_three_puts(cairn: Fleet) -> None:
    """BUD-1."""

    @cairn.registry.workflow
    async def quick(ctx: Context) -> None:
        return None

    bill = Bill()
    app = await process(cairn, bill, "app")
    await app.engine.start(quick, key="order-1")
    await cairn.clock.advance(5)
    counts = bill.of(CONTROL)
    assert (counts.put, counts.list, counts.get) == (3, 0, 0)


@pytest.mark.parametrize("k", [1, 5, 20])
async def test_k_steps_are_k_commits_and_the_rest_is_two_puts_and_three_gets(cairn: Fleet, k: int) -> None:
    """BUD-2."""

    @cairn.registry.workflow
    async def steps(ctx: Context, k: int) -> int:
        n = 0
        for _ in range(k):
            n = await ctx.step(one, n)
        return n

    eid = await cairn.engine.start(steps, k)
    bill = Bill()
    worker = await process(cairn, bill, "w")
    worker.work(sweep=False)
    assert await cairn.value(eid) == k
    journal = f"logs/wf.exec.{eid}/"
    assert len(bill.keys("put")) == k + len(bill.keys("put", journal))
    assert len([key for key in bill.keys("put") if key.startswith(journal)]) == k, "k commits"
    assert [key for key in bill.keys("get") if key.startswith(journal)] == [], "the journal is never read"
    rest = bill.of(journal, CONTROL)
    assert rest.put == 2, "the task is taken, the lease is made"
    assert bill.keys("put", journal, CONTROL)[0].startswith("wf/queues/default/ready/")
    assert bill.keys("put", journal, CONTROL)[1] == f"wf/exec/{eid}/lease"
    assert rest.get == 3, "task, record, archive"
    assert rest.delete == 1, "the ack"
    assert set(bill.keys("list")) == {"wf/queues/default/ready/"}, "only idle looks for work"


async def test_five_steps_in_all(cairn: Fleet) -> None:
    @cairn.registry.workflow
    async def five(ctx: Context) -> None:
        for n in range(5):
            await ctx.step(one, n)

    bill = Bill()
    worker = await process(cairn, bill, "w")
    eid = await cairn.run(worker.engine.start(five))
    worker.work(sweep=False)
    await cairn.value(eid)
    counts = bill.of(CONTROL)
    assert counts.put <= 9
    assert counts.get <= 3


async def waiting(cairn: Fleet, bill: Bill) -> tuple[Process, Any]:
    """A worker, and an execution that it has suspended until a message."""

    @cairn.registry.workflow
    async def cycle(ctx: Context, times: int) -> int:
        total = 0
        for _ in range(times):
            total += await ctx.receive("go")
        return total

    worker = await process(cairn, bill, "w")
    worker.work(sweep=False)
    return worker, cycle


async def test_suspending_and_resuming_by_one_message(cairn: Fleet) -> None:
    """BUD-3."""
    bill = Bill()
    _, cycle = await waiting(cairn, bill)
    eid = await cairn.engine.start(cycle, 1)
    signals = Bill()
    sender = await process(cairn, signals, "sender")
    await cairn.until_status(eid, "suspended")
    taken = bill.keys("get", CONTROL)
    assert taken[1:3] == [f"wf/exec/{eid}/meta", f"wf/archive/{eid}.msgpack"]
    suspend = taken[3:]
    bill.requests.clear()
    writes = [key for key in bill.keys("put", CONTROL) if key.startswith("wf/waits/")]
    assert len(writes) == 1, "the marker"
    bill.clear()
    await cairn.run(sender.engine.signal(eid, "go", 3))
    assert await cairn.value(eid) == 3
    journal = f"logs/wf.exec.{eid}/"
    resume, signal = bill.of(CONTROL, journal), signals.of(CONTROL)
    assert (signal.put, signal.get, signal.list) == (2, 1, 0), "message and RESUME, after a look at the marker"
    assert resume.put == 2, "task and lease"
    assert resume.get == 2, "task and message"
    assert resume.delete == 2, "marker and task"
    assert len(suspend) == 2, "the channel and the lease are looked at again"
    assert len(writes) + signal.put + resume.put <= 5
    assert len(suspend) + signal.get + resume.get <= 5


async def test_receive_cycles_cost_the_same_each(cairn: Fleet) -> None:
    """BUD-4."""
    bill, signals = Bill(), Bill()
    _, cycle = await waiting(cairn, bill)
    sender = await process(cairn, signals, "sender")
    eid = await cairn.engine.start(cycle, 31)
    journal = f"logs/wf.exec.{eid}/"
    costs: list[tuple[int, int]] = []
    for n in range(30):
        await cairn.until_status(eid, "suspended")
        await cairn.clock.advance(3)
        bill.clear()
        signals.clear()
        await cairn.run(sender.engine.signal(eid, "go", n))
        await cairn.clock.advance(3)
        both = [bill.of(CONTROL, journal), signals.of(CONTROL)]
        costs.append((sum(one.put for one in both), sum(one.get for one in both)))
        assert len([key for key in bill.keys("put") if key.startswith(journal)]) <= 2
    assert set(costs) == {(4, 5)}, "message, RESUME, task, lease; marker, task, message, and the look before sleeping"


async def test_a_timeout_adds_one_put(cairn: Fleet) -> None:
    @cairn.registry.workflow
    async def wait(ctx: Context) -> Any:
        return await ctx.receive("go", timeout=100)

    bill = Bill()
    worker = await process(cairn, bill, "w")
    worker.work(sweep=False)
    eid = await cairn.engine.start(wait)
    await cairn.until_status(eid, "suspended")
    await cairn.clock.advance(3)
    writes = bill.keys("put", CONTROL, f"logs/wf.exec.{eid}/")
    assert sorted(key.split("/")[1] for key in writes) == ["exec", "queues", "timers", "waits"]
    await cairn.engine.signal(eid, "go")
    await cairn.value(eid)


async def test_a_thousand_that_wait_cost_nothing_while_they_wait(cairn: Fleet) -> None:
    bill = Bill()
    _, cycle = await waiting(cairn, bill)
    eids = [await cairn.engine.start(cycle, 1) for _ in range(200)]
    for eid in eids:
        await cairn.until_status(eid, "suspended")
    await cairn.clock.advance(10)
    bill.clear()
    await cairn.clock.advance(60)
    assert set(bill.keys("list")) == {"wf/queues/default/ready/"}
    assert bill.keys("put") == [f"{SIGN}lease"]
    assert bill.keys("get", CONTROL) == []
    for n, eid in enumerate(eids):
        await cairn.engine.signal(eid, "go", n)
    assert [await cairn.value(eid) for eid in eids[:5]] == [0, 1, 2, 3, 4]


async def test_an_unclean_takeover_costs_one_commit_and_the_journal(cairn: Fleet) -> None:
    """OWN-6."""

    async def long() -> None:
        await cairn.clock.sleep(1000)

    @cairn.registry.workflow
    async def steps(ctx: Context) -> None:
        await ctx.step(one, 1)
        await ctx.step(long)

    first = cairn.process("w-1").work(sweep=False)
    eid = await cairn.engine.start(steps)
    await cairn.clock.advance(5)
    first.kill()
    bill = Bill()
    second = await process(cairn, bill, "w-2")
    second.work(sweep=False)
    await cairn.clock.advance(100)
    journal = f"logs/wf.exec.{eid}/"
    assert len([key for key in bill.keys("put") if key.startswith(journal)]) == 1, "execution.resumed"
    assert await cairn.tags(eid) == [
        "execution.started",
        "frame.started",
        "frame.completed",
        "frame.started",
        "execution.resumed",
    ]
    await cairn.value(eid)


async def test_renewals_are_two_puts_each_third_of_the_ttl(cairn: Fleet) -> None:
    """BUD-6."""

    async def long() -> None:
        await cairn.clock.sleep(1000)

    @cairn.registry.workflow
    async def steps(ctx: Context) -> None:
        await ctx.step(long)

    bill = Bill()
    worker = await process(cairn, bill, "w")
    worker.work(sweep=False)
    eid = await cairn.engine.start(steps)
    await cairn.clock.advance(20)
    bill.clear()
    await cairn.clock.advance(300)
    counts = bill.of(CONTROL)
    assert 2 * 300 / 12.6 - 2 <= counts.put <= 2 * 300 / 10 + 2
    assert bill.keys("get", CONTROL) == []
    await cairn.value(eid)
