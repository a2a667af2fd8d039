"""Operators: cancel, terminate, pause and resume, migrate, and what is parked."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import flowli
from flowli import Cancelled, Context
from flowli.domain.entries import ExecutionCancelRequested, ExecutionResumed
from flowli.domain.errors import ExecutionCancelled, ExecutionFailed
from flowli.domain.ids import Eid
from flowli.domain.tasks import TaskKind
from flowli.domain.waits import OnOperator
from flowli.runtime.registry import Registry

from .fleet import Fleet


async def ends_cancelled(fleet: Fleet, eid: Eid, reason: str) -> None:
    with pytest.raises(ExecutionCancelled, match=reason):
        await fleet.value(eid)


async def test_a_cancel_wakes_an_execution_that_sleeps(fleet: Fleet) -> None:
    """OPR-2."""

    @fleet.registry.workflow
    async def night(ctx: Context) -> None:
        await ctx.sleep(3000)

    fleet.process("w").work()
    eid = await fleet.engine.start(night)
    await fleet.until_status(eid, "suspended")
    await fleet.engine.cancel(eid, "morning")
    await ends_cancelled(fleet, eid, "morning")


async def test_a_cancel_before_the_start_was_taken(fleet: Fleet) -> None:
    ran: list[int] = []

    @fleet.registry.workflow
    async def never(ctx: Context) -> None:
        await ctx.step(lambda: ran.append(1), name="run")

    eid = await fleet.engine.start(never)
    await fleet.engine.cancel(eid, "changed my mind")
    fleet.process("w").work(sweep=False)
    await ends_cancelled(fleet, eid, "changed my mind")


async def test_a_cancel_stops_an_async_step_and_the_clean_up_runs(fleet: Fleet) -> None:
    """STP-5."""
    log: list[str] = []

    async def long() -> None:
        try:
            await fleet.clock.sleep(3600)
        except asyncio.CancelledError:
            log.append("step stopped")
            raise

    async def undo(what: str) -> None:
        log.append(f"undo {what}")

    @fleet.registry.workflow
    async def careful(ctx: Context) -> None:
        try:
            await ctx.step(long)
        except Cancelled:
            await ctx.step(undo, "booking")
            raise
        finally:
            await ctx.step(undo, "all")

    fleet.process("w").work(sweep=False)
    eid = await fleet.engine.start(careful)
    await fleet.clock.advance(3)
    await fleet.engine.cancel(eid, "stop")
    await ends_cancelled(fleet, eid, "stop")
    assert log == ["step stopped", "undo booking", "undo all"]


async def test_a_cancel_elsewhere_reaches_the_owner_through_its_lease(fleet: Fleet) -> None:
    async def long() -> None:
        await fleet.clock.sleep(3600)

    @fleet.registry.workflow
    async def one(ctx: Context) -> None:
        await ctx.step(long)

    fleet.process("w-1").work(sweep=False)
    eid = await fleet.engine.start(one)
    await fleet.clock.advance(3)
    fleet.process("w-2").work(sweep=False)
    await fleet.engine.cancel(eid, "stop")
    began = fleet.clock.elapsed_us
    await ends_cancelled(fleet, eid, "stop")
    assert fleet.clock.elapsed_us - began < 20_000_000, "at the next renewal"
    sites = {entry.by.site.worker_id for entry in await fleet.entries(eid)}
    assert sites == {"w-1"}


async def test_a_cancel_that_is_swallowed_leaves_a_completed_execution(fleet: Fleet) -> None:
    """OPR-2."""

    @fleet.registry.workflow
    async def deaf(ctx: Context) -> str:
        try:
            await ctx.sleep(3000)
        except Cancelled:
            await ctx.sleep(100)
        return "finished anyway"

    fleet.process("w").work()
    eid = await fleet.engine.start(deaf)
    await fleet.until_status(eid, "suspended")
    await fleet.engine.cancel(eid)
    assert await fleet.value(eid) == "finished anyway"


async def test_asking_again_delivers_again(fleet: Fleet) -> None:
    """OPR-1."""

    @fleet.registry.workflow
    async def deaf(ctx: Context) -> int:
        count = 0
        for _ in range(2):
            try:
                await ctx.receive("never")
            except Cancelled:
                count += 1
        return count

    fleet.process("w").work(sweep=False)
    eid = await fleet.engine.start(deaf)
    for key in ("a", "a", "b"):
        await fleet.until_status(eid, "suspended")
        await fleet.engine.cancel(eid, "again", key=key)
        await fleet.clock.advance(3)
    assert await fleet.value(eid) == 2
    delivered = [e.body.request for e in await fleet.entries(eid) if isinstance(e.body, ExecutionCancelRequested)]
    assert delivered == ["a", "b"]


async def test_an_execution_that_cancels_itself_has_failed(fleet: Fleet) -> None:
    """OPR-2."""

    @fleet.registry.workflow
    async def odd(ctx: Context) -> None:
        await ctx.sleep(1)
        raise Cancelled

    fleet.process("w").work(sweep=False)
    with pytest.raises(ExecutionFailed, match="cancelled itself"):
        await fleet.result(odd)


async def test_terminate_runs_no_code_of_the_workflow(fleet: Fleet) -> None:
    """OPR-3."""
    log: list[str] = []

    async def long() -> None:
        await fleet.clock.sleep(3600)

    @fleet.registry.workflow
    async def careful(ctx: Context) -> None:
        try:
            await ctx.step(long)
        finally:
            log.append("finally")
            await ctx.step(lambda: log.append("undo"), name="undo")

    fleet.process("w").work(sweep=False)
    eid = await fleet.engine.start(careful)
    await fleet.clock.advance(3)
    await fleet.engine.terminate(eid, "enough")
    await ends_cancelled(fleet, eid, "enough")
    assert "undo" not in log


async def test_a_paused_execution_ignores_what_comes_until_it_is_resumed(fleet: Fleet) -> None:
    """OPR-4."""

    @fleet.registry.workflow
    async def wait(ctx: Context) -> list[Any]:
        return [await ctx.receive("go"), await ctx.receive("go", timeout=300)]

    fleet.process("w").work()
    eid = await fleet.engine.start(wait)
    await fleet.until_status(eid, "suspended")
    await fleet.engine.pause(eid, "audit")
    await fleet.clock.advance(5)
    (why,) = (await fleet.engine.status(eid)).waits_on
    assert isinstance(why, OnOperator)
    assert (why.cause, why.reason) == ("paused", "audit")
    await fleet.engine.signal(eid, "go", 1)
    await fleet.clock.advance(60)
    before = await fleet.tags(eid)
    assert "frame.fulfilled" not in before
    assert await fleet.tasks() == []
    await fleet.engine.resume(eid, "audited")
    assert await fleet.value(eid) == [1, None]


async def test_a_pause_waits_for_the_step_that_runs(fleet: Fleet) -> None:
    """OPR-5."""
    log: list[int] = []

    async def work(n: int) -> None:
        await fleet.clock.sleep(20)
        log.append(n)

    @fleet.registry.workflow
    async def steps(ctx: Context) -> None:
        async with asyncio.timeout(10_000):
            for n in range(3):
                await ctx.step(work, n)

    fleet.process("w").work()
    eid = await fleet.engine.start(steps)
    await fleet.clock.advance(5)
    await fleet.engine.pause(eid, "hold on")
    await fleet.clock.advance(100)
    assert log == [0]
    assert (await fleet.fold(eid)).paused == "hold on"
    await fleet.engine.resume(eid)
    await fleet.value(eid)
    assert log == [0, 1, 2]


async def test_a_due_timer_does_not_spin_a_paused_worker(fleet: Fleet) -> None:
    async def work() -> None:
        await fleet.clock.sleep(50)

    @fleet.registry.workflow
    async def mixed(ctx: Context) -> None:
        await ctx.gather(ctx.step(work), ctx.sleep(10))

    fleet.process("w").work(sweep=False)
    eid = await fleet.engine.start(mixed)
    await fleet.clock.advance(5)
    await fleet.engine.pause(eid, "hold on")
    await fleet.run(asyncio.wait_for(fleet.clock.sleep(100), 20))
    assert (await fleet.fold(eid)).paused == "hold on"
    await fleet.engine.resume(eid)
    await fleet.value(eid)


async def test_a_paused_execution_can_be_cancelled(fleet: Fleet) -> None:
    """OPR-5."""

    @fleet.registry.workflow
    async def wait(ctx: Context) -> None:
        await ctx.receive("go")

    fleet.process("w").work(sweep=False)
    eid = await fleet.engine.start(wait)
    await fleet.until_status(eid, "suspended")
    await fleet.engine.pause(eid, "audit")
    await fleet.clock.advance(5)
    await fleet.engine.cancel(eid, "drop it")
    await ends_cancelled(fleet, eid, "drop it")


def two_steps(registry: Registry, first: str, second: str, version: str = "1") -> Any:
    async def step() -> str:
        return flowli.step_info().fid

    @registry.workflow(name="story", version=version)
    async def story(ctx: Context) -> list[str]:
        found = [await ctx.step(step, name=first)]
        await ctx.receive("go")
        return [*found, await ctx.step(step, name=second)]

    return story


async def parked_story(fleet: Fleet) -> Eid:
    """An execution that was begun by one code and is parked by another."""
    two_steps(fleet.registry, "a", "b")
    begun = fleet.process("w-1").work(sweep=False)
    eid = await fleet.engine.start("story")
    await fleet.until_status(eid, "suspended")
    await fleet.run(begun.stop())
    fleet.registry = Registry()
    two_steps(fleet.registry, "x", "b")
    fleet.process("w-2").work(sweep=False)
    await fleet.engine.signal(eid, "go")
    await fleet.clock.advance(5)
    return eid


async def test_other_code_parks_the_execution_with_the_difference(fleet: Fleet) -> None:
    eid = await parked_story(fleet)
    fold = await fleet.fold(eid)
    assert fold.anomalies == []
    assert fold.parked is not None
    assert fold.parked.cause == "nondeterminism"
    assert "step 'a' as root/a#1" in fold.parked.reason
    assert "step 'x' as root/x#1" in fold.parked.reason
    view = await fleet.engine.status(eid)
    assert view.status == "suspended"
    assert await fleet.tasks() == [], "a parked execution holds no task"


async def test_the_twin_of_a_parked_execution_is_the_last_one(fleet: Fleet) -> None:
    from flowli.domain.entries import StatusChanged

    eid = await parked_story(fleet)
    await fleet.clock.advance(5)
    bodies = [entry.body for entry in (await fleet.ports.control.read()).entries]
    twins = [body for body in bodies if isinstance(body, StatusChanged) and body.eid == eid]
    last = max(twins, key=lambda twin: twin.journal_seq)
    assert last.status == "suspended"
    assert last.journal_seq == (await fleet.fold(eid)).seq
    assert isinstance(last.on[0], OnOperator)


async def test_the_code_that_fits_goes_on_where_the_other_parked(fleet: Fleet) -> None:
    """RPL-22."""
    eid = await parked_story(fleet)
    await fleet.run(fleet.processes[-1].stop())
    fleet.registry = Registry()
    two_steps(fleet.registry, "a", "b")
    fleet.process("w-3").work()
    await fleet.engine.resume(eid)
    assert await fleet.value(eid) == ["root/a#1", "root/b#1"]


async def test_a_parked_execution_is_migrated_to_a_version_that_fits(fleet: Fleet) -> None:
    """RPL-22."""
    eid = await parked_story(fleet)
    await fleet.run(fleet.processes[-1].stop())
    two_steps(fleet.registry, "a", "z", version="2")
    fitting = fleet.process("w-3").work()
    await fleet.run(fitting.engine.migrate(eid, "2", "fits again"))
    assert await fleet.value(eid) == ["root/a#1", "root/z#1"]
    assert (await fleet.engine.status(eid)).version == "2"


async def test_a_parked_execution_can_be_cancelled(fleet: Fleet) -> None:
    eid = await parked_story(fleet)
    await fleet.engine.cancel(eid, "give up")
    await ends_cancelled(fleet, eid, "give up")


async def test_a_running_execution_is_migrated_at_a_step_end(fleet: Fleet) -> None:
    """OPR-6."""
    ran: list[str] = []

    async def work(name: str) -> None:
        await fleet.clock.sleep(20)
        ran.append(name)

    @fleet.registry.workflow(name="long", version="1")
    async def old(ctx: Context) -> str:
        for n in range(5):
            await ctx.step(work, str(n))
        return "old"

    @fleet.registry.workflow(name="long", version="2")
    async def new(ctx: Context) -> str:
        for n in range(3):
            await ctx.step(work, str(n))
        return "new"

    fleet.process("w").work()
    eid = await fleet.engine.start(old)
    await fleet.clock.advance(5)
    await fleet.engine.migrate(eid, "2", "shorter")
    assert await fleet.value(eid) == "new"
    assert ran == ["0", "1", "2"]
    assert not any(isinstance(entry.body, ExecutionResumed) for entry in await fleet.entries(eid)), "handed over"


async def test_a_task_of_an_unknown_workflow_stays_for_who_knows_it(fleet: Fleet) -> None:
    """STA-8."""
    fleet.process("w-1").work()
    eid = await fleet.engine.start("later", version="1")
    await fleet.clock.advance(120)
    assert [task.kind for task in await fleet.tasks()] == [TaskKind.START]
    assert await fleet.entries(eid) == ()
    fleet.registry = Registry()

    @fleet.registry.workflow
    async def later(ctx: Context) -> str:
        return "known now"

    fleet.process("w-2").work(sweep=False)
    assert await fleet.value(eid) == "known now"
