"""Children: results, failures, cancels, and what becomes of them when their parent ends first."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from flowli import Context
from flowli.domain.entries import ExecutionCancelRequested, ExecutionResumed, ExecutionSuspended
from flowli.domain.errors import ChildFailed, ExecutionCancelled, ExecutionFailed
from flowli.domain.ids import Eid, child_eid

from .fleet import Fleet


async def cancels(fleet: Fleet, eid: Eid) -> list[str]:
    bodies = [entry.body for entry in await fleet.entries(eid)]
    return [body.reason for body in bodies if isinstance(body, ExecutionCancelRequested)]


async def test_a_child_gives_its_result_to_its_parent(fleet: Fleet) -> None:
    """CHD-1."""

    @fleet.registry.workflow
    async def square(ctx: Context, n: int) -> int:
        return n * n

    @fleet.registry.workflow
    async def parent(ctx: Context) -> list[int]:
        return [await ctx.child(square, 3), await ctx.child(square, 4, key="four")]

    fleet.process("w").work(sweep=False)
    eid = await fleet.engine.start(parent)
    assert await fleet.value(eid) == [9, 16]
    await fleet.check(child_eid(eid, "root/square#1"))
    await fleet.check(child_eid(eid, "root/square:four"))


async def test_a_failed_child_fails_its_frame(fleet: Fleet) -> None:
    """CHD-1."""

    @fleet.registry.workflow
    async def broken(ctx: Context) -> None:
        raise ValueError("not today")

    @fleet.registry.workflow
    async def parent(ctx: Context) -> str:
        try:
            await ctx.child(broken)
        except ChildFailed as error:
            return f"{error.error.type}: {error.error.message}"
        return ""

    fleet.process("w").work(sweep=False)
    assert await fleet.result(parent) == "builtins.ValueError: not today"


async def test_a_child_that_was_cancelled_by_itself_fails_its_frame(fleet: Fleet) -> None:
    @fleet.registry.workflow
    async def waits(ctx: Context) -> None:
        await ctx.receive("never")

    @fleet.registry.workflow
    async def parent(ctx: Context) -> str:
        try:
            await ctx.child(waits)
        except ChildFailed as error:
            return error.error.message
        return ""

    fleet.process("w").work(sweep=False)
    eid = await fleet.engine.start(parent)
    child = child_eid(eid, "root/waits#1")
    await fleet.until_status(child, "suspended")
    await fleet.engine.cancel(child, "no longer wanted")
    assert await fleet.value(eid) == "no longer wanted"


async def test_a_large_outcome_is_read_from_the_child(fleet: Fleet) -> None:
    """CHD-2."""

    @fleet.registry.workflow
    async def large(ctx: Context) -> str:
        await ctx.sleep(5)
        return "x" * 50_000

    @fleet.registry.workflow
    async def parent(ctx: Context) -> int:
        return len(await ctx.child(large))

    fleet.process("w").work()
    eid = await fleet.engine.start(parent)
    await fleet.until_status(eid, "suspended")
    assert await fleet.value(eid) == 50_000


async def test_arguments_of_a_child_over_the_limit_fail_its_frame(fleet: Fleet) -> None:
    @fleet.registry.workflow
    async def takes(ctx: Context, text: str) -> int:
        return len(text)

    @fleet.registry.workflow
    async def parent(ctx: Context) -> str:
        try:
            await ctx.child(takes, "x" * 20_000)
        except ChildFailed as error:
            return error.error.message
        return ""

    fleet.process("w", max_value_bytes=10_000).work(sweep=False)
    assert "max_value_bytes" in await fleet.result(parent)


@pytest.mark.parametrize(("policy", "child_ends"), [("cancel", "cancelled"), ("abandon", "completed")])
async def test_the_end_of_a_parent_reaches_its_children(fleet: Fleet, policy: str, child_ends: str) -> None:
    """CHD-3."""

    @fleet.registry.workflow
    async def slow(ctx: Context) -> str:
        await ctx.sleep(60)
        return "done"

    @fleet.registry.workflow
    async def parent(ctx: Context) -> None:
        await ctx.child(slow, on_parent_close=policy)

    fleet.process("w").work()
    eid = await fleet.engine.start(parent)
    await fleet.until_status(eid, "suspended")
    await fleet.engine.cancel(eid, "stop")
    with pytest.raises(ExecutionCancelled):
        await fleet.value(eid)
    child = child_eid(eid, "root/slow#1")
    await fleet.until_status(child, child_ends)
    await fleet.check(child)
    assert len(await cancels(fleet, child)) == (1 if policy == "cancel" else 0)


async def test_a_terminated_parent_has_its_children_cancelled(fleet: Fleet) -> None:
    """CHD-4."""

    @fleet.registry.workflow
    async def slow(ctx: Context) -> None:
        await ctx.sleep(600)

    @fleet.registry.workflow
    async def parent(ctx: Context) -> None:
        await ctx.gather(ctx.child(slow), ctx.child(slow))

    fleet.process("w").work()
    eid = await fleet.engine.start(parent)
    await fleet.until_status(eid, "suspended")
    await fleet.engine.terminate(eid, "enough")
    with pytest.raises(ExecutionCancelled, match="enough"):
        await fleet.value(eid)
    for fid in ("root/slow#1", "root/slow#2"):
        await fleet.until_status(child_eid(eid, fid), "cancelled")


async def test_a_child_that_is_given_up_is_cancelled_once_and_its_parent_goes_on(fleet: Fleet) -> None:
    """CHD-5."""

    @fleet.registry.workflow
    async def slow(ctx: Context) -> None:
        await ctx.sleep(600)

    @fleet.registry.workflow
    async def parent(ctx: Context) -> str:
        try:
            async with asyncio.timeout(30):
                await ctx.child(slow)
        except TimeoutError:
            await ctx.sleep(30)
            return "went on"
        return ""

    fleet.process("w").work()
    eid = await fleet.engine.start(parent)
    assert await fleet.value(eid) == "went on"
    child = child_eid(eid, "root/slow#1")
    await fleet.until_status(child, "cancelled")
    assert await cancels(fleet, child) == [f"its parent {eid} no longer waits for it"]


async def test_a_cancel_reaches_four_children_once_each(fleet: Fleet) -> None:
    """CHD-3."""

    @fleet.registry.workflow
    async def slow(ctx: Context) -> None:
        await ctx.sleep(600)

    @fleet.registry.workflow
    async def parent(ctx: Context) -> None:
        await ctx.gather(*(ctx.child(slow) for _ in range(4)))

    fleet.process("w").work()
    eid = await fleet.engine.start(parent)
    await fleet.until_status(eid, "suspended")
    await fleet.engine.cancel(eid, "stop")
    with pytest.raises(ExecutionCancelled):
        await fleet.value(eid)
    for n in range(1, 5):
        child = child_eid(eid, f"root/slow#{n}")
        await fleet.until_status(child, "cancelled")
        assert len(await cancels(fleet, child)) == 1


async def test_a_grandchild_fails_all_the_way_up(fleet: Fleet) -> None:
    @fleet.registry.workflow
    async def leaf(ctx: Context) -> None:
        raise ValueError("deep")

    @fleet.registry.workflow
    async def middle(ctx: Context) -> None:
        await ctx.child(leaf)

    @fleet.registry.workflow
    async def top(ctx: Context) -> None:
        await ctx.child(middle)

    fleet.process("w").work(sweep=False)
    with pytest.raises(ExecutionFailed, match="deep"):
        await fleet.result(top)


async def test_a_fan_out_of_100_completes(fleet: Fleet) -> None:
    async def work(n: int) -> int:
        return n

    @fleet.registry.workflow
    async def one(ctx: Context, n: int) -> int:
        return await ctx.step(work, n)

    @fleet.registry.workflow
    async def many(ctx: Context) -> int:
        return sum(await ctx.gather(*(ctx.child(one, n) for n in range(100))))

    fleet.process("w").work(sweep=False)
    eid = await fleet.engine.start(many)
    assert await fleet.value(eid) == sum(range(100))
    entries = await fleet.entries(eid)
    assert not any(isinstance(entry.body, ExecutionResumed) for entry in entries), "every hand-over was clean"
    assert sum(isinstance(entry.body, ExecutionSuspended) for entry in entries) <= 100


async def test_children_run_in_other_workers_too(fleet: Fleet) -> None:
    ran: list[str] = []

    def record(who: str) -> Any:
        ran.append(who)

    @fleet.registry.workflow(queue="far")
    async def away(ctx: Context, n: int) -> int:
        await ctx.step(record, "away")
        return n

    @fleet.registry.workflow
    async def home(ctx: Context) -> list[int]:
        return await ctx.gather(*(ctx.child(away, n) for n in range(5)))

    fleet.process("w-1").work(sweep=False)
    fleet.process("w-2").work(queues=("far",), sweep=False)
    eid = await fleet.engine.start(home)
    assert await fleet.value(eid) == [0, 1, 2, 3, 4]
    assert ran == ["away"] * 5
    sites = {entry.by.site.worker_id for entry in await fleet.entries(child_eid(eid, "root/away#1"))}
    assert sites == {"w-2"}
