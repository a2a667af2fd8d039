from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from flowli.domain.errors import InvalidName, LeaseLost, NotAllowed, UsageError
from flowli.domain.execution import ExecutionStatus
from flowli.domain.ids import role_eid
from flowli.domain.memo import JournalFold
from flowli.runtime.config import EngineConfig
from flowli.runtime.context import Context
from flowli.runtime.protocols.named_lease import leave_lease, take_lease
from flowli.runtime.registry import Registry

if TYPE_CHECKING:
    from flowli.runtime.engine import Engine

    from .conftest import Bench

registry = Registry()
inside: list[str] = []
seen: list[tuple[str, int]] = []


def enter(name: str, epoch: int) -> None:
    inside.append(name)
    seen.append((name, epoch))
    assert len(inside) == 1, f"{inside} are in the block at once"


def leave(name: str) -> None:
    inside.remove(name)


@registry.workflow
async def guarded(ctx: Context, name: str, fail: bool = False) -> int:
    async with ctx.lease("repo:main") as held:
        await ctx.step(enter, name, held.epoch)
        if not fail:
            await ctx.receive("leave")
        await ctx.step(leave, name)
        if fail:
            raise RuntimeError("it failed inside")
    return held.epoch


@registry.workflow
async def patient(ctx: Context, name: str, limit: int) -> str:
    try:
        async with asyncio.timeout(limit):
            async with ctx.lease("repo:main"):
                return "entered"
    except TimeoutError:
        return "gave up"


@pytest.fixture(autouse=True)
def empty() -> None:
    inside.clear()
    seen.clear()


async def started(bench: Bench, workflow: str, *args: Any) -> Any:
    eid = await bench.engine.start(workflow, *args, version="1")
    await bench.work(registry=registry)
    return eid


async def left(bench: Bench, eid: Any) -> None:
    await bench.engine.signal(eid, "leave")
    await bench.work(registry=registry)


async def test_only_one_execution_is_in_the_block_and_the_others_come_in_the_order_of_the_line(bench: Bench) -> None:
    """OWN-21."""
    eids = [await started(bench, "guarded", name) for name in "abcd"]
    assert inside == ["a"]
    for n, eid in enumerate(eids):
        await left(bench, eid)
        assert inside == ["abcd"[n + 1 : n + 2]][: len(eids) - n - 1]
    results = [await bench.engine.result(eid) for eid in eids]
    assert [name for name, _ in seen] == list("abcd")
    assert results == sorted(set(results))
    for eid in eids:
        assert not (await bench.engine.frames(eid)).anomalies


async def test_it_is_held_while_its_worker_is_gone(bench: Bench) -> None:
    first = await started(bench, "guarded", "a")
    await bench.clock.advance(3 * 86_400)
    second = await started(bench, "guarded", "b")
    assert inside == ["a"]
    await left(bench, first)
    assert inside == ["b"]
    await left(bench, second)


async def test_it_is_let_go_when_the_block_fails(bench: Bench) -> None:
    first = await started(bench, "guarded", "a", True)
    assert (await bench.engine.status(first)).status is ExecutionStatus.FAILED
    second = await started(bench, "guarded", "b")
    assert inside == ["b"]
    await left(bench, second)
    assert await bench.engine.result(second) > 0


async def test_an_execution_that_is_cancelled_inside_lets_it_go(bench: Bench) -> None:
    first = await started(bench, "guarded", "a")
    second = await started(bench, "guarded", "b")
    inside.clear()
    await bench.engine.cancel(first)
    await bench.work(registry=registry)
    assert (await bench.engine.status(first)).status is ExecutionStatus.CANCELLED
    assert inside == ["b"]
    await left(bench, second)


async def test_an_execution_that_is_terminated_inside_no_longer_holds_it(bench: Bench) -> None:
    first = await started(bench, "guarded", "a")
    await started(bench, "guarded", "b")
    inside.clear()
    await bench.clock.run(bench.engine.terminate(first))
    await bench.work(registry=registry)
    assert inside == ["b"]


async def test_who_ended_without_leaving_is_found_by_looking(bench: Bench) -> None:
    first = await started(bench, "guarded", "a")
    await started(bench, "guarded", "b")
    inside.clear()
    owner = await bench.own(first)
    await owner.complete()  # an owner that died before it did what follows
    await bench.clock.advance(61)
    await bench.engine.sweeper().sweep_once()
    await bench.work(registry=registry)
    assert inside == ["b"]


