from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from flowli.domain.entries import (
    ExecutionResumed,
    ExecutionSuspended,
)
from flowli.domain.errors import BackendUnavailable
from flowli.domain.execution import ExecutionStatus
from flowli.domain.tasks import TaskKind
from flowli.domain.timers import Timer
from flowli.domain.waits import OnChannel, OnOperator
from flowli.runtime.config import EngineConfig
from flowli.runtime.protocols.twins import twins

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from .conftest import Bench

HOUR = 3600.0


async def test_a_due_timer_becomes_a_resume_at_its_due_time(bench: Bench) -> None:
    """WAI-8."""
    eid = await bench.engine.start("sign", "contract")
    await bench.drain()
    due, later = (Timer(bench.world.now() + timedelta(seconds=s), eid, f"root/sleep#{s}") for s in (5, 50))
    await bench.ports.timers.set(due)
    await bench.ports.timers.set(later)
    sweeper = bench.engine.sweeper()
    assert (await sweeper.sweep_once()).timers == 0
    await bench.clock.advance(20)
    assert (await sweeper.sweep_once()).timers == 1
    (task,) = await bench.tasks()
    assert (task.key, task.cause_at) == (f"timer:{due.timer_id}", due.due_at)
    assert await bench.ports.timers.pending() == [later]


async def test_a_timer_is_deleted_only_after_its_resume_is_durable(bench: Bench) -> None:
    """SWP-1."""
    eid = await bench.engine.start("sign", "contract")
    await bench.drain()
    await bench.ports.timers.set(Timer(bench.world.now(), eid, "root/sleep#1"))

    class Broken:
        def __getattr__(self, name: str) -> Any:
            return getattr(bench.ports.queue, name)

        async def enqueue(self, task: object) -> bool:
            raise BackendUnavailable("no answer")

    broken = bench.new_engine(ports=replace(bench.ports, queue=Broken()))  # type: ignore[arg-type]
    with pytest.raises(BackendUnavailable):
        await broken.sweeper().sweep_once()
    assert len(await bench.ports.timers.pending()) == 1
    assert (await bench.engine.sweeper().sweep_once()).timers == 1


async def test_more_timers_than_one_page_are_fired_in_one_pass(bench: Bench) -> None:
    eid = await bench.engine.start("sign", "contract")
    await bench.drain()
    for n in range(1005):
        await bench.ports.timers.set(Timer(bench.world.now(), eid, f"root/sleep#{n}"))
    assert (await bench.engine.sweeper().sweep_once()).timers == 1005
    assert await bench.ports.timers.pending() == []


async def test_an_execution_that_runs_too_long_is_asked_to_cancel_then_terminated(bench: Bench) -> None:
    """OPR-9."""
    eid = await bench.engine.start("sign", "contract", timeout=100)
    await bench.drain()
    owner = await bench.own(eid, ttl_s=1000)
    await owner.append(ExecutionResumed(1))
    sweepers = [bench.new_engine(name=name).sweeper() for name in ("a", "b")]
    await bench.clock.advance(99)
    await asyncio.gather(*(sweeper.sweep_once() for sweeper in sweepers))
    assert (await bench.ports.ownership.read(eid)).requests == ()  # type: ignore[union-attr]
    await bench.clock.advance(2)
    await asyncio.gather(*(sweeper.sweep_once() for sweeper in sweepers))
    lease = await bench.ports.ownership.read(eid)
    assert lease is not None
    assert [(request.verb, request.id) for request in lease.requests] == [("cancel", "timeout")]
    assert [task.key for task in await bench.drain()] == ["request:timeout"]
    await bench.clock.advance(28)
    await sweepers[0].sweep_once()
    assert (await bench.engine.status(eid)).status is ExecutionStatus.RUNNING
    await bench.clock.advance(2)
    await bench.clock.run(_all(*(sweeper.sweep_once() for sweeper in sweepers)))
    view = await bench.engine.status(eid)
    assert (view.status, view.reason) == (ExecutionStatus.CANCELLED, "its timeout of 100 s has passed")
    assert not (await bench.engine.frames(eid)).anomalies
    assert await bench.ports.timers.pending() == []


async def test_the_timeout_of_an_execution_that_ended_in_time_does_nothing(bench: Bench) -> None:
    eid = await bench.engine.start("greet", "Ada", timeout=100)
    await bench.drain()
    await (await bench.own(eid)).complete("done")
    await bench.clock.advance(200)
    await bench.engine.sweeper().sweep_once()
    assert (await bench.engine.status(eid)).status is ExecutionStatus.COMPLETED
    assert (await bench.ports.timers.pending(), await bench.tasks()) == ([], [])


