from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING, Any

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
from flowli.domain.provenance import Site
from flowli.domain.waits import OnChannel
from flowli.runtime.context import Context
from flowli.runtime.engine import Engine
from flowli.runtime.registry import Registry
from flowli.testing.clock import ManualWorld

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from flowli.domain.ids import Eid

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
        bench.engine.hub.changed(eid)

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


async def test_who_waits_in_the_owners_process_is_handed_the_end_and_reads_nothing(bench: Bench) -> None:
    """STA-20: callers of executions that one worker of their process runs for long."""
    reads: list[Eid] = []
    real = bench.ports.journal.read

    async def read(eid: Eid, **options: Any) -> JournalSlice:
        reads.append(eid)
        return await real(eid, **options)

    async def naps(ctx: Context) -> str:
        for _ in range(30):
            await ctx.sleep(0.5)
        return "rested"

    registry = Registry()
    registry.workflow(naps)
    engine = Engine(bench.ports, Site("one"), registry=registry, world=ManualWorld(bench.clock, name="one"))
    eids = [await engine.start("naps") for _ in range(4)]
    async with engine.worker() as worker:
        await bench.clock.settle()
        bench.ports.journal.read = read  # type: ignore[method-assign]
        waiting = asyncio.gather(*(engine.result(eid) for eid in eids * 10))
        assert await bench.clock.run(waiting) == ["rested"] * 40
        assert bench.world.monotonic_s() >= 15
        counts = Counter(reads)
        # once to see where it stands, once after ten seconds, and what the owner and its end need
        assert all(counts[eid] <= 2 * 10 + 5 for eid in eids)
        await bench.clock.run(worker.drain())


async def test_those_who_wait_for_other_processes_share_a_hundred_looks_a_second(bench: Bench) -> None:
    """STA-20: however many wait, and however often the journals grow."""
    eids = [await bench.engine.start("greet", "Ada") for _ in range(200)]
    owners = [await bench.own(eid) for eid in eids[:5]]
    reads: list[float] = []
    real = bench.ports.journal.read

    async def read(eid: Eid, **options: Any) -> JournalSlice:
        reads.append(bench.world.monotonic_s())
        return await real(eid, **options)

    waiting = [asyncio.ensure_future(bench.engine.result(eid, 30)) for eid in eids]
    await bench.clock.settle()
    bench.ports.journal.read = read  # type: ignore[method-assign]
    for owner in owners:
        await bench.clock.advance(5)
        await owner.append(FrameStarted("root/a#1", FrameKind.STEP, "a", "0" * 64))
        await owner.complete("hello")
    await bench.clock.advance(6)
    ends = await asyncio.gather(*waiting, return_exceptions=True)
    assert ends[:5] == ["hello"] * 5
    assert all(isinstance(end, ResultTimeout) for end in ends[5:])
    assert len(reads) <= 100 * 31 + len(eids)  # each looks once more when its time is up


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
