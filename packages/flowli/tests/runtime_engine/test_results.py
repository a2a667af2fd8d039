from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from flowli.domain.entries import (
    START,
    ExecutionCancelled,
    ExecutionFailed,
    ExecutionResumed,
    FrameStarted,
    Position,
)
from flowli.domain.errors import (
    ErrorInfo,
    InvalidName,
    ResultTimeout,
    UnknownExecution,
    UnknownWorkflow,
)
from flowli.domain.errors import ExecutionCancelled as CancelledOutcome
from flowli.domain.errors import ExecutionFailed as FailedOutcome
from flowli.domain.execution import ExecutionStatus
from flowli.domain.frames import FrameKind
from flowli.domain.ports import JournalSlice
from flowli.domain.waits import OnChannel

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from .conftest import Bench


async def test_a_result_reached_before_the_call_is_seen(bench: Bench) -> None:
    """STA-17."""
    eid = await bench.engine.start("greet", "Ada")
    await (await bench.own(eid)).complete("hello Ada")
    assert await bench.engine.result(eid) == "hello Ada"
    assert await bench.engine.result(str(eid)) == "hello Ada"


async def test_a_result_of_another_process_is_seen_by_polling(bench: Bench) -> None:
    eid = await bench.engine.start("greet", "Ada")
    owner = await bench.own(eid)

    async def later() -> None:
        await bench.world.sleep(7.3)
        await owner.complete("hello Ada")

    value, _ = await bench.clock.run(_both(bench.engine.result(eid), later()))
    assert value == "hello Ada"
    assert bench.world.monotonic_s() <= 8.4


async def test_an_end_in_this_process_is_told_without_waiting_for_a_poll(bench: Bench) -> None:
    eid = await bench.engine.start("greet", "Ada")
    owner = await bench.own(eid)

    async def later() -> None:
        await bench.world.sleep(7.3)
        await owner.complete("hello Ada")
        bench.engine.hub.ended(eid)

    await bench.clock.run(_both(bench.engine.result(eid), later()))
    assert bench.world.monotonic_s() == 7.3


async def test_polling_costs_less_and_less_while_nothing_happens(bench: Bench) -> None:
    eid = await bench.engine.start("greet", "Ada")
    reads: list[float] = []
    real = bench.ports.journal.read

    async def read(eid, **options):  # type: ignore[no-untyped-def]
        reads.append(bench.world.monotonic_s())
        return await real(eid, **options)

    bench.ports.journal.read = read  # type: ignore[method-assign]
    with pytest.raises(ResultTimeout, match="within 20 s"):
        await bench.clock.run(bench.engine.result(eid, 20))
    assert bench.world.monotonic_s() == 20
    assert len(reads) < 30


async def test_a_failure_and_a_cancel_are_raised_with_what_caused_them(bench: Bench) -> None:
    error = ErrorInfo("builtins.ValueError", "no such guest", "traceback")
    failed = await bench.engine.start("greet", "Ada")
    await (await bench.own(failed)).append(ExecutionFailed(error))
    with pytest.raises(FailedOutcome, match="no such guest") as caught:
        await bench.engine.result(failed)
    assert caught.value.error == error
    cancelled = await bench.engine.start("greet", "Ada")
    await (await bench.own(cancelled)).append(ExecutionCancelled("enough"))
    with pytest.raises(CancelledOutcome, match="enough"):
        await bench.engine.result(cancelled)


async def test_a_result_is_found_in_the_archive_also_by_who_waits_already(bench: Bench) -> None:
    """STA-17."""
    eid = await bench.engine.start("greet", "Ada")
    owner = await bench.own(eid)

    async def vanish() -> None:
        await bench.world.sleep(2)
        real, bench.ports.journal.read = bench.ports.journal.read, _nothing  # type: ignore[method-assign]
        await bench.clock.sleep(2)
        bench.ports.journal.read = real  # type: ignore[method-assign]
        await owner.complete("hello Ada")
        await bench.engine.retention(0).run_once()
        bench.ports.journal.read = _nothing  # type: ignore[method-assign]

    value, _ = await bench.clock.run(_both(bench.engine.result(eid), vanish()))
    assert value == "hello Ada"


async def test_unknown_executions_have_no_result(bench: Bench) -> None:
    with pytest.raises(UnknownExecution):
        await bench.engine.result(bench.world.uuid7())
    with pytest.raises(InvalidName):
        await bench.engine.result("x")


async def test_run_starts_and_waits(bench: Bench) -> None:
    with pytest.raises(ResultTimeout):
        await bench.clock.run(bench.engine.run("greet", "Ada", key="k", wait_s=3))
    claim = await bench.ports.dispatch.read_start("k")
    assert claim is not None
    await (await bench.own(claim.eid)).complete("hello Ada")
    assert await bench.engine.run("greet", "Ada", key="k") == "hello Ada"
    with pytest.raises(UnknownWorkflow):
        await bench.engine.run("gret", "Ada")


async def test_status_follows_the_life_of_an_execution(bench: Bench) -> None:
    eid = await bench.engine.start("sign", "contract")
    assert (await bench.engine.status(eid)).status is ExecutionStatus.PENDING
    owner = await bench.own(eid)
    await owner.append(ExecutionResumed(1))
    view = await bench.engine.status(eid)
    assert (view.status, view.epoch, view.owner) == (ExecutionStatus.RUNNING, 1, owner.lease.holder)
    await owner.suspend(OnChannel(f"{eid}.signature"))
    view = await bench.engine.status(eid)
    assert (view.status, view.owner) == (ExecutionStatus.SUSPENDED, None)
    assert view.waits_on == (OnChannel(f"{eid}.signature"),)
    await bench.clock.advance(5)
    await (await bench.own(eid)).complete(True)
    view = await bench.engine.status(eid)
    assert (view.status, view.value, view.ended_at) == (ExecutionStatus.COMPLETED, True, bench.world.now())


async def test_all_readings_are_the_same_after_archiving(bench: Bench) -> None:
    """RET-4."""
    eid = await bench.engine.start("greet", "Ada")
    owner = await bench.own(eid)
    await owner.append(FrameStarted("root/a#1", FrameKind.STEP, "a", ""))
    await owner.complete("hello Ada")
    before = await bench.engine.status(eid), await bench.engine.journal(eid)
    frames = (await bench.engine.frames(eid)).frames
    assert await bench.engine.archive(eid) is None
    await bench.engine.retention(0).run_once()
    await bench.clock.advance(2 * 86_400)
    await bench.engine.retention(0).run_once()
    assert await bench.ports.executions.get(eid) is None
    after = await bench.engine.status(eid)
    assert after.archived_at is not None
    assert (after.status, after.value, after.ended_at) == (before[0].status, before[0].value, before[0].ended_at)
    assert await bench.engine.journal(eid) == before[1]
    assert (await bench.engine.frames(eid)).frames == frames
    assert await bench.engine.result(eid) == "hello Ada"
    assert await bench.engine.archive(eid) is not None


async def test_readings_of_unknown_executions_are_refused(bench: Bench) -> None:
    nobody = bench.world.uuid7()
    for read in (bench.engine.status, bench.engine.journal, bench.engine.frames):
        with pytest.raises(UnknownExecution, match=str(nobody)):
            await read(nobody)


async def _nothing(eid: object, *, after: Position = START) -> JournalSlice:
    return JournalSlice((), after)


async def _both(*work: Awaitable[object]) -> list[object]:
    return await asyncio.gather(*work)