async def test_delayed_tasks_are_made_ready_when_due(bench: Bench) -> None:
    """SWP-3."""
    eid = await bench.engine.start("sign", "contract")
    (start,) = await bench.drain()
    await bench.ports.queue.enqueue(replace(start, not_before=bench.world.now() + timedelta(seconds=10)))
    sweeper = bench.engine.sweeper()
    await sweeper.sweep_once()
    assert await bench.ports.queue.dequeue("default", "w", 30.0) == []
    await bench.clock.advance(10)
    assert (await sweeper.sweep_once()).promoted == 1
    assert [lease.task.target for lease in await bench.ports.queue.dequeue("default", "w", 30.0)] == [eid]


async def test_an_execution_whose_owner_vanished_is_resumed_once(bench: Bench) -> None:
    """SWP-2."""
    owner = await bench.running()
    sweeper = bench.engine.sweeper()
    assert (await sweeper.sweep_once()).resumed == 0
    await bench.clock.advance(29)
    assert (await sweeper.sweep_once()).resumed == 0
    assert (await bench.engine.sweeper().sweep_once()).resumed == 0
    await bench.clock.advance(2)
    assert (await sweeper.sweep_once()).resumed == 1
    last = (await bench.engine.journal(owner.execution.eid))[-1]
    (task,) = await bench.tasks()
    assert (task.key, task.cause_at) == ("expired:1", last.at)
    await bench.clock.advance(300)
    assert (await sweeper.sweep_once()).resumed == 0
    assert (await bench.engine.sweeper().sweep_once()).resumed == 0


async def test_an_owner_that_renews_is_left_alone_and_seldom_looked_at(bench: Bench) -> None:
    """SWP-2."""
    owner = await bench.running()
    sweeper, reads = bench.engine.sweeper(), 0
    real = bench.ports.ownership.read

    async def read(eid):  # type: ignore[no-untyped-def]
        nonlocal reads
        reads += 1
        return await real(eid)

    bench.ports.ownership.read = read  # type: ignore[method-assign]
    for _ in range(60):
        await bench.clock.advance(5)
        owner.lease = await bench.ports.ownership.renew(owner.lease)
        assert (await sweeper.sweep_once()).resumed == 0
    assert reads <= 15


async def test_an_execution_that_waits_for_a_worker_is_looked_at_less_and_less(bench: Bench) -> None:
    await bench.running()
    sweeper, looks = bench.engine.sweeper(), 0
    real = bench.ports.executions.get

    async def get(eid):  # type: ignore[no-untyped-def]
        nonlocal looks
        looks += 1
        return await real(eid)

    bench.ports.executions.get = get  # type: ignore[method-assign]
    for _ in range(12 * 60):
        await bench.clock.advance(60)
        await sweeper.sweep_once()
    assert 12 <= looks <= 20


async def test_a_lost_start_is_put_again(bench: Bench) -> None:
    """STA-2."""
    eid = await bench.engine.start("greet", "Ada")
    (start,) = await bench.drain()
    sweeper = bench.engine.sweeper()
    assert (await sweeper.sweep_once()).restarted == 0
    await bench.clock.advance(31)
    assert (await sweeper.sweep_once()).restarted == 1
    (task,) = await bench.tasks()
    assert (task.kind, task.target, task.payload) == (TaskKind.START, eid, start.payload)
    await bench.clock.advance(600)
    assert (await sweeper.sweep_once()).restarted == 0


async def test_a_start_that_somebody_is_running_is_not_put_again(bench: Bench) -> None:
    eid = await bench.engine.start("greet", "Ada")
    await bench.drain()
    await bench.own(eid, ttl_s=1000)
    sweeper = bench.engine.sweeper()
    await sweeper.sweep_once()
    await bench.clock.advance(100)
    assert (await sweeper.sweep_once()).restarted == 0


@pytest.mark.parametrize("ended", [True, False])
async def test_a_twin_that_a_crash_left_out_is_posted(bench: Bench, ended: bool) -> None:
    """JRN-7."""
    owner = await bench.running()
    eid = owner.execution.eid
    if ended:
        await owner.complete(True, twin=False)
    else:
        await owner.suspend(OnOperator("paused", "audit"), twin=False)
    sweeper = bench.engine.sweeper()
    await bench.clock.run(sweeper.sweep_once())
    await bench.clock.advance(31)
    assert (await sweeper.sweep_once()).twins == 1
    expected = ExecutionStatus.COMPLETED if ended else ExecutionStatus.SUSPENDED
    assert (await bench.statuses(eid))[-1].status is expected
    assert await bench.tasks() == []
    await bench.clock.advance(31)
    assert (await sweeper.sweep_once()).idle


async def test_the_markers_of_an_execution_that_ended_are_removed(bench: Bench) -> None:
    owner = await bench.running()
    eid = owner.execution.eid
    await owner.suspend(OnChannel("closing"))
    sweeper = bench.engine.sweeper()
    await sweeper.sweep_once()
    await (await bench.own(eid)).complete(True)
    assert (await sweeper.sweep_once()).markers == 1
    assert await bench.ports.channel.markers("closing") == []


