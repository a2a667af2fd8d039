"""Results that cannot be recorded, and what a workflow may not leave behind."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any

import pytest

from flowli import Context, RetryPolicy, StepFailed
from flowli.domain.errors import ExecutionFailed

from .fleet import Fleet


async def test_a_result_that_cannot_be_recorded_fails_its_frame_alone(fleet: Fleet) -> None:
    """STP-6."""

    async def odd() -> Any:
        await fleet.clock.sleep(0.05)
        return {"items": [{"price": object()}]}

    async def fine(n: int) -> int:
        await fleet.clock.sleep(0.05)
        return n

    @fleet.registry.workflow
    async def mixed(ctx: Context) -> list[Any]:
        frames = (ctx.step(fine, 1), ctx.step(odd, retry=RetryPolicy(max_attempts=5)), ctx.step(fine, 3))
        found = await asyncio.gather(*frames, return_exceptions=True)
        return [str(one) if isinstance(one, StepFailed) else one for one in found]

    fleet.process("w").work()
    first, second, third = await fleet.result(mixed)
    assert (first, third) == (1, 3)
    assert "result.items[0].price" in second
    assert "after 1 attempt" in second


@pytest.mark.parametrize(("extra", "fails"), [(-1, False), (0, False), (1, True)])
async def test_the_limit_of_a_result_is_exact_and_named(fleet: Fleet, extra: int, fails: bool) -> None:
    """STP-6."""
    calls: list[int] = []

    async def large(n: int) -> str:
        calls.append(n)
        return "x" * n

    @fleet.registry.workflow
    async def one(ctx: Context, n: int) -> str:
        try:
            return await ctx.step(large, n, retry=RetryPolicy(max_attempts=4)) and "fits"
        except StepFailed as error:
            return str(error)

    fleet.process("w", max_value_bytes=10_000).work()
    said = await fleet.result(one, 10_000 - 2 + extra)
    if fails:
        assert "10,001 bytes" in said
        assert "10,000" in said
        assert "max_value_bytes" in said
    else:
        assert said == "fits"
    assert len(calls) == 1


async def test_a_step_that_returns_a_coroutine_is_told_so(fleet: Fleet) -> None:
    """STP-7."""

    async def inner() -> int:
        return 1

    def outer() -> Awaitable[int]:
        return inner()

    @fleet.registry.workflow
    async def one(ctx: Context) -> str:
        try:
            await ctx.step(outer, retry=RetryPolicy(max_attempts=3))
        except StepFailed as error:
            return error.error.message
        return ""

    fleet.process("w").work()
    assert "step 'outer' returned a coroutine" in await fleet.result(one)


async def test_a_live_frame_left_behind_fails_the_execution_by_name(fleet: Fleet) -> None:
    """RPL-21."""

    async def charge() -> None:
        await fleet.clock.sleep(30)

    @fleet.registry.workflow
    async def forgetful(ctx: Context) -> str:
        task = asyncio.create_task(ctx.step(charge))
        await ctx.sleep(1)
        return "done" if not task.done() else "?"

    fleet.process("w").work()
    with pytest.raises(ExecutionFailed, match="step 'charge' as root/charge#1 was still under way"):
        await fleet.result(forgetful)


async def test_a_workflow_that_returns_what_cannot_be_recorded_fails_with_the_path(fleet: Fleet) -> None:
    @fleet.registry.workflow
    async def odd(ctx: Context) -> Any:
        return {"inner": [1, object()]}

    @fleet.registry.workflow
    async def huge(ctx: Context) -> str:
        return "x" * 20_000

    fleet.process("w", max_value_bytes=10_000).work()
    with pytest.raises(ExecutionFailed, match=r"result\.inner\[1\]"):
        await fleet.result(odd)
    with pytest.raises(ExecutionFailed, match="max_value_bytes"):
        await fleet.result(huge)


async def test_at_most_so_many_frames_of_one_execution_are_under_way(fleet: Fleet) -> None:
    """STP-8."""
    now = peak = 0

    async def busy(n: int) -> int:
        nonlocal now, peak
        now += 1
        peak = max(peak, now)
        await fleet.clock.sleep(1)
        now -= 1
        return n

    @fleet.registry.workflow
    async def wide(ctx: Context) -> int:
        return sum(await ctx.gather(*(ctx.step(busy, n) for n in range(50))))

    fleet.process("w", max_in_flight=7).work()
    assert await fleet.result(wide) == sum(range(50))
    assert peak == 7
