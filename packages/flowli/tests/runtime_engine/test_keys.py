from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from flowli.domain.entries import ExecutionCancelled, ExecutionCreated
from flowli.domain.errors import BackendUnavailable, DispatchConflict
from flowli.domain.execution import Execution, ExecutionStatus
from flowli.domain.ids import Eid
from flowli.domain.ports import Ports

if TYPE_CHECKING:
    from flowli.runtime.engine import Engine

    from .conftest import Bench


async def half_done(bench: Bench, key: str, name: str, **options: Any) -> None:
    """A start whose caller died right after the claim."""

    class Dead:
        async def enqueue(self, task: object) -> bool:
            raise BackendUnavailable("the caller died here")

        async def set(self, timer: object) -> None:
            raise BackendUnavailable("the caller died here")

    ports: Ports = replace(bench.ports, queue=Dead(), timers=Dead())  # type: ignore[arg-type]
    with pytest.raises(BackendUnavailable):
        await bench.new_engine(ports=ports, name="dying").start("greet", name, key=key, **options)


async def finish(bench: Bench, eid: Eid) -> None:
    await (await bench.own(eid)).complete("done")


async def test_two_starts_with_one_key_are_one_execution(bench: Bench) -> None:
    """STA-3."""
    first = await bench.engine.start_result("greet", "Ada", key="order:17@eu")
    second = await bench.engine.start_result("greet", "Ada", key="order:17@eu")
    assert (second.eid, first.joined, second.joined) == (first.eid, False, True)
    assert len(await bench.tasks()) == 1


async def test_starts_with_one_key_at_once_are_one_execution(bench: Bench) -> None:
    """STA-3."""
    engines = [bench.new_engine(name=f"node-{n}") for n in range(10)]
    eids = await asyncio.gather(*(engine.start("greet", "Ada", key="k") for engine in engines))
    assert len(set(eids)) == 1
    assert len(await bench.tasks()) == 1


async def test_joining_a_finished_execution_gives_its_id(bench: Bench) -> None:
    eid = await bench.engine.start("greet", "Ada", key="k")
    await bench.drain()
    await finish(bench, eid)
    assert await bench.engine.start("greet", "Ada", key="k") == eid
    assert await bench.tasks() == []


async def test_a_version_registered_since_joins(bench: Bench) -> None:
    eid = await bench.engine.start("sign", "contract", key="k", version="1")
    assert await bench.engine.start("sign", "contract", key="k") == eid


@pytest.mark.parametrize("policy", ["join", "allow_after_finish", "reject"])
async def test_other_arguments_or_another_workflow_under_a_live_key_are_refused(bench: Bench, policy: str) -> None:
    """STA-4."""
    eid = await bench.engine.start("greet", "Ada", key="k")
    with pytest.raises(DispatchConflict, match=str(eid)):
        await bench.engine.start("greet", "Bob", key="k", on_conflict=policy)
    with pytest.raises(DispatchConflict, match="'greet'"):
        await bench.engine.start("sign", "contract", key="k", on_conflict=policy)
    assert len(await bench.tasks()) == 1


async def test_another_timeout_under_a_live_key_is_refused(bench: Bench) -> None:
    await bench.engine.start("greet", "Ada", key="k", timeout=5)
    with pytest.raises(DispatchConflict, match=r"another timeout \(5 s, here 6 s\)"):
        await bench.engine.start("greet", "Ada", key="k", timeout=6)


async def test_who_names_no_timeout_joins_whatever_timeout_stands(bench: Bench) -> None:
    eid = await bench.engine.start("greet", "Ada", key="k", timeout=5)
    assert await bench.engine.start("greet", "Ada", key="k") == eid


async def test_a_half_done_start_keeps_its_timeout_whoever_finishes_it(bench: Bench) -> None:
    await half_done(bench, "k", "Ada", timeout=50)
    eid = await bench.engine.start("greet", "Ada", key="k")
    record = await bench.ports.executions.get(eid)
    assert record is not None
    assert record.timeout_s == 50
    assert [timer.due_at for timer in await bench.ports.timers.pending()] == [record.created_at + timedelta(seconds=50)]


@pytest.mark.parametrize("policy", ["join", "reject", "allow_after_finish", "replace"])
@pytest.mark.parametrize("writes", range(16))
async def test_a_crash_under_any_policy_is_made_good_by_the_same_call(bench: Bench, policy: str, writes: int) -> None:
    old = await bench.engine.start("greet", "Ada", key="other" if policy == "reject" else "k")
    if policy == "allow_after_finish":
        await bench.work()

    async def again(engine: Engine) -> Eid:
        name = "Ada" if policy in ("join", "reject") else "Bob"
        started = await engine.start_args("greet", [name], key="k", on_conflict=policy, request="r", announced=True)
        return started.eid

    await bench.dies_after(writes, again)
    await bench.clock.advance(40)
    eid = await bench.clock.run(again(bench.engine))
    assert (eid == old) == (policy == "join")
    assert await bench.clock.run(again(bench.engine)) == eid
    await bench.work()
    assert (await bench.engine.status(eid)).status is ExecutionStatus.COMPLETED
    ran = {entry.eid for entry in await bench.control() if isinstance(entry, ExecutionCreated)}
    assert ran == {old, eid}