async def test_two_sweepers_at_once_do_what_one_does(bench: Bench) -> None:
    """WAI-10."""
    owner = await bench.running()
    lost = await bench.engine.start("greet", "Ada")
    await bench.drain()
    await bench.ports.timers.set(Timer(bench.world.now(), owner.execution.eid, "root/sleep#1"))
    sweepers = [bench.new_engine(name=name).sweeper() for name in ("a", "b")]
    for _ in range(2):
        await asyncio.gather(*(sweeper.sweep_once() for sweeper in sweepers))
        await bench.clock.advance(31)
    await asyncio.gather(*(sweeper.sweep_once() for sweeper in sweepers))
    tasks = await bench.tasks()
    assert sorted(task.reason for task in tasks) == ["expired", "start", "timer"]
    assert len({task.task_id for task in tasks}) == 3
    assert lost in {task.target for task in tasks}


async def test_a_pass_over_what_is_idle_reads_no_journal(bench: Bench) -> None:
    """SWP-6."""
    for _ in range(20):
        owner = await bench.running()
        await owner.suspend(OnChannel(f"{owner.execution.eid}.signature"))
    sweeper = bench.new_engine(config=EngineConfig(audit_period_s=1e9)).sweeper()
    await sweeper.sweep_once()

    async def refuse(*_: object, **__: object) -> Any:
        raise AssertionError("a pass without changes looked at an execution")

    bench.ports.journal.read = refuse  # type: ignore[method-assign]
    bench.ports.ownership.read = refuse  # type: ignore[method-assign]
    for _ in range(10):
        await bench.clock.advance(60)
        assert (await sweeper.sweep_once()).idle


async def test_a_look_that_fails_is_taken_again(bench: Bench) -> None:
    await bench.running()
    sweeper = bench.engine.sweeper()
    await sweeper.sweep_once()
    await bench.clock.advance(31)
    real = bench.ports.ownership.read

    async def broken(eid: object) -> Any:
        raise BackendUnavailable("no answer")

    bench.ports.ownership.read = broken  # type: ignore[method-assign, assignment]
    with pytest.raises(BackendUnavailable):
        await sweeper.sweep_once()
    bench.ports.ownership.read = real  # type: ignore[method-assign]
    await bench.clock.advance(31)
    assert (await sweeper.sweep_once()).resumed == 1


async def test_jobs_run_in_each_pass_and_one_that_fails_stops_nothing(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SWP-9."""
    monkeypatch.setattr("flowli.runtime.sweeper.plugin_jobs", lambda: ())
    done: list[str] = []

    async def good(engine: object) -> None:
        done.append("good")

    async def bad(engine: object) -> None:
        raise ValueError("bad job")

    sweeper = bench.engine.sweeper(jobs=[bad, good])
    assert (await sweeper.sweep_once()).jobs == 1
    assert done == ["good"]


async def test_a_running_sweeper_survives_an_unavailable_backend_and_stops_when_told(bench: Bench) -> None:
    sweeper, passes = bench.engine.sweeper(), 0
    real = bench.ports.timers.due

    async def due(now, *, limit=1000):  # type: ignore[no-untyped-def]
        nonlocal passes
        passes += 1
        if passes == 1:
            raise BackendUnavailable("no answer")
        return await real(now, limit=limit)

    bench.ports.timers.due = due  # type: ignore[method-assign]

    async def stop() -> None:
        await bench.world.sleep(10)
        sweeper.stop()

    async def both() -> None:
        await asyncio.gather(sweeper.run(interval_s=1), stop())

    await bench.clock.run(both())
    assert 9 <= passes <= 11


async def test_the_suspension_named_by_a_late_twin_does_not_hide_a_newer_one(bench: Bench) -> None:
    owner = await bench.running()
    old = await owner.append(ExecutionSuspended((), 1), twin=False)
    await (await bench.own(owner.execution.eid)).complete(True)
    await bench.ports.control.append(twins(old, owner.execution.eid))
    sweeper = bench.engine.sweeper()
    await sweeper.sweep_once()
    await bench.clock.advance(100)
    assert (await sweeper.sweep_once()).idle
    assert await bench.tasks() == []


async def _all(*work: Awaitable[object]) -> list[object]:
    return await asyncio.gather(*work)


async def test_an_execution_that_ends_in_its_grace_leaves_no_timer(bench: Bench) -> None:
    eid = await bench.engine.start("sign", "contract", timeout=100)
    await bench.work()
    sweeper = bench.engine.sweeper()
    await bench.clock.advance(101)
    await sweeper.sweep_once()
    assert len(await bench.ports.timers.pending()) == 1
    await bench.work()
    assert (await bench.engine.status(eid)).status is ExecutionStatus.CANCELLED
    assert await bench.ports.timers.pending() == []
