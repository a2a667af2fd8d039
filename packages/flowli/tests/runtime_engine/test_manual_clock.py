from __future__ import annotations

import asyncio

import pytest

from flowli.testing.clock import ManualClock, ManualWorld


async def test_time_moves_only_when_moved_and_wakes_in_order() -> None:
    clock = ManualClock()
    woken: list[tuple[str, float]] = []

    async def sleeper(name: str, seconds: float) -> None:
        await clock.sleep(seconds)
        woken.append((name, clock.elapsed_us / 1e6))

    tasks = [asyncio.ensure_future(sleeper(*item)) for item in [("c", 3), ("a", 1), ("b", 1), ("z", 9)]]
    await clock.settle()
    assert woken == []
    await clock.advance(5)
    assert woken == [("a", 1), ("b", 1), ("c", 3)]
    await clock.advance(4)
    await asyncio.gather(*tasks)
    assert woken[-1] == ("z", 9)


async def test_who_sleeps_again_on_the_way_is_woken_again() -> None:
    clock, ticks = ManualClock(), 0

    async def ticker() -> None:
        nonlocal ticks
        while True:
            await clock.sleep(1)
            ticks += 1

    task = asyncio.ensure_future(ticker())
    await clock.advance(10)
    assert ticks == 10
    task.cancel()


async def test_run_moves_time_until_the_work_is_done() -> None:
    clock = ManualClock()

    async def work() -> str:
        await clock.sleep(3600)
        return "done"

    assert await clock.run(work()) == "done"
    assert clock.elapsed_us == 3_600_000_000


async def test_run_says_when_nothing_can_go_on() -> None:
    clock = ManualClock()

    async def stuck() -> None:
        await asyncio.Event().wait()

    with pytest.raises(AssertionError, match="nobody waits for time"):
        await clock.run(stuck())
    with pytest.raises(AssertionError, match="not done after 5"):
        await clock.run(clock.sleep(6), limit_s=5)


def test_worlds_draw_the_same_on_every_run_and_differ_by_name() -> None:
    def drawn(name: str) -> list[object]:
        world = ManualWorld(name=name)
        return [world.token(), world.uuid7(), world.random().random(), world.token()]

    assert drawn("a") == drawn("a")
    assert not set(map(str, drawn("a"))) & set(map(str, drawn("b")))


def test_ids_are_ordered_by_time_and_are_uuids_of_version_7() -> None:
    clock = ManualClock()
    world = ManualWorld(clock)
    first = world.uuid7()
    clock.elapsed_us += 2_000
    second = world.uuid7()
    assert (first.version, second.version, first.variant) == (7, 7, "specified in RFC 4122")
    assert first < second


def test_the_wall_clock_of_a_world_may_be_wrong() -> None:
    clock = ManualClock()
    ahead = ManualWorld(clock, skew_s=60)
    assert (ahead.now() - clock.now()).total_seconds() == 60
    assert ahead.monotonic_s() == 0
