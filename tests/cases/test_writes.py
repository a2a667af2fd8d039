"""Writes of which nobody knows whether they were applied, and writers that come too late."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from flowli import Context
from flowli.domain.entries import ExecutionResumed
from flowli.domain.execution import ExecutionStatus
from flowli.testing.stores import DropReply, Fault, Hold, LoseRequest

from .conftest import quiet
from .rig import Calls, Wire, new_fleet, tags

HOUR_US = 3_600_000_000


async def three_steps(kind: str, folder: Path, *script: Fault) -> tuple[list[str], Wire, Calls]:
    """A process that starts and runs three steps, one of them long enough to be renewed."""
    fleet, calls, wire = new_fleet(kind, folder), Calls(), Wire(*script)

    async def step(n: int) -> int:
        if n == 1:
            await fleet.clock.sleep(15)
        return await calls.once(n)

    @fleet.registry.workflow
    async def three(ctx: Context) -> int:
        return sum([await ctx.step(step, n) for n in range(3)])

    process = fleet.process("w", wrap=wire.wrap)
    process.work(sweep=False)
    eid = await fleet.run(process.engine.start(three, key="order-1"))
    assert await fleet.value(eid) == 3
    entries = await fleet.entries(eid)
    assert {entry.by.site.epoch for entry in entries} == {1}, "it kept its lease"
    await fleet.close()
    return tags(entries), wire, calls


async def test_a_write_that_landed_while_its_answer_was_lost_is_known_as_ones_own(kind: str, tmp_path: Path) -> None:
    """K01: at every write of a run, also the renewals."""
    quiet()
    undisturbed, wire, _ = await three_steps(kind, tmp_path / "undisturbed")
    writes = [one for one in wire.requests if one.verb == "put"]
    assert {"start", "meta", "lease", "journal"} <= {_kind(one.key) for one in writes}
    for nth in range(1, len(writes) + 1):
        entries, wire, calls = await three_steps(kind, tmp_path / str(nth), Fault(DropReply(), nth=nth))
        assert entries == undisturbed, f"write {nth}, {writes[nth - 1].key}"
        assert calls == {0: 1, 1: 1, 2: 1}, f"write {nth}"


def _kind(key: str) -> str:
    parts = {"START": "start", "/meta": "meta", "/lease": "lease", "wf.exec": "journal"}
    return next((name for part, name in parts.items() if part in key), "other")


@pytest.mark.parametrize("times", [0, 1, 2, 5])
async def test_a_conflict_that_stored_nothing_is_not_taken_for_anothers_win(fleet: Any, times: int) -> None:
    """K02: the claim of the task and the lease are refused without a result, for both contenders."""
    calls = Calls()

    @fleet.registry.workflow
    async def one(ctx: Context) -> int:
        return await ctx.step(calls.once, 1)

    faults = [
        Fault(LoseRequest(), key=key, times=times, nth=1 if times else 10_000)
        for key in ("wf/queues/default/ready/*", "wf/exec/*/lease")
    ]
    eid = await fleet.engine.start(one)
    for name in ("w-1", "w-2"):
        fleet.process(name, wrap=Wire(*faults).wrap).work(sweep=False)
    assert await fleet.value(eid, limit_s=600) == 1
    assert calls == {1: 1}
    assert len({entry.by.site.worker_id for entry in await fleet.entries(eid)}) == 1


async def test_a_stalled_writer_does_not_refill_what_clean_up_emptied(fleet: Any) -> None:
    """K04: a journal slot; the task and the timer that are written again as well."""
    calls = Calls()

    @fleet.registry.workflow
    async def two(ctx: Context) -> int:
        first = await ctx.step(calls.once, 1)
        await ctx.sleep(30)
        return first + await ctx.step(calls.once, 2)

    hold = Hold()
    stalled = Wire(Fault(hold, key="logs/wf.exec.*"))
    settings = {"exec_ttl_s": 6.0, "task_ttl_s": 6.0}
    eid = await fleet.engine.start(two)
    (start,) = await fleet.tasks()
    first = fleet.process("w-1", wrap=stalled.wrap, **settings)
    first.work(sweep=False)
    await fleet.clock.advance(2)
    assert hold.reached.is_set()
    stalled.freeze(hold)
    second = fleet.process("w-2", **settings).work()
    assert await fleet.value(eid, limit_s=600) == 3
    before = tags(await fleet.entries(eid))
    await fleet.run(second.stop())
    for _ in range(2):
        await fleet.run(second.engine.retention(0).run_once())
        fleet.clock.elapsed_us += 25 * HOUR_US
    assert await fleet.entries(eid) == (), "the journal is gone, the archive stands"
    hold.gate.set()
    await fleet.run(second.ports.queue.enqueue(start))
    await fleet.clock.advance(60)
    fleet.process("w-3", **settings).work()
    await fleet.clock.advance(60)
    assert await fleet.entries(eid) == (), "what came too late was taken back"
    assert tags(await fleet.run(second.engine.journal(eid))) == before
    assert (await fleet.engine.status(eid)).status is ExecutionStatus.COMPLETED
    assert await fleet.tasks() == []
    assert await fleet.ports.timers.pending() == []
    assert calls == {1: 2, 2: 1}, "the step whose outcome the stalled writer held ran again, and nothing after the end"


async def test_applied_writes_of_an_execution_never_go_back_to_an_older_epoch(fleet: Any) -> None:
    """K13: an owner that comes back reads the newest lease and writes nothing with it."""

    async def slow(n: int) -> int:
        await fleet.clock.sleep(5)
        return n

    @fleet.registry.workflow
    async def three(ctx: Context) -> int:
        return sum([await ctx.step(slow, n) for n in range(3)])

    hold = Hold()
    wires = [Wire(Fault(hold, key="logs/wf.exec.*", nth=2)), Wire()]
    settings = {"exec_ttl_s": 6.0, "task_ttl_s": 6.0}
    eid = await fleet.engine.start(three)
    fleet.process("w-1", wrap=wires[0].wrap, **settings).work(sweep=False)
    await fleet.clock.advance(8)
    assert hold.reached.is_set()
    wires[0].freeze(hold)
    fleet.process("w-2", wrap=wires[1].wrap, **settings).work()
    assert await fleet.value(eid, limit_s=600) == 3
    before = await fleet.entries(eid)
    wires[0].clear()
    hold.gate.set()
    await fleet.clock.advance(60)
    late = [one for one in wires[0].requests if one.verb in ("put", "delete") and one.outcome == "Won"]
    assert [one.key for one in late if str(eid) in one.key] == []
    assert await fleet.entries(eid) == before
    epochs = [entry.by.site.epoch for entry in before]
    assert epochs == sorted(epochs)
    assert Counter(tags(before))[ExecutionResumed.tag] == 1
