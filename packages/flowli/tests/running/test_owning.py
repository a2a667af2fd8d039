"""What an owner may do, when, and how others give way to it."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from typing import Any

import pytest

from flowli import Context, step_info
from flowli.domain.entries import ExecutionMigrated, ExecutionSuspended
from flowli.domain.execution import ExecutionStatus
from flowli.domain.ports import Acquired, Holder
from flowli.domain.provenance import Site
from flowli.runtime.protocols.wake import MessageCause, resume_task

from .fleet import Fleet
from .ledger import Ledger

TTL_S = 30.0


def seconds(fleet: Fleet) -> float:
    return fleet.clock.elapsed_us / 1e6


@pytest.mark.parametrize("fleet", ["memory", "cairn"], indirect=True)
@pytest.mark.parametrize("verb", ["migrate", "terminate"])
@pytest.mark.parametrize("when", ["before it was taken", "while it sleeps", "against its owner"])
async def test_a_verb_that_takes_the_lease_leaves_it_free(fleet: Fleet, ledger: Ledger, verb: str, when: str) -> None:
    """OWN-25: the next owner needs to wait for nobody."""

    async def wait(ctx: Context) -> Any:
        await ctx.step(ledger.write, 1, 1000.0 if when == "against its owner" else 0.0)
        return await ctx.receive("go")

    for version in ("1", "2"):
        fleet.registry.add(wait, version=version)
    eid = await fleet.engine.start("wait", version="1")
    if when != "before it was taken":
        worker = fleet.process("w").work(sweep=False)
        await fleet.clock.advance(5)
        worker.kill() if when == "against its owner" else await fleet.run(worker.stop())
    await (fleet.engine.migrate(eid, "2") if verb == "migrate" else fleet.engine.terminate(eid))
    entries = await fleet.entries(eid)
    lease = await fleet.ports.ownership.read(eid)
    assert lease is not None
    bodies = [entry.body for entry in entries if entry.by.site.epoch == lease.epoch]
    if verb == "migrate":
        assert isinstance(bodies[-1], ExecutionSuspended)
        assert isinstance(bodies[-2], ExecutionMigrated)
        assert bodies[-1].epoch == lease.epoch
    else:
        assert (await fleet.fold(eid)).status is ExecutionStatus.CANCELLED
    free = (await fleet.fold(eid)).released_epoch
    assert free == lease.epoch
    got = await fleet.ports.ownership.acquire(eid, Holder("next", Site("next")), TTL_S, free_epoch=free)
    assert isinstance(got, Acquired)
    assert got.lease.epoch == lease.epoch + 1
    await fleet.ports.ownership.release(got.lease)
    report = await fleet.run(fleet.app.engine.retention(0, dry_run=True).run_once())
    assert (report.archived, report.blocked) == ([eid] if verb == "terminate" else [], {})


async def test_nothing_begins_after_the_machine_has_slept_over_its_lease(fleet: Fleet) -> None:
    """OWN-27: the clock by which an owner judges its lease goes on while the machine sleeps."""
    ran: list[tuple[str, int]] = []
    slept_s: dict[str, float] = {}

    async def step(n: int) -> int:
        info = step_info()
        ran.append((f"epoch {info.epoch}", n))
        if info.epoch == 1 and n == 1:
            slept_s["w-1"] = TTL_S
        return n

    @fleet.registry.workflow
    async def three(ctx: Context) -> int:
        return sum([await ctx.step(step, n) for n in range(3)])

    first = fleet.process("w-1")
    awake = first.world.boottime_s
    first.world.boottime_s = lambda: awake() + slept_s.get("w-1", 0.0)  # type: ignore[method-assign]
    eid = await fleet.engine.start(three)
    first.work(sweep=False)
    await fleet.clock.advance(10)
    assert ran[:2] == [("epoch 1", 0), ("epoch 1", 1)]
    first.kill()
    fleet.process("w-2").work()
    assert await fleet.value(eid) == 3
    assert ("epoch 1", 2) not in ran


async def test_a_wake_up_met_elsewhere_is_given_back_longer_each_time(fleet: Fleet, ledger: Ledger) -> None:
    """OWN-28: from a third of the ttl to the whole of it."""

    @fleet.registry.workflow
    async def busy(ctx: Context) -> None:
        await ctx.gather(ctx.step(ledger.write, 1, 300.0), ctx.receive("never", timeout=1000))

    fleet.process("w-1").work(concurrency=1, sweep=False)
    eid = await fleet.engine.start(busy)
    await fleet.clock.advance(10)
    given_back: list[float] = []
    other = fleet.process("w-2")

    async def note() -> None:
        given_back.append(seconds(fleet))

    other.trouble["queue.nack"] = note
    execution = await fleet.ports.executions.get(eid)
    assert execution is not None
    task = resume_task(
        queue="default",
        priority=5,
        eid=eid,
        cause=MessageCause(f"{eid}.never", 99),
        at=fleet.clock.now(),
        by=execution.created_by,
    )
    await fleet.ports.queue.enqueue(task)
    other.work(sweep=False)
    await fleet.clock.advance(150)
    pauses = [later - at for at, later in pairwise(given_back)]
    assert [round(pause / 10) for pause in pauses[:4]] == [1, 2, 3, 3]
    assert 1 <= other.calls.count("ownership.request") < len(given_back), "one request at a time tells its owner"
    assert "journal.append" not in other.calls


async def test_a_task_is_acked_only_when_the_control_log_tells_what_came_of_it(fleet: Fleet) -> None:
    """QUE-16."""
    gate = asyncio.Event()

    async def wait() -> None:
        await gate.wait()

    @fleet.registry.workflow
    async def quick(ctx: Context) -> str:
        return "done"

    worker = fleet.process("w")
    worker.trouble["control.append"] = wait
    eid = await fleet.engine.start(quick)
    worker.work(sweep=False)
    await fleet.until_status(eid, "completed")
    await fleet.clock.advance(60)
    (view,) = await fleet.ports.queue.list("default")
    assert view.holder is not None, "it is renewed until its ack"
    assert view.deaths == 0
    assert "queue.ack" not in worker.calls
    gate.set()
    assert await fleet.value(eid) == "done"
    assert "queue.ack" in worker.calls
