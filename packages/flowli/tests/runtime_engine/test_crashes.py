"""A process that dies between any two of its writes: the same call by another one, or the sweeper, makes it good."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from flowli.domain.entries import ExecutionCancelled, ExecutionCreated, ExecutionMigrated
from flowli.domain.execution import ExecutionStatus
from flowli.domain.ids import Eid
from flowli.domain.tasks import TaskKind
from flowli.domain.waits import OnChannel, OnOperator
from flowli.runtime.protocols.start import take_start

if TYPE_CHECKING:
    from flowli.runtime.engine import Engine

    from .conftest import Bench


async def swept(bench: Bench) -> None:
    """Let a sweeper do all that it would do in two audit periods."""
    sweeper = bench.new_engine(name="sweeper").sweeper()
    for _ in range(125):
        await bench.clock.run(sweeper.sweep_once())
        await bench.clock.advance(60)


async def suspended(bench: Bench, *, version: str = "1") -> Eid:
    eid = await bench.engine.start("sign", "contract", version=version)
    await bench.drain()
    await (await bench.own(eid)).suspend(OnChannel(f"{eid}.signature"))
    return eid


@pytest.mark.parametrize("writes", range(7))
async def test_a_start_of_which_a_task_is_durable_runs(bench: Bench, writes: int) -> None:
    """STA-2."""
    died = await bench.dies_after(writes, lambda engine: engine.start("greet", "Ada", timeout=50, announced=True))
    assert died == (writes < 4)
    tasks = await bench.tasks()
    assert len(tasks) == (writes >= 2)
    for task in tasks:
        execution = await take_start(bench.ports, task)
        assert execution is not None
        assert await bench.ports.executions.get(task.target) == execution


@pytest.mark.parametrize("writes", range(7))
async def test_a_keyed_start_is_finished_by_the_same_call(bench: Bench, writes: int) -> None:
    async def start(engine: Engine) -> None:
        await engine.start("greet", "Ada", key="k", announced=True)

    died = await bench.dies_after(writes, start)
    assert died == (writes < 4)
    await bench.clock.run(start(bench.engine))
    (task,) = await bench.tasks()
    claim = await bench.ports.dispatch.read_start("k")
    assert claim is not None
    assert (task.kind, task.target) == (TaskKind.START, claim.eid)
    assert (await bench.engine.status(claim.eid)).execution.created_by == claim.created_by
    assert {body.eid for body in await bench.control() if isinstance(body, ExecutionCreated)} == {claim.eid}


@pytest.mark.parametrize("writes", range(20))
async def test_a_replacement_is_finished_by_the_same_call(bench: Bench, writes: int) -> None:
    old = await bench.engine.start("greet", "Ada", key="k")

    async def replaced(engine: Engine) -> None:
        await engine.start_args("greet", ["Bob"], key="k", on_conflict="replace", request="r", announced=True)

    await bench.dies_after(writes, replaced)
    await bench.clock.advance(40)
    await bench.clock.run(replaced(bench.engine))
    claim = await bench.ports.dispatch.read_start("k")
    assert claim is not None
    assert claim.eid != old
    assert (await bench.engine.status(old)).status is ExecutionStatus.CANCELLED
    live = [task.target for task in await bench.tasks() if task.kind is TaskKind.START and task.target != old]
    assert live == [claim.eid]


@pytest.mark.parametrize("writes", range(5))
async def test_a_keyed_signal_is_finished_by_the_same_call(bench: Bench, writes: int) -> None:
    eid = await suspended(bench)

    async def signal(engine: Engine) -> None:
        await engine.signal(eid, "signature", "yes", key="form:7")

    assert await bench.dies_after(writes, signal) == (writes < 2)
    await signal(bench.engine)
    assert len((await bench.ports.channel.read(f"{eid}.signature")).messages) == 1
    assert await bench.reasons() == ["message"]


@pytest.mark.parametrize("writes", range(1, 5))
@pytest.mark.parametrize("repeat", [True, False])
async def test_a_cancel_of_which_the_request_is_durable_is_delivered(bench: Bench, writes: int, repeat: bool) -> None:
    """OPR-10."""
    eid = await suspended(bench)

    async def cancel(engine: Engine) -> None:
        await engine.cancel(eid, "enough", key="c")

    assert await bench.dies_after(writes, cancel) == (writes < 3)
    if repeat:
        await bench.clock.run(cancel(bench.engine))
    else:
        await swept(bench)
    assert "request:c" in {task.key for task in await bench.tasks()}


@pytest.mark.parametrize("writes", range(12))
@pytest.mark.parametrize("repeat", [True, False])
async def test_a_termination_is_finished_by_the_same_call_and_shown_by_the_sweeper(
    bench: Bench, writes: int, repeat: bool
) -> None:
    """OPR-10."""
    eid = await suspended(bench)

    async def terminate(engine: Engine) -> None:
        await engine.terminate(eid, "enough", key="t")

    await bench.dies_after(writes, terminate)
    await bench.clock.advance(40)
    if repeat:
        await bench.clock.run(terminate(bench.engine))
        assert await bench.ports.channel.marker(f"{eid}.signature", eid) is None
        assert await bench.tasks() == []
    else:
        await swept(bench)
    ends = [entry for entry in await bench.engine.journal(eid) if isinstance(entry.body, ExecutionCancelled)]
    assert len(ends) <= 1
    if repeat or ends:
        assert (await bench.statuses(eid))[-1].status is ExecutionStatus.CANCELLED
    assert not (await bench.engine.frames(eid)).anomalies


@pytest.mark.parametrize("writes", range(12))
@pytest.mark.parametrize("repeat", [True, False])
async def test_a_migration_is_finished_by_the_same_call_and_woken_by_the_sweeper(
    bench: Bench, writes: int, repeat: bool
) -> None:
    eid = await bench.engine.start("sign", "contract", version="1")
    await bench.drain()
    await (await bench.own(eid)).suspend(OnOperator("nondeterminism", "a became b"))

    async def migrate(engine: Engine) -> None:
        await engine.migrate(eid, "2", "fixed", key="m")

    await bench.dies_after(writes, migrate)
    await bench.clock.advance(40)
    if repeat:
        await bench.clock.run(migrate(bench.engine))
    else:
        await swept(bench)
    moved = [entry for entry in await bench.engine.journal(eid) if isinstance(entry.body, ExecutionMigrated)]
    assert len(moved) <= 1
    assert not (await bench.engine.frames(eid)).anomalies
    if repeat or moved:
        view: Any = await bench.engine.status(eid)
        assert (view.version, view.waits_on) == ("2", ())
        assert "audit" in await bench.reasons()
        assert (await bench.statuses(eid))[-1].on == ()
