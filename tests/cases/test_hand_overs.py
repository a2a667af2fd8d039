"""Work that changes hands: crashes, slots, delays, starts, sleeps and sweepers."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from flowli import Context, Registry, RetryPolicy, Site, step_info
from flowli.adapters.cairndb import CairnBackend
from flowli.domain.entries import ExecutionResumed, FrameStarted
from flowli.domain.errors import DispatchConflict, ExecutionCancelled
from flowli.domain.ports import Acquired, Holder
from flowli.domain.tasks import QueueSettings
from flowli.testing.stores import Fault, Hold

from .conftest import quiet
from .rig import Calls, Wire, new_fleet, real

DAY_US = 86_400_000_000
TTL = {"exec_ttl_s": 4.0, "task_ttl_s": 4.0, "audit_period_s": 60.0, "poll_s": 1.0}


async def story(kind: str, folder: Path, dies_at: int | None) -> tuple[int, Calls]:
    """Start, claim, steps, a retry, a child, a message, a timer and a successor, by a process that dies on the way."""
    fleet, calls = new_fleet(kind, folder), Calls()

    async def flaky() -> str:
        calls["flaky"] += 1
        if step_info().attempt == 1:
            raise OSError("once")
        return "steady"

    @fleet.registry.workflow
    async def leaf(ctx: Context, n: int) -> int:
        return await ctx.step(calls.once, n)

    @fleet.registry.workflow
    async def successor(ctx: Context) -> str:
        await ctx.sleep(3)
        return await ctx.step(calls.once, "successor")

    @fleet.registry.workflow
    async def story(ctx: Context) -> list[Any]:
        found = [await ctx.step(flaky, retry=RetryPolicy(2, backoff=timedelta(seconds=3)))]
        found += await asyncio.gather(ctx.child(leaf, 1), ctx.step(calls.once, 2))
        found.append(await ctx.receive("go", timeout=60))
        found.append(await ctx.claim("chair", "mine"))
        await ctx.sleep(5)
        found.append(await ctx.child(successor))
        return found

    first = fleet.process("w-1", **TTL)
    first.dies_at, first.dies_after = dies_at, dies_at is not None and dies_at % 2 == 0
    eid = await fleet.engine.start(story)
    await fleet.engine.signal(eid, "go", "on")
    first.work()
    await fleet.clock.advance(4)
    fleet.process("w-2", **TTL).work()
    result = await fleet.run(fleet.app.engine.result(eid), limit_s=3600)
    assert result == ["steady", 1, 2, "on", "mine", "successor"]
    await fleet.clock.advance(70)  # a timer of who died before it suspended may be left, and fires for nothing
    await fleet.check(eid)
    assert await fleet.tasks() == []
    assert await fleet.ports.timers.pending() == []
    await fleet.close()
    return len(first.calls), calls


async def test_a_crash_between_any_two_writes_of_a_hand_over_is_repaired(kind: str, tmp_path: Path) -> None:
    """K25: spread over all that a worker asks for; only the step in flight runs twice."""
    quiet()
    made, _ = await story(kind, tmp_path / "calm", None)
    stride = 7 if kind == "cairn" else 15
    for nth in range(1, min(made, 140), stride):
        try:
            _, calls = await story(kind, tmp_path / str(nth), nth)
        except BaseException as error:
            raise AssertionError(f"died at call {nth}") from error
        assert sum(calls.values()) <= 5 + 2, f"call {nth}: {calls}"


async def test_a_step_that_blocks_its_loop_for_longer_than_the_ttl_keeps_its_lease(kind: str, tmp_path: Path) -> None:
    """K12: renewed from beside the loop, so that another process, which tries all the time, never gets the lease."""
    registry, wire, over = Registry(), Wire(), threading.Event()
    tried: list[object] = []

    def renewals() -> int:
        return sum(one.verb == "put" and one.key == f"wf/exec/{eid}/lease" for one in list(wire.requests))

    async def contend() -> None:
        backend = CairnBackend(wire.stores[0].store.fork())
        while not over.is_set():
            tried.append(await backend.ports.ownership.acquire(eid, Holder("other", Site("other")), 4.0))
            await asyncio.sleep(0.05)
        await backend.close()

    async def block() -> str:
        contender = threading.Thread(target=asyncio.run, args=(contend(),))
        contender.start()
        first = renewals()
        while renewals() < first + 4:  # each third of the ttl
            over.wait(0.05)
        over.set()
        contender.join()
        return "blocked"

    @registry.workflow
    async def one(ctx: Context) -> str:
        return await ctx.step(block)

    async with real(kind, tmp_path, registry, wire.wrap, exec_ttl_s=4.0, task_ttl_s=4.0) as engine:
        eid = await engine.start(one)
        worker = engine.worker()
        await worker.run_until_idle()
        await worker.drain()
        assert await engine.result(eid) == "blocked"
        entries = (await engine.ports.journal.read(eid)).entries
    assert {entry.by.site.epoch for entry in entries} == {1}
    assert len(tried) > 3
    assert not [got for got in tried if isinstance(got, Acquired)]


async def test_who_is_cancelled_while_it_waits_for_a_slot_takes_none(fleet: Any) -> None:
    """K26: the queue of one goes on with the next."""
    calls = Calls()

    async def work(n: int) -> int:
        await fleet.clock.sleep(30)
        return await calls.once(n)

    @fleet.registry.workflow
    async def one(ctx: Context, n: int) -> int:
        return await ctx.step(work, n)

    await fleet.ports.queue.configure("default", QueueSettings(concurrency=1))
    eids = []
    for n in range(3):
        eids.append(await fleet.engine.start(one, n))
        await fleet.clock.advance(1)
    fleet.process("w", **TTL).work()
    await fleet.clock.advance(10)
    held = [view for view in await fleet.ports.queue.list("default") if view.holder is not None]
    assert [view.task.target for view in held] == [eids[0]], "who holds the slot is seen"
    await fleet.engine.cancel(eids[1], reason="not needed")
    assert await fleet.value(eids[0]) == 0
    with pytest.raises(ExecutionCancelled):
        await fleet.value(eids[1], limit_s=120)
    assert await fleet.value(eids[2], limit_s=120) == 2
    assert calls == {0: 1, 2: 1}


async def test_a_task_of_next_month_is_invisible_until_then_and_taken_once(fleet: Any) -> None:
    """K27: three workers, thirty days in steps."""
    calls = Calls()

    @fleet.registry.workflow
    async def one(ctx: Context) -> int:
        return await ctx.step(calls.once, 1)

    source = fleet.process("source")
    eid = await fleet.run(source.engine.start(one))
    (lease,) = await fleet.run(source.ports.queue.dequeue("default", "test", 30.0))
    due = fleet.clock.now() + timedelta(days=30)
    await fleet.run(source.ports.queue.ack([lease]))
    await fleet.run(source.ports.queue.enqueue(replace(lease.task, not_before=due)))
    workers = [fleet.process(f"w-{n}", poll_s=2.0).work(sweep=False) for n in range(3)]
    for _ in range(30):
        await fleet.run(workers[0].engine.sweeper().sweep_once())
        assert calls == {}
        fleet.clock.elapsed_us += DAY_US
        await fleet.clock.advance(5)
    await fleet.run(workers[0].engine.sweeper().sweep_once())
    await fleet.clock.advance(60)
    assert await fleet.value(eid) == 1
    assert calls == {1: 1}


async def test_fifty_starts_with_one_key_are_one_execution(fleet: Any) -> None:
    """K29: other arguments and another workflow are refused, and the first goes on through a crash."""
    calls = Calls()

    @fleet.registry.workflow
    async def two(ctx: Context, n: int) -> int:
        await ctx.step(calls.once, f"first of {n}")
        await ctx.sleep(20)
        return await ctx.step(calls.once, n)

    @fleet.registry.workflow
    async def other(ctx: Context, n: int) -> int:
        return n

    sources = [fleet.process(f"s-{n}") for n in range(5)]

    async def all_at_once() -> list[Any]:
        return await asyncio.gather(*(sources[n % 5].engine.start(two, 7, key="order-1") for n in range(50)))

    (eid,) = set(await fleet.run(all_at_once()))
    first = fleet.process("w-1", **TTL).work()
    await fleet.clock.advance(5)
    with pytest.raises(DispatchConflict, match="arguments"):
        await fleet.engine.start(two, 8, key="order-1")
    with pytest.raises(DispatchConflict, match="two"):
        await fleet.engine.start(other, 7, key="order-1")
    first.kill()
    fleet.process("w-2", **TTL).work()
    assert await fleet.value(eid) == 7
    assert calls == {"first of 7": 1, 7: 1}


async def test_a_sweeper_that_dies_half_way_leads_to_no_second_takeover(fleet: Any) -> None:
    """K33: three at the same dead execution in the same tick; the first is stopped after the first of its writes."""
    attempts: list[tuple[int, int]] = []

    async def long() -> None:
        info = step_info()
        attempts.append((info.epoch, info.attempt))
        await fleet.clock.sleep(1000 if info.epoch == 1 else 1)

    @fleet.registry.workflow
    async def one(ctx: Context) -> None:
        await ctx.step(long)

    first = fleet.process("w-1", **TTL).work(sweep=False)
    eid = await fleet.engine.start(one)
    await fleet.clock.advance(3)
    first.kill()
    hold = Hold(after=True)
    wires = [Wire(Fault(hold, key="wf/queues/*")), Wire(), Wire()]
    sweepers = [fleet.process(f"s-{n}", wrap=wire.wrap, **TTL) for n, wire in enumerate(wires)]
    for sweeper in sweepers:
        sweeper.sweep()
    await fleet.clock.advance(30)
    sweepers[0].kill()
    hold.gate.set()
    for n in range(2, 4):
        fleet.process(f"w-{n}", **TTL).work(sweep=False)
    await fleet.value(eid, limit_s=300)
    bodies = [entry.body for entry in await fleet.entries(eid)]
    assert sum(isinstance(body, ExecutionResumed) for body in bodies) == 1
    assert [body.attempt for body in bodies if isinstance(body, FrameStarted)] == [1]
    assert attempts == [(1, 1), (2, 1)]
    puts = [one for wire in wires for one in wire.requests if one.verb == "put" and "/RESUME:" in one.key]
    assert len({one.key for one in puts}) <= 1, "they all put one and the same task"
