from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from flowli.domain.channels import Message, WaitMarker
from flowli.domain.entries import (
    ExecutionCompleted,
    FrameFulfilled,
    FrameStarted,
)
from flowli.domain.execution import Execution
from flowli.domain.frames import FrameKind
from flowli.domain.ids import child_eid
from flowli.domain.ports import LeaseRequest
from flowli.domain.waits import OnChannel, OnChild, OnOperator, OnTimer
from flowli.runtime.protocols.start import put_start
from flowli.runtime.sweeper import Sweeper

if TYPE_CHECKING:
    from .conftest import Bench

HOUR = 3600.0


async def audited(bench: Bench, sweeper: Sweeper) -> Any:
    """What the audits of one period did, in all."""
    total = await sweeper.sweep_once()
    for _ in range(61):
        await bench.clock.advance(60)
        report = await sweeper.sweep_once()
        total.audited += report.audited
        total.woken += report.woken
        total.markers += report.markers
    return total


async def test_a_message_whose_sender_crashed_before_it_woke_anyone_is_found(bench: Bench) -> None:
    """SWP-5."""
    owner = await bench.running()
    eid, channel = owner.execution.eid, f"{owner.execution.eid}.signature"
    await owner.suspend(OnChannel(channel))
    await bench.ports.channel.send(Message("m", channel, None, bench.by))
    assert (await audited(bench, bench.engine.sweeper())).woken == 1
    last = (await bench.engine.journal(eid))[-1]
    (task,) = await bench.tasks()
    assert (task.key, task.cause_at) == (f"audit:{last.seq}", last.at)


async def test_a_message_that_was_consumed_wakes_nobody(bench: Bench) -> None:
    owner = await bench.running()
    channel = f"{owner.execution.eid}.signature"
    await bench.ports.channel.send(Message("m", channel, None, bench.by))
    on = OnChannel(channel)
    await owner.append(FrameStarted("root/r#1", FrameKind.RECEIVE, "r", ""), FrameFulfilled("root/r#1", 1, on, 1, 1))
    await owner.suspend(on)
    total = await audited(bench, bench.engine.sweeper())
    assert (total.audited >= 1, total.woken) == (True, 0)


async def test_a_request_whose_sender_crashed_before_its_resume_is_found(bench: Bench) -> None:
    """SWP-5."""
    owner = await bench.running()
    await owner.suspend(OnOperator("paused", "audit"))
    await bench.ports.ownership.request(owner.execution.eid, LeaseRequest("c", "cancel", bench.by))
    assert (await audited(bench, bench.engine.sweeper())).woken == 1
    assert [task.key for task in await bench.tasks()] == ["request:c"]


async def test_the_end_of_a_child_that_nobody_was_told_of_is_found(bench: Bench) -> None:
    """CHD-6."""
    owner = await bench.running()
    child = child_eid(owner.execution.eid, "root/sign#1")
    await put_start(bench.ports, Execution(child, "sign", "1", {}, bench.by), bench.by)
    await bench.drain()
    await owner.suspend(OnChild(child))
    sweeper = bench.engine.sweeper()
    assert (await audited(bench, sweeper)).woken == 0
    await (await bench.own(child)).append(ExecutionCompleted(True))
    assert (await audited(bench, sweeper)).woken == 1


async def test_a_timer_that_was_lost_is_found(bench: Bench) -> None:
    """SWP-5."""
    owner = await bench.running()
    await owner.suspend(OnTimer(bench.world.now() + timedelta(seconds=100)))
    assert (await audited(bench, bench.engine.sweeper())).woken == 1


async def test_parked_executions_are_left_to_the_operator(bench: Bench) -> None:
    """SWP-7."""
    owner = await bench.running()
    await bench.engine.signal(owner.execution.eid, "signature")
    await owner.suspend(OnOperator("nondeterminism", "a became b"), OnChannel(f"{owner.execution.eid}.signature"))
    total = await audited(bench, bench.engine.sweeper())
    assert (total.audited >= 1, total.woken) == (True, 0)
    assert await bench.tasks() == []


async def test_a_marker_that_no_frame_waits_for_is_cleared_and_others_are_kept(bench: Bench) -> None:
    """SWP-4."""
    owner = await bench.running()
    eid, channel = owner.execution.eid, bench.ports.channel
    await owner.append(
        FrameStarted("root/r#1", FrameKind.RECEIVE, "r", ""),
        FrameFulfilled("root/r#1", 1, OnChannel("old"), 1),
        FrameFulfilled("root/r#1", 1, OnChannel("new"), 1),
    )
    await channel.mark(WaitMarker("old", eid, 1, ("root/r#1",)))
    await channel.mark(WaitMarker("new", eid, 2, ("root/r#1",)))
    await owner.suspend(OnChannel("closing"))
    assert (await audited(bench, bench.engine.sweeper())).markers == 1
    assert await channel.marker("old", eid) is None
    assert await channel.marker("new", eid) is not None
    assert await channel.marker("closing", eid) is not None


async def test_audits_are_spread_over_the_period(bench: Bench) -> None:
    """SWP-5."""
    for _ in range(60):
        owner = await bench.running()
        await owner.suspend(OnOperator("paused", "audit"))
    sweeper, counts = bench.engine.sweeper(), []
    for _ in range(60):
        counts.append((await sweeper.sweep_once()).audited)
        await bench.clock.advance(60)
    assert 50 <= sum(counts) <= 60
    assert max(counts) < 10
