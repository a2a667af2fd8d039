"""``on_tick``: a grid that does not drift."""

from datetime import UTC, datetime, timedelta

import pytest

from flowli import Context, Registry
from flowli.domain.errors import ExecutionFailed
from flowli_patterns.public import Tick, on_tick

registry = Registry()
HOUR = timedelta(hours=1)


def measure(number: int) -> int:
    return number


@registry.workflow
async def hourly(ctx: Context, took_minutes: list[int], times: int | None, until: datetime | None) -> list[str]:
    began, told = ctx.now, list[str]()

    async def work(tick: Tick) -> bool:
        late = ctx.now - tick.due_at
        told.append(f"{tick.number} at {(tick.due_at - began) / HOUR:g} skipped {tick.skipped} late {late}")
        await ctx.sleep(60 * took_minutes[len(told) - 1])
        return await ctx.step(measure, tick.number) < 90

    worked = await on_tick(ctx, work, every=HOUR, times=times, until=until)
    return [*told, f"{worked} times"]


@registry.workflow
async def wrong(ctx: Context, how: str) -> int:
    match how:
        case "every":
            return await on_tick(ctx, lambda tick: ctx.step(measure, 1), every=-1, times=2)
        case "endless":
            return await on_tick(ctx, lambda tick: ctx.step(measure, 1), every=1)
        case "times":
            return await on_tick(ctx, lambda tick: ctx.step(measure, 1), every=1, times=0)
    return await on_tick(ctx, lambda tick: ctx.step(measure, 1), every=1, until=datetime(2026, 1, 1))


async def test_ticks_do_not_drift_with_the_work(open_env):
    async with open_env(registry) as env:
        assert await env.run(hourly, [10, 20, 30], 3, None) == [
            "1 at 1 skipped 0 late 0:00:00",
            "2 at 2 skipped 0 late 0:00:00",
            "3 at 3 skipped 0 late 0:00:00",
            "3 times",
        ]


async def test_ticks_that_fell_due_during_the_work_are_left_out_and_counted(open_env):
    """PAT-3."""
    async with open_env(registry) as env:
        assert await env.run(hourly, [150, 60, 1, 1], 6, None) == [
            "1 at 1 skipped 0 late 0:00:00",
            "4 at 4 skipped 2 late 0:00:00",
            "5 at 5 skipped 0 late 0:00:00",
            "6 at 6 skipped 0 late 0:00:00",
            "4 times",
        ]


@pytest.mark.parametrize(("times", "told"), [(None, "2 times"), (1, "1 times"), (9, "2 times")])
async def test_no_tick_is_due_after_until(open_env, times, told):
    async with open_env(registry) as env:
        until = datetime(2026, 1, 1, 2, 30, tzinfo=UTC)
        assert (await env.run(hourly, [1, 1, 1], times, until))[-1] == told


async def test_a_tick_is_begun_anew_by_another_worker_as_the_same_tick(open_env):
    async with open_env(registry) as env:
        eid = await env.start(hourly, [10, 20, 30], 3, None)
        for _ in range(7):
            await env.advance(timedelta(minutes=31))
            await env.restart()
        assert (await env.result(eid))[-1] == "3 times"


@pytest.mark.parametrize(
    ("how", "told"),
    [("every", "more than zero"), ("endless", "no end"), ("times", "at least 1"), ("zone", "time zone")],
)
async def test_what_cannot_work_is_refused(open_env, how, told):
    async with open_env(registry) as env:
        with pytest.raises(ExecutionFailed, match=told):
            await env.run(wrong, how)
