"""Steps: what they return, how they fail, when they are tried again."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from flowli import Context, Defer, NonRetryableError, Retry, RetryPolicy, StepFailed, step_info
from flowli.domain.entries import FrameCompleted, FrameDeferred, FrameFailed, FrameStarted
from flowli.domain.errors import ExecutionFailed
from flowli.runtime.step import StepInfo

from .fleet import Fleet


def attempts_of(entries: Any) -> list[int]:
    return [entry.body.attempt for entry in entries if isinstance(entry.body, FrameStarted)]


async def test_async_and_sync_steps_give_their_results(fleet: Fleet) -> None:
    """STP-1."""

    async def double(n: int) -> int:
        await fleet.clock.sleep(0.1)
        return 2 * n

    def shout(text: str, *, times: int = 1) -> str:
        return text.upper() * times

    @fleet.registry.workflow
    async def both(ctx: Context, n: int) -> tuple[int, str]:
        return await ctx.step(double, n), await ctx.step(shout, "ab", times=2)

    fleet.process("w").work()
    assert await fleet.result(both, 21) == (42, "ABAB")


async def test_a_step_knows_where_it_runs(fleet: Fleet) -> None:
    """RPL-8."""
    seen: list[StepInfo] = []

    async def look() -> None:
        seen.append(step_info())
        if len(seen) == 1:
            raise ValueError("once more")

    @fleet.registry.workflow
    async def one(ctx: Context) -> None:
        await ctx.step(look, retry=RetryPolicy(max_attempts=2))

    fleet.process("w").work()
    eid = await fleet.engine.start(one)
    await fleet.value(eid)
    first, second = seen
    assert (first.eid, first.fid, first.attempt, first.epoch, first.workflow) == (eid, "root/look#1", 1, 1, "one")
    assert second.attempt == 2
    assert first.idempotency_key == second.idempotency_key == f"{eid}/root/look#1"


async def test_k_steps_in_a_row_are_k_commits_and_the_end_rides_in_the_last(fleet: Fleet) -> None:
    """JRN-9."""

    async def step(n: int) -> int:
        return n

    @fleet.registry.workflow
    async def seven(ctx: Context) -> None:
        for n in range(7):
            await ctx.step(step, n)

    fleet.process("w").work()
    eid = await fleet.engine.start(seven)
    await fleet.value(eid)
    assert (await fleet.ports.journal.read(eid)).position.commit == 7


async def test_a_long_first_step_costs_one_commit_more_and_no_other_does(fleet: Fleet) -> None:
    """JRN-13."""

    async def slow(n: int) -> int:
        await fleet.clock.sleep(3)
        return n

    @fleet.registry.workflow
    async def four(ctx: Context) -> None:
        for n in range(4):
            await ctx.step(slow, n)

    fleet.process("w").work()
    eid = await fleet.engine.start(four)
    await fleet.value(eid)
    assert (await fleet.ports.journal.read(eid)).position.commit == 5


async def test_the_next_step_waits_until_the_last_outcome_is_durable(fleet: Fleet) -> None:
    """JRN-8."""
    seen: list[int] = []

    async def count(n: int) -> None:
        journal = (await fleet.ports.journal.read(step_info().eid)).entries
        seen.append(sum(isinstance(entry.body, FrameCompleted) for entry in journal))

    @fleet.registry.workflow
    async def four(ctx: Context) -> None:
        for n in range(4):
            await ctx.step(count, n)

    fleet.process("w").work()
    await fleet.result(four)
    assert seen == [0, 1, 2, 3]


async def test_a_long_first_step_is_seen_running(fleet: Fleet) -> None:
    """JRN-13."""

    async def long() -> None:
        await fleet.clock.sleep(60)

    @fleet.registry.workflow
    async def one(ctx: Context) -> None:
        await ctx.step(long)

    fleet.process("w").work()
    eid = await fleet.engine.start(one)
    await fleet.clock.advance(5)
    fold = await fleet.fold(eid)
    assert [(frame.fid, frame.status) for frame in fold.live_frames()] == [("root/long#1", "running")]
    await fleet.value(eid)


async def test_a_failed_step_raises_in_the_workflow(fleet: Fleet) -> None:
    async def burn() -> None:
        raise OSError("smoke")

    @fleet.registry.workflow
    async def careful(ctx: Context) -> str:
        try:
            await ctx.step(burn)
        except StepFailed as error:
            return f"{error.fid} {error.attempts} {error.error.type} {error.error.message}"
        return "fine"

    fleet.process("w").work()
    assert await fleet.result(careful) == "root/burn#1 1 builtins.OSError smoke"


async def test_an_uncaught_failure_ends_the_execution(fleet: Fleet) -> None:
    async def burn() -> None:
        raise OSError("smoke")

    @fleet.registry.workflow
    async def careless(ctx: Context) -> None:
        await ctx.step(burn)

    fleet.process("w").work()
    with pytest.raises(ExecutionFailed, match="smoke"):
        await fleet.result(careless)


async def test_a_step_is_tried_again_by_its_policy(fleet: Fleet) -> None:
    """STP-2."""
    times: list[float] = []

    async def flaky() -> str:
        times.append(fleet.clock.elapsed_us / 1e6)
        if len(times) < 4:
            raise OSError("not yet")
        return "now"

    policy = RetryPolicy(max_attempts=4, backoff=timedelta(seconds=1), backoff_factor=10, jitter=0)

    @fleet.registry.workflow
    async def patient(ctx: Context) -> str:
        return await ctx.step(flaky, retry=policy)

    fleet.process("w").work()
    eid = await fleet.engine.start(patient)
    assert await fleet.value(eid) == "now"
    waits = [later - earlier for earlier, later in itertools.pairwise(times)]
    assert waits == pytest.approx([1, 10, 100], abs=2.5), "short waits stay in the worker, long ones are timers"
    entries = await fleet.entries(eid)
    assert attempts_of(entries) == [1, 2, 3, 4]
    assert [entry.body.retryable for entry in entries if isinstance(entry.body, FrameFailed)] == [True] * 3


async def test_attempts_run_out(fleet: Fleet) -> None:
    """STP-2."""

    async def never() -> None:
        raise OSError("no")

    @fleet.registry.workflow
    async def stubborn(ctx: Context) -> int:
        try:
            await ctx.step(never, retry=RetryPolicy(max_attempts=3, backoff=timedelta(0)))
        except StepFailed as error:
            return error.attempts
        return 0

    fleet.process("w").work()
    assert await fleet.result(stubborn) == 3


async def test_an_error_that_the_policy_gives_up_on_is_not_retried(fleet: Fleet) -> None:
    """RPL-9."""
    calls: list[str] = []

    async def wrong() -> None:
        calls.append("wrong")
        raise KeyError("bad input")

    async def final() -> None:
        calls.append("final")
        raise NonRetryableError("no use")

    policy = RetryPolicy(max_attempts=5, backoff=timedelta(0), give_up_on=(KeyError,))

    @fleet.registry.workflow
    async def both(ctx: Context) -> list[str]:
        errors = []
        for step in (wrong, final):
            try:
                await ctx.step(step, retry=policy)
            except StepFailed as error:
                errors.append(error.error.message)
        return errors

    fleet.process("w").work()
    assert await fleet.result(both) == ["'bad input'", "no use"]
    assert calls == ["wrong", "final"]


async def test_retry_after_replaces_the_delay_of_the_policy(fleet: Fleet) -> None:
    """STP-2."""
    times: list[float] = []

    async def busy() -> None:
        times.append(fleet.clock.elapsed_us / 1e6)
        if len(times) == 1:
            raise Retry("come back", after=600)

    @fleet.registry.workflow
    async def polite(ctx: Context) -> None:
        await ctx.step(busy, retry=RetryPolicy(max_attempts=2, backoff=timedelta(seconds=1)))

    fleet.process("w").work()
    await fleet.result(polite)
    assert times[1] - times[0] == pytest.approx(600, abs=2.5)


async def test_a_deferred_step_uses_no_attempt(fleet: Fleet) -> None:
    """RPL-9."""
    seen: list[int] = []

    async def later() -> str:
        seen.append(step_info().attempt)
        if len(seen) < 4:
            raise Defer("not before noon", until=200)
        return "done"

    @fleet.registry.workflow
    async def waits(ctx: Context) -> str:
        return await ctx.step(later)

    fleet.process("w").work()
    eid = await fleet.engine.start(waits)
    assert await fleet.value(eid) == "done"
    assert seen == [1, 1, 1, 1]
    assert fleet.clock.elapsed_us >= 600 * 1_000_000
    assert sum(isinstance(entry.body, FrameDeferred) for entry in await fleet.entries(eid)) == 3


async def test_an_async_step_over_its_timeout_is_cancelled_and_tried_again(fleet: Fleet) -> None:
    """STP-4."""
    log: list[str] = []

    async def slow() -> str:
        log.append("start")
        if log.count("start") == 2:
            return "quick"
        try:
            await fleet.clock.sleep(3600)
        except asyncio.CancelledError:
            log.append("cancelled")
            raise
        return "slow"

    @fleet.registry.workflow
    async def timed(ctx: Context) -> str:
        return await ctx.step(slow, timeout=5, retry=RetryPolicy(max_attempts=2, backoff=timedelta(0)))

    fleet.process("w").work()
    eid = await fleet.engine.start(timed)
    assert await fleet.value(eid) == "quick"
    assert log == ["start", "cancelled", "start"]
    (failed,) = [entry.body for entry in await fleet.entries(eid) if isinstance(entry.body, FrameFailed)]
    assert failed.error.type == "builtins.TimeoutError"
    assert "its timeout of 5 s" in failed.error.message


async def test_a_timeout_that_the_step_itself_raises_is_its_failure(fleet: Fleet) -> None:
    async def fetch() -> None:
        raise TimeoutError("the other side")

    @fleet.registry.workflow
    async def one(ctx: Context) -> str:
        try:
            await ctx.step(fetch, timeout=60)
        except StepFailed as error:
            return error.error.message
        return ""

    fleet.process("w").work()
    assert await fleet.result(one) == "the other side"


def _exit() -> None:
    raise SystemExit(3)


async def _exit_async() -> None:
    raise SystemExit(3)


def _interrupt() -> None:
    raise KeyboardInterrupt


def _stop_iteration() -> None:
    raise StopIteration


async def _cancel_itself() -> None:
    raise asyncio.CancelledError


@pytest.mark.parametrize("step", [_exit, _exit_async, _interrupt, _stop_iteration, _cancel_itself])
async def test_a_step_cannot_end_its_worker(fleet: Fleet, step: Callable[[], Any]) -> None:
    """STP-10."""

    async def fine() -> str:
        return "alive"

    @fleet.registry.workflow
    async def one(ctx: Context) -> str:
        try:
            await ctx.step(step)
        except StepFailed:
            return await ctx.step(fine)
        return "not raised"

    fleet.process("w").work()
    assert await fleet.result(one) == "alive"
