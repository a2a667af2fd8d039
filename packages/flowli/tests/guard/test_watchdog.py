"""Code that keeps the worker waiting is reported with its line."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import pytest
import structlog

from flowli.runtime.context import Context
from flowli.runtime.guard.watchdog import Watchdog
from flowli.testing.clock import ManualClock, ManualWorld
from flowli.world import SYSTEM

from ..replay.live import EID, ending_of
from ..replay.programs import value


@pytest.fixture
def reports() -> Iterator[list[Any]]:
    with structlog.testing.capture_logs() as found:
        yield found


async def test_a_slice_of_two_seconds_is_reported_once_and_again_after_four(reports: list[Any]) -> None:
    """RPL-23."""
    clock = ManualClock()
    watchdog = Watchdog(ManualWorld(clock))
    seconds = iter([0.0, 1.9, 0.1, 1.0, 1.0, 1.0])
    counts: list[int] = []

    def spin() -> None:
        for passed in seconds:
            clock.elapsed_us += round(passed * 1_000_000)
            watchdog.look()
            counts.append(len(reports))

    async def slow(ctx: Context) -> None:
        await ctx.step(value, 1)
        spin()

    ending_of(slow)
    watchdog.look()
    assert counts == [0, 0, 1, 1, 2, 2]
    first = reports[0]
    assert first["log_level"] == "warning"
    assert first["eid"] == str(EID)
    assert first["seconds"] == 2.0
    assert "test_watchdog.py" in first["at"]
    assert first["at"].endswith("in spin")
    assert "in slow" in first["stack"]


async def test_many_short_slices_are_not_reported(reports: list[Any]) -> None:
    clock = ManualClock()
    watchdog = Watchdog(ManualWorld(clock))

    async def brisk(ctx: Context) -> None:
        for n in range(5):
            await ctx.step(value, n)
            clock.elapsed_us += 1_000_000
            watchdog.look()

    ending_of(brisk)
    assert reports == []


async def test_it_looks_from_beside_the_loop_that_is_kept_waiting(reports: list[Any]) -> None:
    watchdog = Watchdog(SYSTEM, longest_s=0.02)
    watchdog.start()
    watchdog.start()

    async def stuck(ctx: Context) -> None:
        for _ in range(100):
            if reports:
                return
            threading.Event().wait(0.02)

    ending_of(stuck)
    watchdog.stop()
    watchdog.stop()
    assert reports
    assert "in stuck" in reports[0]["at"] or "wait" in reports[0]["stack"]
    await asyncio.sleep(0)