async def test_who_gives_up_leaves_the_line(bench: Bench) -> None:
    first = await started(bench, "guarded", "a")
    second = await started(bench, "patient", "b", 10)
    third = await started(bench, "guarded", "c")
    await bench.clock.advance(11)
    await bench.engine.sweeper().sweep_once()
    await bench.work(registry=registry)
    assert await bench.engine.result(second) == "gave up"
    lease = await bench.ports.ownership.read(role_eid("repo:main"))
    assert lease is not None
    assert [request.id.partition("/")[0] for request in lease.requests] == [str(third)]
    await left(bench, first)
    assert inside == ["c"]


async def test_who_waits_looks_less_and_less(bench: Bench) -> None:
    await started(bench, "guarded", "a")
    waiting = await started(bench, "guarded", "b")
    sweeper = bench.engine.sweeper()
    for _ in range(120):
        await bench.clock.advance(60)
        await bench.clock.run(sweeper.sweep_once())
        await bench.work(registry=registry)
    looks = [fid for fid in (await bench.engine.frames(waiting)).frames if "/lease#" in fid]
    assert len(looks) <= 8


async def test_a_frame_that_is_done_again_finds_itself_as_the_holder(bench: Bench) -> None:
    eid = await bench.engine.start("guarded", "a", version="1")
    execution = (await bench.engine.status(eid)).execution
    services = bench.engine.services
    epoch = await take_lease(services, execution, "repo:main", "root/lease#1", bench.by)
    assert await take_lease(services, execution, "repo:main", "root/lease#1", bench.by) == epoch > 0
    assert await take_lease(services, execution, "repo:main", "root/lease#2", bench.by) == 0
    await leave_lease(services, eid, "repo:main", "root/lease#1", bench.by)
    await leave_lease(services, eid, "repo:main", "root/lease#1", bench.by)
    assert await take_lease(services, execution, "repo:main", "root/lease#2", bench.by) > epoch


async def test_of_many_that_take_it_at_once_exactly_one_gets_it(bench: Bench) -> None:
    eids = [await bench.engine.start("guarded", str(n), version="1") for n in range(10)]
    executions = [(await bench.engine.status(eid)).execution for eid in eids]
    engines = [bench.new_engine(name=f"node-{n}") for n in range(10)]
    got = await asyncio.gather(
        *(
            take_lease(engine.services, execution, "repo:main", "root/lease#1", bench.by)
            for engine, execution in zip(engines, executions, strict=True)
        )
    )
    assert sorted(map(bool, got)) == [False] * 9 + [True]
    lease = await bench.ports.ownership.read(role_eid("repo:main"))
    assert lease is not None
    assert len(lease.requests) == 9


@pytest.mark.parametrize("writes", range(8))
async def test_a_crash_on_leaving_leaves_nobody_waiting_for_ever(bench: Bench, writes: int) -> None:
    first = await started(bench, "guarded", "a")
    await started(bench, "guarded", "b")
    fold: JournalFold = await bench.engine.frames(first)
    fid = next(fid for fid in fold.frames if "/lease#" in fid)

    async def go(engine: Engine) -> None:
        await leave_lease(engine.services, first, "repo:main", fid, bench.by)

    await bench.dies_after(writes, go)
    inside.clear()
    await go(bench.engine)
    await bench.work(registry=registry)
    assert inside == ["b"]


async def test_a_role_is_held_by_one_process_and_let_go(bench: Bench) -> None:
    a, b = bench.new_engine(name="a"), bench.new_engine(name="b")
    async with a.role("mail-out") as role:
        assert role.epoch == 1
        role.check()
        with pytest.raises(NotAllowed, match="is held by a/"):
            await b.role("mail-out", wait_s=0).__aenter__()
    async with b.role("mail-out", wait_s=0) as role:
        assert role.epoch == 2


async def test_a_role_is_renewed_for_as_long_as_it_is_held(bench: Bench) -> None:
    a, b = bench.new_engine(name="a"), bench.new_engine(name="b")

    async def hold() -> None:
        async with a.role("mail-out") as role:
            await bench.world.sleep(500)
            role.check()

    holding = asyncio.ensure_future(hold())
    await bench.clock.advance(400)
    with pytest.raises(NotAllowed):
        await b.role("mail-out", wait_s=0).__aenter__()
    await bench.clock.advance(100)
    await holding


