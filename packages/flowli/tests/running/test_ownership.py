"""Ownership: one owner at a time, whatever is late, lost or dead."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from flowli import Context
from flowli.domain.entries import (
    START,
    ExecutionResumed,
    ExecutionStarted,
    JournalEntry,
)
from flowli.domain.errors import BackendUnavailable, ExecutionCancelled
from flowli.domain.ids import Eid
from flowli.domain.ports import Acquired, Appended, Holder
from flowli.domain.provenance import Site

from .fleet import Fleet, Process
from .ledger import Ledger

TTL_S = 30.0


def seconds(fleet: Fleet) -> float:
    return fleet.clock.elapsed_us / 1e6


async def resumed(fleet: Fleet, eid: Eid) -> list[int]:
    bodies = [entry.body for entry in await fleet.entries(eid)]
    return [body.epoch for body in bodies if isinstance(body, ExecutionResumed)]


async def sites(fleet: Fleet, eid: Eid) -> list[str]:
    return list(dict.fromkeys(entry.by.site.worker_id for entry in await fleet.entries(eid)))


async def test_a_dead_owner_is_taken_over_when_its_lease_expires(fleet: Fleet, ledger: Ledger) -> None:
    first = fleet.process("w-1").work()
    eid = await fleet.engine.start("steps", 5, 10.0)
    await fleet.clock.advance(25)
    first.kill()
    died = seconds(fleet)
    fleet.process("w-2").work()

    async def taken() -> bool:
        return await resumed(fleet, eid) == [2]

    await fleet.until(taken)
    assert TTL_S * 0.6 < seconds(fleet) - died < 2 * TTL_S + 10
    assert await fleet.value(eid) == 10
    assert await sites(fleet, eid) == ["w-1", "w-2"]
    assert ledger.again == []
    assert len(ledger.ran) == 6, "only the step under way ran twice"


async def test_an_owner_whose_process_is_seen_dead_is_taken_over_at_once(fleet: Fleet, ledger: Ledger) -> None:
    """OWN-8."""
    if fleet.kind == "memory":
        pytest.skip("this backend cannot ask about processes")
    first = fleet.process("w-1").work(sweep=False)
    fleet.process("w-2")
    eid = await fleet.engine.start("steps", 5, 10.0)
    await fleet.clock.advance(25)
    first.kill(seen=True)
    died = seconds(fleet)
    fleet.processes[1].work(sweep=False)

    async def taken() -> bool:
        return await resumed(fleet, eid) == [2]

    await fleet.until(taken)
    assert seconds(fleet) - died < 5
    assert await fleet.value(eid) == 10


async def test_an_owner_that_died_before_its_first_entry(fleet: Fleet, ledger: Ledger) -> None:
    first = fleet.process("w-1")

    async def die() -> None:
        first.kill()

    first.trouble["journal.append"] = die
    first.work(sweep=False)
    eid = await fleet.engine.start("steps", 3)
    await fleet.clock.advance(3)
    assert first.dead
    assert await fleet.entries(eid) == ()
    fleet.process("w-2").work()
    assert await fleet.value(eid) == 3
    assert (await fleet.tags(eid))[:2] == ["execution.started", "execution.resumed"]
    assert await resumed(fleet, eid) == [2]


async def test_hand_overs_by_suspension_are_clean(fleet: Fleet, ledger: Ledger) -> None:
    """OWN-11."""

    @fleet.registry.workflow
    async def relay(ctx: Context) -> list[Any]:
        return [await ctx.receive("go") for _ in range(4)]

    fleet.process("w-1", warm_limit=0).work(concurrency=1)
    fleet.process("w-2", warm_limit=0).work(concurrency=1)
    eid = await fleet.engine.start("relay")
    for n in range(4):
        await fleet.until_status(eid, "suspended")
        await fleet.engine.signal(eid, "go", n)
        await fleet.clock.advance(5)
    assert await fleet.value(eid) == [0, 1, 2, 3]
    assert await resumed(fleet, eid) == []
    assert [entry.by.site.epoch for entry in await fleet.entries(eid)][-1] == 5


async def test_a_commit_of_a_lower_epoch_that_lands_first_is_replayed(fleet: Fleet, ledger: Ledger) -> None:
    """OWN-12."""
    late = fleet.process("w-1")
    landed: list[object] = []

    async def land() -> None:
        if not landed:
            execution = await fleet.ports.executions.get(eid)
            assert execution is not None
            by = replace(execution.created_by, site=Site("ghost"))
            entries = [JournalEntry(ExecutionStarted(execution), by)]
            landed.append(await fleet.ports.journal.append(eid, entries, after=START, epoch=0, writer="ghost"))

    late.trouble["journal.append"] = land
    eid = await fleet.engine.start("steps", 3)
    late.work(sweep=False)
    assert await fleet.value(eid) == 3
    assert isinstance(landed[0], Appended)
    assert (await fleet.tags(eid))[:2] == ["execution.started", "execution.resumed"]
    assert await resumed(fleet, eid) == [1]


async def frozen(fleet: Fleet, name: str = "w-1") -> tuple[Process, asyncio.Event]:
    """A worker whose appends and renewals hang until the event is set."""
    process, thaw = fleet.process(name), asyncio.Event()

    async def hang() -> None:
        if process.frozen:
            await thaw.wait()

    for call in ("journal.append", "ownership.renew", "queue.renew"):
        process.trouble[call] = hang
    return process, thaw


async def test_a_stalled_owner_that_comes_back_is_fenced_by_the_append(fleet: Fleet, ledger: Ledger) -> None:
    """OWN-4."""
    first, thaw = await frozen(fleet)
    first.work(sweep=False)
    eid = await fleet.engine.start("steps", 3, 5.0)
    await fleet.clock.advance(7)
    first.frozen = True
    fleet.process("w-2").work()
    assert await fleet.value(eid) == 3
    before = await fleet.entries(eid)
    mark = len(first.calls)
    thaw.set()
    await fleet.clock.advance(60)
    assert await fleet.entries(eid) == before
    assert not {"journal.append", "queue.ack", "queue.nack", "queue.enqueue", "control.append"} & set(
        first.calls[mark:]
    )


async def test_an_owner_whose_renewals_hang_stops_before_its_lease_ends(fleet: Fleet) -> None:
    """OWN-13, K14."""
    stopped: list[float] = []

    async def long() -> str:
        try:
            await fleet.clock.sleep(500 if not stopped else 0)
        except asyncio.CancelledError:
            stopped.append(seconds(fleet))
            raise
        return "done"

    @fleet.registry.workflow
    async def one(ctx: Context) -> str:
        return await ctx.step(long)

    first, _ = await frozen(fleet)
    first.work(sweep=False)
    eid = await fleet.engine.start(one)
    await fleet.clock.advance(1)
    began = seconds(fleet)
    first.frozen = True
    await fleet.clock.advance(60)
    assert TTL_S * 0.7 < stopped[0] - began < TTL_S
    fleet.process("w-2").work()
    assert await fleet.value(eid) == "done"


async def test_failed_renewals_are_no_loss_while_the_lease_lasts(fleet: Fleet, ledger: Ledger) -> None:
    """OWN-13, K14."""
    first = fleet.process("w-1")
    failures = 0

    async def fail() -> None:
        nonlocal failures
        if 12 < seconds(fleet) < 24:
            failures += 1
            raise BackendUnavailable("a blip")

    first.trouble["ownership.renew"] = first.trouble["queue.renew"] = fail
    first.work(sweep=False)
    eid = await fleet.engine.start("steps", 2, 40.0)
    await fleet.clock.advance(3)
    fleet.process("w-2").work()
    assert await fleet.value(eid) == 1
    assert failures > 0
    assert await sites(fleet, eid) == ["w-1"]
    assert len(ledger.ran) == 2


async def test_an_owner_that_finds_another_epoch_stops_at_its_next_renewal(fleet: Fleet) -> None:
    """OWN-13, K14."""
    stopped: list[float] = []

    async def long() -> None:
        try:
            await fleet.clock.sleep(500)
        except asyncio.CancelledError:
            stopped.append(seconds(fleet))
            raise

    @fleet.registry.workflow
    async def one(ctx: Context) -> None:
        await ctx.step(long)

    first = fleet.process("w-1").work(sweep=False)
    eid = await fleet.engine.start(one)
    await fleet.clock.advance(3)
    stolen = await fleet.ports.ownership.acquire(eid, Holder("thief", Site("thief")), TTL_S, force=True)
    assert isinstance(stolen, Acquired)
    before, mark, began = await fleet.entries(eid), len(first.calls), seconds(fleet)
    await fleet.clock.advance(14)
    assert stopped[0] - began <= TTL_S / 3 + TTL_S / 10
    assert await fleet.entries(eid) == before
    assert not {"journal.append", "queue.ack", "queue.nack"} & set(first.calls[mark:])


@pytest.mark.parametrize(("exec_ttl_s", "task_ttl_s"), [(5.0, 60.0), (60.0, 5.0)])
async def test_any_order_of_the_ttls_is_safe(
    fleet: Fleet, ledger: Ledger, exec_ttl_s: float, task_ttl_s: float
) -> None:
    """OWN-15."""
    settings = {"exec_ttl_s": exec_ttl_s, "task_ttl_s": task_ttl_s}
    first = fleet.process("w-1", **settings).work()
    fleet.process("w-2", **settings).work()
    eids = [await fleet.engine.start("steps", 4, 15.0) for _ in range(4)]
    await fleet.clock.advance(20)
    first.kill()
    for eid in eids:
        assert await fleet.value(eid) == 6
    assert ledger.again == []
    assert len(ledger.ran) <= 4 * 4 + 4


async def test_a_request_survives_the_death_of_the_owner(fleet: Fleet, ledger: Ledger) -> None:
    """OWN-9."""
    first = fleet.process("w-1").work(sweep=False)
    eid = await fleet.engine.start("steps", 3, 100.0)
    await fleet.clock.advance(3)
    first.kill()
    await fleet.engine.cancel(eid, "stop it", key="c-1")
    fleet.process("w-2").work()
    with pytest.raises(ExecutionCancelled, match="stop it"):
        await fleet.value(eid)
    assert (await fleet.tags(eid)).count("execution.cancel_requested") == 1


async def test_a_request_is_cleared_only_after_its_entry_is_durable(fleet: Fleet) -> None:
    """OWN-16."""

    @fleet.registry.workflow
    async def deaf(ctx: Context) -> str:
        while True:
            try:
                return str(await ctx.receive("go"))
            except asyncio.CancelledError:
                await ctx.sleep(1)

    first = fleet.process("w-1").work(sweep=False)
    eid = await fleet.engine.start(deaf)
    await fleet.until_status(eid, "suspended")
    held = asyncio.Event()

    async def hold() -> None:
        await held.wait()

    first.trouble["journal.append"] = hold
    await fleet.engine.cancel(eid, "no", key="c-1")
    await fleet.clock.advance(25)
    lease = await fleet.ports.ownership.read(eid)
    assert lease is not None
    assert [request.id for request in lease.requests] == ["c-1"], "it is delivered, and not yet durable"
    held.set()
    await fleet.clock.advance(40)
    await fleet.engine.signal(eid, "go", "on")
    assert await fleet.value(eid) == "on"
    assert (await fleet.tags(eid)).count("execution.cancel_requested") == 1


async def test_a_wake_up_met_elsewhere_reaches_the_owner_and_is_acked_once_journaled(fleet: Fleet) -> None:
    """OWN-18."""
    heard: list[float] = []

    async def long() -> None:
        await fleet.clock.sleep(300)

    async def note() -> None:
        heard.append(seconds(fleet))

    @fleet.registry.workflow
    async def mixed(ctx: Context) -> None:
        async def listen() -> None:
            await ctx.receive("go")
            await ctx.step(note)

        await ctx.gather(ctx.step(long), listen())

    fleet.process("w-1").work(concurrency=1, sweep=False)
    eid = await fleet.engine.start(mixed)
    await fleet.clock.advance(10)
    other = fleet.process("w-2").work(sweep=False)
    began = seconds(fleet)
    await fleet.engine.signal(eid, "go")
    await fleet.clock.advance(100)
    assert heard, "the owner was told"
    assert heard[0] - began < 20
    assert await fleet.tasks() == [task for task in await fleet.tasks() if task.kind == "START"]
    assert "ownership.request" in other.calls
    assert await fleet.value(eid) is None
    assert await sites(fleet, eid) == ["w-1"]
