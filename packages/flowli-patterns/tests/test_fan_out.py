"""``fan_out``: in order, bounded, with three ways to take errors."""

import asyncio

import pytest

from flowli import Context, Registry
from flowli.domain.errors import ExecutionFailed
from flowli_patterns.errors import FanOutFailed
from flowli_patterns.public import Done, fan_out

registry = Registry()


class Gauge:
    def __init__(self):
        self.now = self.peak = 0
        self.tried: list[int] = []


gauge = Gauge()


@pytest.fixture(autouse=True)
def fresh():
    gauge.__init__()


async def square(n: int) -> int:
    gauge.now += 1
    gauge.tried.append(n)
    gauge.peak = max(gauge.peak, gauge.now)
    try:
        await asyncio.sleep(0.01 * ((7 * n) % 5))
        if n % 4 == 3:
            raise ValueError(f"no square of {n}")
        return n * n
    finally:
        gauge.now -= 1


@registry.workflow
async def squares(ctx: Context, numbers: list[int], bound: int | None = None) -> list[int]:
    return await fan_out(ctx, lambda n: ctx.step(square, n), numbers, max_in_flight=bound)


@registry.workflow
async def square_child(ctx: Context, n: int) -> int:
    return await ctx.step(square, n)


@registry.workflow
async def by_children(ctx: Context, numbers: list[int]) -> list[int]:
    return await fan_out(ctx, lambda n: ctx.child(square_child, n), numbers, max_in_flight=2)


@registry.workflow
async def wait_for_ever(ctx: Context, n: int) -> int:
    return await ctx.receive("never")


@registry.workflow
async def one_fails_one_waits(ctx: Context) -> list[int]:
    return await fan_out(ctx, lambda n: ctx.child(wait_for_ever if n == 1 else square_child, n), [1, 3])


@registry.workflow
async def tolerant(ctx: Context, numbers: list[int]) -> list[str]:
    found = await fan_out(ctx, lambda n: ctx.step(square, n), numbers, max_in_flight=2, on_error="partial")
    return [str(one.value) if isinstance(one, Done) else type(one.error).__name__ for one in found]


@registry.workflow
async def complete(ctx: Context, numbers: list[int]) -> str:
    try:
        await fan_out(ctx, lambda n: ctx.step(square, n), numbers, on_error="all")
    except FanOutFailed as failed:
        return f"{failed.results} {sorted(failed.errors)} {failed}"
    return "?"


@registry.workflow
async def two_frames_each(ctx: Context, numbers: list[int]) -> list[int]:
    async def work(n: int) -> int:
        once = await ctx.step(square, n)
        await ctx.sleep(60 - n)
        return once + await ctx.step(square, n + 1)

    return await fan_out(ctx, work, numbers, max_in_flight=3)


@registry.workflow
async def wrong(ctx: Context, how: str) -> list[int]:
    if how == "bound":
        return await fan_out(ctx, lambda n: ctx.step(square, n), [1], max_in_flight=0)
    return await fan_out(ctx, lambda n: ctx.step(square, n), [1], on_error=how)  # type: ignore[call-overload]


async def test_results_come_in_the_order_of_the_items_within_the_bound(open_env):
    """PAT-1."""
    async with open_env(registry) as env:
        assert await env.run(squares, [1, 2, 4, 5, 6, 8, 9], 3) == [1, 4, 16, 25, 36, 64, 81]
        assert gauge.peak == 3
        assert gauge.tried == [1, 2, 4, 5, 6, 8, 9]


async def test_without_a_bound_all_are_under_way_at_once(open_env):
    async with open_env(registry) as env:
        assert await env.run(squares, [1, 2, 4, 5, 6]) == [1, 4, 16, 25, 36]
        assert gauge.peak == 5


async def test_nothing_to_do_is_done_at_once(open_env):
    async with open_env(registry) as env:
        assert await env.run(squares, []) == []


async def test_children_work_like_steps(open_env):
    async with open_env(registry) as env:
        assert await env.run(by_children, [1, 2, 4]) == [1, 4, 16]
        with pytest.raises(ExecutionFailed, match="no square of 3"):
            await env.run(by_children, [1, 3, 4, 5, 6, 8])
        assert gauge.tried[-1] < 8  # what had not begun does not begin


async def test_the_first_error_ends_all(open_env):
    """PAT-2."""
    async with open_env(registry) as env:
        with pytest.raises(ExecutionFailed, match="no square of 3"):
            await env.run(squares, [1, 3, 4, 5, 6, 8, 9, 10], 1)
        assert gauge.tried == [1, 3]


async def test_children_under_way_are_asked_to_cancel_when_one_fails(open_env):
    """PAT-2."""
    async with open_env(registry) as env:
        eid = await env.start(one_fails_one_waits)
        await env.run_until_idle()
        assert (await env.status(eid)).status == "failed"
        (waiting,) = [one.metadata["eid"] for one in (await env.frames(eid)).values() if one.name == "wait_for_ever"]
        assert (await env.status(waiting)).status == "cancelled"


async def test_all_are_tried_and_every_error_is_told(open_env):
    """PAT-2."""
    async with open_env(registry) as env:
        told = await env.run(complete, [1, 3, 5, 7])
        assert told.startswith(
            "{0: 1, 2: 25} [1, 3] 2 of 4 items failed; the first is item 1: step root/fan_out#1/item#2"
        )


async def test_partial_results_say_what_failed(open_env):
    async with open_env(registry) as env:
        assert await env.run(tolerant, [1, 3, 5]) == ["1", "StepFailed", "25"]


async def test_frames_of_one_item_stand_together(open_env):
    async with open_env(registry) as env:
        eid = await env.start(two_frames_each, [0, 1, 4, 8])
        await env.run_until_idle()
        assert await env.result(eid) == [1, 5, 41, 145]
        steps = [fid for fid in await env.frames(eid) if "/square" in fid]
        assert set(steps) == {f"root/fan_out#1/item#{i}/square#{n}" for i in range(1, 5) for n in (1, 2)}


@pytest.mark.parametrize("how", ["bound", "some"])
async def test_what_cannot_work_is_refused(open_env, how):
    async with open_env(registry) as env:
        with pytest.raises(ExecutionFailed, match=r"give at least 1|is no policy"):
            await env.run(wrong, how)
    assert gauge.tried == []