async def test_reject_refuses_even_the_same(bench: Bench) -> None:
    """STA-11."""
    await bench.engine.start("greet", "Ada", key="k", on_conflict="reject")
    with pytest.raises(DispatchConflict, match="'join'"):
        await bench.engine.start("greet", "Ada", key="k", on_conflict="reject")


async def test_the_same_request_joins_what_it_started(bench: Bench) -> None:
    """STA-12."""
    for policy in ("reject", "replace", "allow_after_finish"):
        first = await bench.engine.start_args("greet", ["Ada"], key=policy, on_conflict=policy, request="r")
        again = await bench.engine.start_args("greet", ["Ada"], key=policy, on_conflict=policy, request="r")
        assert (again.eid, again.joined) == (first.eid, True)


async def test_allow_after_finish_joins_while_it_runs_and_starts_anew_after(bench: Bench) -> None:
    """STA-11."""
    first = await bench.engine.start("greet", "Ada", key="k", on_conflict="allow_after_finish")
    assert await bench.engine.start("greet", "Ada", key="k", on_conflict="allow_after_finish") == first
    await finish(bench, first)
    second = await bench.engine.start("greet", "Bob", key="k", on_conflict="allow_after_finish")
    assert second != first
    claim = await bench.ports.dispatch.read_start("k")
    assert claim is not None
    assert (claim.eid, claim.generation) == (second, 2)


async def test_of_many_that_start_anew_at_once_one_wins_and_the_others_join(bench: Bench) -> None:
    first = await bench.engine.start("greet", "Ada", key="k")
    await finish(bench, first)
    engines = [bench.new_engine(name=f"node-{n}") for n in range(8)]
    again = [engine.start("greet", "Ada", key="k", on_conflict="allow_after_finish") for engine in engines]
    eids = set(await asyncio.gather(*again))
    assert len(eids) == 1
    assert first not in eids


async def test_replace_ends_the_old_execution_before_the_key_leads_to_the_new_one(bench: Bench) -> None:
    """STA-12."""
    old = await bench.engine.start("greet", "Ada", key="k")
    new = await bench.engine.start("sign", "contract", key="k", on_conflict="replace")
    assert (await bench.engine.status(old)).status is ExecutionStatus.CANCELLED
    assert (await bench.engine.status(new)).status is ExecutionStatus.PENDING
    end = (await bench.engine.journal(old))[-1].body
    assert isinstance(end, ExecutionCancelled)
    assert str(new) in end.reason


async def test_a_claim_without_anything_else_is_finished_by_the_next_caller(bench: Bench) -> None:
    """STA-13."""
    await half_done(bench, "k", "Ada")
    claim = await bench.ports.dispatch.read_start("k")
    assert claim is not None
    assert await bench.ports.executions.get(claim.eid) is None
    joined = await bench.engine.start_result("greet", "Ada", key="k")
    assert (joined.eid, joined.joined) == (claim.eid, True)
    record = await bench.ports.executions.get(claim.eid)
    assert record is not None
    assert (record.created_by, record.dispatch_key) == (claim.created_by, "k")
    assert [task.target for task in await bench.tasks()] == [claim.eid]


async def test_all_finishers_of_one_start_write_the_same(bench: Bench) -> None:
    """STA-13."""
    await half_done(bench, "k", "Ada")
    written: list[Execution] = []
    real = bench.ports.executions.put

    async def put(execution: Execution) -> bool:
        written.append(execution)
        return await real(execution)

    bench.ports.executions.put = put  # type: ignore[method-assign]
    engines = [bench.new_engine(name=f"node-{n}") for n in range(5)]
    await asyncio.gather(*(engine.start("greet", "Ada", key="k") for engine in engines))
    assert len(written) > 1
    assert len({repr(record) for record in written}) == 1


async def test_replacing_a_half_done_start_with_other_arguments_means_that_it_never_runs(bench: Bench) -> None:
    await half_done(bench, "k", "Ada")
    claim = await bench.ports.dispatch.read_start("k")
    assert claim is not None
    new = await bench.engine.start("greet", "Bob", key="k", on_conflict="replace")
    assert (await bench.engine.status(claim.eid)).status is ExecutionStatus.CANCELLED
    assert (await bench.ports.dispatch.read_start("k")).eid == new  # type: ignore[union-attr]


async def test_a_joiner_puts_the_start_of_an_execution_that_nobody_has_begun(bench: Bench) -> None:
    eid = await bench.engine.start("greet", "Ada", key="k")
    await bench.drain()
    await bench.engine.start("greet", "Ada", key="k")
    assert [task.target for task in await bench.tasks()] == [eid]


async def test_a_folded_key_is_finished_although_nothing_else_is_left(bench: Bench) -> None:
    eid = await bench.engine.start("greet", "Ada", key="k")
    await bench.drain()
    await finish(bench, eid)
    retention: Any = bench.engine.retention(0)
    await retention.run_once()
    await bench.clock.advance(40 * 86_400)
    await bench.engine.retention(0).run_once()
    assert await bench.ports.archive.get(eid) is None
    assert await bench.engine.start("greet", "Ada", key="k") == eid
    assert await bench.tasks() == []
