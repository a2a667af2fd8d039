"""Workflows under test: time is skipped, steps are replaced, assertions say what is going on."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import Any
from unittest.mock import AsyncMock, Mock

import pytest

from flowli.adapters.coded import Encryption, KeyRing, ValueCodec
from flowli.domain.errors import ExecutionCancelled, ExecutionFailed, NondeterminismError, UsageError
from flowli.domain.execution import ExecutionStatus
from flowli.runtime import EngineConfig
from flowli.testing.env import TestEnvironment

START = datetime(2026, 1, 1, tzinfo=UTC)
DAY = timedelta(days=1)


async def test_a_year_takes_milliseconds(env: TestEnvironment, shop: Any) -> None:
    charged = env.replace(shop.charge, lambda order: shop.Money(900))
    mailed = env.replace(shop.mail, AsyncMock(return_value=None))
    began = time.process_time()
    assert await env.run(shop.subscribe, "A-1") == 12 * 900
    assert time.process_time() - began < 2
    assert env.now - START == 12 * 30 * DAY
    assert charged.called == 12
    assert (charged.calls[0].args, charged.calls[0].kwargs) == (("A-1",), {})
    assert mailed.called == 1


async def test_one_sleep_of_thirty_days_costs_next_to_nothing(env: TestEnvironment, shop: Any) -> None:
    env.replace(shop.charge, lambda order: shop.Money(1))
    env.replace(shop.mail, lambda order: None)
    await env.start(shop.subscribe, "A-1", months=1)
    await env.settle()
    began = time.process_time()
    await env.run_until_idle()
    assert time.process_time() - began < 2
    assert env.now == START + 30 * DAY


async def test_time_stands_still_while_things_settle(env: TestEnvironment, shop: Any) -> None:
    eid = await env.start(shop.approve, "A-1")
    await env.settle()
    assert env.now == START
    assert await env.outline(eid) == ["receive answer waiting"]
    with pytest.raises(AssertionError, match=r"approve has not ended: it waits on channel 'answer'"):
        await env.result(eid)
    await env.signal(eid, "answer", "yes")
    await env.settle()
    assert await env.result(eid) == "A-1: yes"
    assert env.now == START


async def test_a_deadline_passes_when_nobody_acts(env: TestEnvironment, shop: Any) -> None:
    eid = await env.start(shop.approve, "A-1")
    await env.advance(2 * DAY - timedelta(seconds=1))
    assert (await env.status(eid)).status is ExecutionStatus.SUSPENDED
    await env.advance(1)
    assert await env.result(eid) == "nobody answered"
    assert env.now == START + 2 * DAY


async def test_advance_stops_at_everything_on_the_way(env: TestEnvironment, shop: Any) -> None:
    env.replace(shop.charge, lambda order: shop.Money(100))
    eid = await env.start(shop.subscribe, "A-1")
    await env.advance(timedelta(days=95))
    frames = await env.frames(eid)
    assert [frame.started_at.to_datetime() for frame in frames.values() if frame.name == "charge"] == [
        START + n * 30 * DAY for n in range(4)
    ]
    assert env.now == START + timedelta(days=95)
    assert (await env.outline(eid))[-1] == "sleep sleep waiting"


async def test_retries_wait_in_the_environments_time(env: TestEnvironment, shop: Any) -> None:
    busy = Mock(side_effect=[shop.Busy("busy"), shop.Busy("busy"), shop.Money(5)])
    charged = env.replace(shop.charge, busy)
    env.replace(shop.mail, lambda order: None)
    eid = await env.start(shop.subscribe, "A-1", 1)
    await env.run_until_idle()
    assert await env.result(eid) == 5
    assert charged.called == 3
    assert await env.outline(eid) == [
        "step charge completed (attempt 3)",
        "sleep sleep completed",
        "step mail completed",
    ]
    assert timedelta(hours=2) <= env.now - START - 30 * DAY <= timedelta(hours=4)


async def test_failures_of_fakes_are_failures_of_steps(env: TestEnvironment, shop: Any) -> None:
    env.replace(shop.charge, shop.decline)
    with pytest.raises(ExecutionFailed, match="declined"):
        await env.run(shop.declined)


async def test_what_a_fake_returns_is_recorded_under_the_steps_annotation(env: TestEnvironment, shop: Any) -> None:
    env.replace(shop.charge, lambda order: "not money")
    with pytest.raises(ExecutionFailed, match="Money"):
        await env.run(shop.declined)


async def test_a_fake_gets_what_the_step_would_get(env: TestEnvironment, shop: Any) -> None:
    banked = env.replace(shop.bank, lambda money: money.cents * 2)
    assert await env.run(shop.save, shop.Money(5)) == 10
    assert banked.calls[0].args == (shop.Money(5),)


async def test_a_step_that_is_not_replaced_runs(env: TestEnvironment, shop: Any) -> None:
    with pytest.raises(ExecutionFailed, match="no card is charged in a test"):
        await env.run(shop.declined)
    assert await env.run(shop.real, within=60) == "done"


async def test_time_is_not_skipped_under_a_step_that_does_something_real(env: TestEnvironment, shop: Any) -> None:
    assert await env.run(shop.real, within=5) == "done"
    assert env.now - START < timedelta(seconds=5)


async def test_a_step_that_hangs_meets_its_timeout(shop: Any) -> None:
    async with TestEnvironment(shop.registry, patience_s=0.01) as env:
        with pytest.raises(ExecutionFailed, match="longer than its timeout of 60 s"):
            await env.run(shop.hanging, within=60)
        assert timedelta(seconds=60) <= env.now - START < timedelta(seconds=120)


async def test_a_step_that_hangs_without_one_is_named(shop: Any) -> None:
    env = TestEnvironment(shop.registry, patience_s=0.01)
    await env.start(shop.hanging)
    with pytest.raises(AssertionError, match=r"still running: root/hangs#1 of .*env.replace"):
        await env.settle()


async def test_an_execution_timeout_ends_even_a_step_that_hangs(shop: Any) -> None:
    async with TestEnvironment(shop.registry, patience_s=0.01) as env:
        with pytest.raises(ExecutionCancelled):
            await env.run(shop.hanging, timeout=3600)
        assert timedelta(hours=1) <= env.now - START < timedelta(hours=2)


async def test_children_and_other_queues_are_served(env: TestEnvironment, shop: Any) -> None:
    assert await env.run(shop.parent) == "nobody answered"
    assert env.now == START + DAY


async def test_what_goes_on_for_ever_is_told(env: TestEnvironment, shop: Any) -> None:
    await env.start(shop.for_ever)
    with pytest.raises(AssertionError, match="still something to do after 10 days"):
        await env.run_until_idle(limit=timedelta(days=10))
    assert env.now == START + 10 * DAY


async def test_an_execution_that_has_not_begun_is_told(env: TestEnvironment, shop: Any) -> None:
    eid = await env.start(shop.approve, "A-1")
    with pytest.raises(AssertionError, match=r"has not begun; call settle\(\)"):
        await env.result(eid)


async def test_a_restart_replays_from_the_journal(env: TestEnvironment, shop: Any) -> None:
    charged = env.replace(shop.charge, lambda order: shop.Money(100))
    env.replace(shop.mail, lambda order: None)
    eid = await env.start(shop.subscribe, "A-1", months=2)
    await env.settle()
    await env.restart()
    await env.run_until_idle()
    assert await env.result(eid) == 200
    assert charged.called == 2


async def test_a_workflow_that_is_not_deterministic_fails_the_test(shop: Any) -> None:
    async def run(env: TestEnvironment) -> None:
        async with env:
            env.replace(shop.charge, lambda order: shop.Money(1))
            await env.run(shop.fickle)

    with pytest.raises(NondeterminismError, match="charge"):
        await run(TestEnvironment(shop.registry))
    await run(TestEnvironment(shop.registry, check_replay=False))


async def test_values_go_through_a_codec_if_one_is_given(shop: Any) -> None:
    codec = ValueCodec([Encryption(KeyRing({"k": b"k" * 32}))])
    async with TestEnvironment(shop.registry, codec=codec) as env:
        eid = await env.start(shop.approve, "A-1")
        await env.signal(eid, "answer", "yes")
        await env.run_until_idle()
        assert await env.result(eid) == "A-1: yes"


async def test_the_first_instant_and_the_settings_are_the_tests(shop: Any) -> None:
    start = datetime(2030, 6, 1, 12, tzinfo=UTC)
    async with TestEnvironment(shop.registry, start=start, config=EngineConfig(hold_s=5)) as env:
        assert await env.run(shop.on_another_queue) == start


async def test_a_fake_must_be_callable(env: TestEnvironment, shop: Any) -> None:
    with pytest.raises(UsageError, match="5 cannot be called"):
        env.replace(shop.charge, 5)  # type: ignore[arg-type]