async def test_who_waits_for_a_role_gets_it_when_its_holder_vanished(bench: Bench) -> None:
    """OWN-21."""
    a, b = bench.new_engine(name="a"), bench.new_engine(name="b")
    held = a.role("mail-out")
    await held.__aenter__()
    assert held._renewals is not None
    await held._renewals.stop()  # the process is dead
    entered = asyncio.ensure_future(b.role("mail-out").__aenter__())
    await bench.clock.advance(20)
    assert not entered.done()
    await bench.clock.advance(25)
    assert (await entered).epoch == 2


async def test_the_block_is_cancelled_when_the_role_is_lost(bench: Bench) -> None:
    a = bench.new_engine(name="a")
    done: list[str] = []

    async def hold() -> None:
        async with a.role("mail-out"):
            try:
                await bench.world.sleep(500)
            finally:
                done.append("cleaned up")

    holding = asyncio.ensure_future(hold())
    await bench.clock.advance(5)
    lease = await bench.ports.ownership.read(role_eid("mail-out"))
    assert lease is not None
    assert lease.holder is not None
    await bench.ports.ownership.acquire(role_eid("mail-out"), lease.holder, 30.0, seen=lease, force=True)
    await bench.clock.advance(15)
    with pytest.raises(LeaseLost, match="mail-out"):
        await holding
    assert done == ["cleaned up"]


async def test_a_cancel_from_outside_stays_a_cancel(bench: Bench) -> None:
    async def hold() -> None:
        async with bench.engine.role("mail-out"):
            await bench.world.sleep(500)

    holding = asyncio.ensure_future(hold())
    await bench.clock.advance(5)
    holding.cancel()
    with pytest.raises(asyncio.CancelledError):
        await holding
    async with bench.engine.role("mail-out", wait_s=0) as role:
        assert role.epoch == 2


async def test_a_role_and_an_execution_exclude_each_other(bench: Bench) -> None:
    async with bench.engine.role("repo:main"):
        eid = await started(bench, "guarded", "a")
        assert inside == []
    await bench.work(registry=registry)
    assert inside == ["a"]
    with pytest.raises(NotAllowed):
        await bench.engine.role("repo:main", wait_s=0).__aenter__()
    await left(bench, eid)
    async with bench.engine.role("repo:main", wait_s=0):
        pass


async def test_parts_of_a_role_spread_over_the_processes(bench: Bench) -> None:
    """OWN-23: also when one of them vanishes, all are held again."""
    held: dict[str, str] = {}

    async def have(engine: Engine, i: int) -> None:
        async with engine.role("orders-2-consumer", part=(i, 4), display="order-shipped-consumer") as role:
            assert role.name == f"orders-2-consumer-{i}-of-4"
            assert role.display == f"order-shipped-consumer-{i}-of-4"
            held[role.name] = engine.site.worker_id
            await asyncio.Event().wait()

    engines = [bench.new_engine(name=name) for name in ("a", "b")]
    tasks = [[asyncio.ensure_future(have(engine, i)) for i in range(1, 5)] for engine in engines]
    for _ in range(10):
        await bench.clock.advance(1)
    assert sorted(held.values()) == ["a", "a", "b", "b"]
    for task in tasks[0]:
        task.cancel()
    await bench.clock.settle()
    for _ in range(60):
        await bench.clock.advance(1)
    assert sorted(held.values()) == ["b"] * 4
    for task in tasks[1]:
        task.cancel()
    await asyncio.gather(*tasks[0], *tasks[1], return_exceptions=True)


@pytest.mark.parametrize("part", [(0, 3), (4, 3), (1, 0)])
async def test_a_part_that_is_none_is_refused(bench: Bench, part: tuple[int, int]) -> None:
    with pytest.raises(UsageError, match="numbered from 1"):
        bench.engine.role("mail-out", part=part)


async def test_a_role_that_cannot_be_is_refused(bench: Bench) -> None:
    with pytest.raises(InvalidName):
        bench.engine.role("a/b")
    with pytest.raises(UsageError, match="ttl_s"):
        bench.engine.role("a", ttl_s=0)
    with pytest.raises(UsageError, match="not held"):
        _ = bench.engine.role("a").epoch
    assert bench.new_engine(config=EngineConfig(exec_ttl_s=3)).role("a") is not None
