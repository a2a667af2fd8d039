from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from flowli import codec
from flowli.domain.entries import ExecutionCreated
from flowli.domain.errors import (
    BadArguments,
    InvalidName,
    InvalidValue,
    PayloadTooLarge,
    UnknownWorkflow,
    UsageError,
)
from flowli.domain.execution import Execution
from flowli.domain.tasks import TaskKind
from flowli.runtime.config import EngineConfig
from flowli.runtime.protocols.retire import fold_away, purge
from flowli.runtime.protocols.standing import read_standing
from flowli.runtime.protocols.start import put_start, take_start

if TYPE_CHECKING:
    from .conftest import Bench


async def test_a_started_execution_has_a_task_that_carries_its_record(bench: Bench) -> None:
    """STA-1."""
    eid = await bench.engine.start("greet", "Ada", times=2)
    (task,) = await bench.tasks()
    record = await bench.ports.executions.get(eid)
    assert record is not None
    assert (task.kind, task.target, task.cause_at) == (TaskKind.START, eid, record.created_at)
    assert codec.load(Execution, task.payload) == record
    assert record.args == {"args": ["Ada", 2], "kwargs": {}}


async def test_the_control_log_tells_of_a_start_without_its_arguments(bench: Bench) -> None:
    """JRN-11, STA-21."""
    result = await bench.engine.start_result("greet", "Ada", announced=True)
    (created,) = await bench.control()
    assert isinstance(created, ExecutionCreated)
    assert (created.eid, created.workflow, created.version) == (result.eid, "greet", "1")
    assert created.args_digest == codec.digest({"args": ["Ada"], "kwargs": {}})
    assert result.control_seq == 1


async def test_a_timer_stands_for_the_execution_timeout(bench: Bench) -> None:
    eid = await bench.engine.start("greet", "Ada", timeout=90)
    (timer,) = await bench.ports.timers.pending()
    assert (timer.eid, timer.fid, (timer.due_at - bench.world.now()).total_seconds()) == (eid, "root", 90)


async def test_start_args_passes_parameters_that_have_the_name_of_an_option(bench: Bench) -> None:
    """STA-18."""
    result = await bench.engine.start_args("review", kwargs={"key": 1, "queue": "x"}, version="7", queue="people")
    record = await bench.ports.executions.get(result.eid)
    assert record is not None
    assert record.args == {"args": [], "kwargs": {"key": 1, "queue": "x"}}
    assert (record.queue, record.version) == ("people", "7")


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda e: e.start("gret", "Ada"), UnknownWorkflow, "'greet'"),
        (lambda e: e.start("greet", "Ada", version="9"), UnknownWorkflow, "'1'"),
        (lambda e: e.start("greet"), BadArguments, "'name'"),
        (lambda e: e.start("greet", "Ada", tims=2), BadArguments, "'tims'"),
        (lambda e: e.start("greet", object()), InvalidValue, "args.name"),
        (lambda e: e.start("other", float("nan"), version="1"), InvalidValue, r"args\[0\]"),
        (lambda e: e.start("greet", "Ada", queue="a b"), InvalidName, "queue"),
        (lambda e: e.start("greet", "Ada", key="a/b"), InvalidName, "key"),
        (lambda e: e.start("greet", "Ada", key="k", on_conflict="merge"), UsageError, "'reject'"),
        (lambda e: e.start("greet", "Ada", priority=100), UsageError, "priority"),
        (lambda e: e.start("greet", "Ada", timeout=0), UsageError, "timeout"),
        (lambda e: e.start("greet", "A" * 300_000), PayloadTooLarge, "max_value_bytes"),
    ],
)
async def test_bad_input_is_refused_and_nothing_is_stored(bench: Bench, call, error, words) -> None:  # type: ignore[no-untyped-def]
    """STA-6."""
    with pytest.raises(error, match=words):
        await call(bench.engine)
    assert await bench.is_empty()


async def test_a_limit_on_values_is_a_setting(bench: Bench) -> None:
    small = bench.new_engine(config=EngineConfig(max_value_bytes=50))
    with pytest.raises(PayloadTooLarge, match="50"):
        await small.start("greet", "A" * 100)


async def test_a_taken_start_writes_the_record_that_its_starter_did_not(bench: Bench) -> None:
    """STA-10."""
    eid = await bench.engine.start("greet", "Ada")
    record = await bench.ports.executions.get(eid)
    await bench.ports.executions.delete(eid)
    (task,) = await bench.tasks()
    assert await take_start(bench.ports, task) == record
    assert await bench.ports.executions.get(eid) == record


async def test_a_late_start_of_an_archived_execution_runs_nothing_and_leaves_nothing(bench: Bench) -> None:
    """STA-9."""
    eid = await bench.engine.start("greet", "Ada")
    (task,) = await bench.tasks()
    await (await bench.own(eid)).complete("hello Ada")
    standing = await read_standing(bench.ports, eid)
    await fold_away(bench.engine.services, standing, bench.by)
    await purge(bench.ports, eid)
    assert await take_start(bench.ports, task) is None
    await bench.ports.executions.put(codec.load(Execution, task.payload))
    assert await take_start(bench.ports, task) is None
    assert await bench.ports.executions.get(eid) is None


async def test_an_archive_written_while_a_start_is_taken_is_seen(bench: Bench) -> None:
    eid = await bench.engine.start("greet", "Ada")
    (task,) = await bench.tasks()
    await (await bench.own(eid)).complete("hello Ada")
    standing = await read_standing(bench.ports, eid)
    await bench.ports.executions.delete(eid)
    real = bench.ports.executions.put

    async def put(execution: Execution) -> bool:
        await fold_away(bench.engine.services, standing, bench.by)
        return await real(execution)

    bench.ports.executions.put = put  # type: ignore[method-assign]
    assert await take_start(bench.ports, task) is None
    assert await bench.ports.executions.get(eid) is None


async def test_a_start_whose_archive_may_have_expired_is_refused(bench: Bench) -> None:
    """STA-9."""
    eid = await bench.engine.start("greet", "Ada")
    (task,) = await bench.tasks()
    await bench.ports.executions.delete(eid)
    await bench.clock.advance(10)
    with pytest.raises(UsageError, match="neither record nor archive"):
        await take_start(bench.ports, task, oldest=bench.world.now())
    assert await bench.ports.executions.get(eid) is None


async def test_starts_at_once_make_one_execution_each(bench: Bench) -> None:
    eids = await asyncio.gather(*(bench.engine.start("greet", f"guest {n}") for n in range(20)))
    assert len(set(eids)) == 20
    assert sorted(task.target for task in await bench.tasks()) == sorted(eids)


async def test_putting_a_start_twice_is_one_task(bench: Bench) -> None:
    eid = await bench.engine.start("greet", "Ada")
    record = await bench.ports.executions.get(eid)
    assert record is not None
    await put_start(bench.ports, record, replace(bench.by, at=bench.world.now()))
    assert len(await bench.tasks()) == 1
