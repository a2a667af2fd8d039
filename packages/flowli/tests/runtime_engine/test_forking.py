from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from flowli.domain.entries import (
    ExecutionCreated,
    ExecutionStarted,
    ExecutionSuspended,
    FrameCompleted,
    FrameStarted,
    OperatorActed,
)
from flowli.domain.errors import (
    DispatchConflict,
    ExecutionFailed,
    NotAllowed,
    UnknownExecution,
    UnknownFrame,
    UnknownWorkflow,
)
from flowli.domain.execution import ExecutionStatus, Origin
from flowli.domain.ids import Eid
from flowli.runtime.context import Context
from flowli.runtime.registry import Registry

if TYPE_CHECKING:
    from flowli.runtime.engine import Engine

    from .conftest import Bench

DAY = 86_400.0


class Shop:
    """Workflows whose steps count their calls and fail while ``broken`` names them."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.broken: set[str] = set()
        self.registry = registry = Registry()

        def act(name: str, *seen: Any) -> str:
            self.calls.append(name)
            if name in self.broken:
                raise RuntimeError(f"{name} is broken")
            return name.upper()

        @registry.workflow
        async def order(ctx: Context, item: str) -> list[Any]:
            first = await ctx.step(act, "reserve", str(ctx.eid), ctx.random.random(), name="reserve")
            approved = await ctx.receive("approval")
            second = await ctx.step(act, "charge", first, str(ctx.uuid()), ctx.now.isoformat(), name="charge")
            third = await ctx.step(act, "ship", second, name="ship", irreversible=True)
            return [item, first, approved, second, third]

        @registry.workflow
        async def fan(ctx: Context, count: int) -> list[str]:
            steps = [ctx.step(act, f"part{n}", name="part") for n in range(count)]
            return list(await ctx.gather(*steps))

        @registry.workflow
        async def buggy(ctx: Context) -> str:
            done = await ctx.step(act, "reserve", name="reserve")
            if "code" in self.broken:
                raise ValueError("a bug of the code")
            return done + await ctx.step(act, "ship", name="ship")

        @registry.workflow
        async def child(ctx: Context, name: str) -> str:
            return await ctx.step(act, name, name="work")

        @registry.workflow
        async def parent(ctx: Context) -> list[str]:
            return [await ctx.child(child, "one"), await ctx.child(child, "two")]


@pytest.fixture
def shop() -> Shop:
    return Shop()


async def ended(bench: Bench, shop: Shop, workflow: str = "order", *args: Any, signal: bool = True) -> Eid:
    """An execution that has come to its end."""
    eid = await bench.engine.start(workflow, *(args or (("lamp",) if workflow == "order" else ())), version="1")
    await bench.work(registry=shop.registry)
    if workflow == "order" and signal:
        await bench.engine.signal(eid, "approval", "yes")
        await bench.work(registry=shop.registry)
    return eid


async def test_a_fork_copies_what_came_before_the_frame_and_does_the_rest_again(bench: Bench, shop: Shop) -> None:
    """STA-14."""
    shop.broken.add("ship")
    eid = await ended(bench, shop)
    assert (await bench.engine.status(eid)).status is ExecutionStatus.FAILED
    shop.broken.clear()
    shop.calls.clear()
    made = await bench.engine.fork(eid, "root/charge#1", "again")
    await bench.work(registry=shop.registry)
    assert await bench.engine.result(made) == ["lamp", "RESERVE", "yes", "CHARGE", "SHIP"]
    assert shop.calls == ["charge", "ship"]
    view = await bench.engine.status(made)
    assert view.execution.origin == Origin("fork", eid, "root/charge#1", (eid,))
    assert (view.execution.dispatch_key, view.execution.parent) == (None, None)
    assert not (await bench.engine.frames(made)).anomalies
    assert (await bench.engine.status(eid)).status is ExecutionStatus.FAILED


async def test_the_journal_of_a_fork_begins_under_epoch_1_and_is_released(bench: Bench, shop: Shop) -> None:
    shop.broken.add("charge")
    eid = await ended(bench, shop)
    await bench.clock.advance(100)
    made = await bench.engine.fork(eid, "root/charge#1")
    entries = await bench.engine.journal(made)
    assert isinstance(entries[0].body, ExecutionStarted)
    assert entries[0].body.execution == await bench.ports.executions.get(made)
    assert entries[0].at == entries[0].body.execution.created_at == (await bench.engine.journal(eid))[0].at
    assert entries[-1].body == ExecutionSuspended((), 1)
    assert {entry.by.site.epoch for entry in entries} == {1}
    assert [entry.at for entry in entries] == sorted(entry.at for entry in entries)
    lease = await bench.ports.ownership.read(made)
    assert lease is not None
    assert lease.epoch == 1
    await bench.work(registry=shop.registry)
    later = (await bench.engine.journal(made))[len(entries) :]
    assert {entry.by.site.epoch for entry in later} == {2}


async def test_a_fork_waits_for_messages_of_its_own(bench: Bench, shop: Shop) -> None:
    eid = await ended(bench, shop)
    made = await bench.engine.fork(eid, "root/approval#1", allow_irreversible=True)
    await bench.work(registry=shop.registry)
    assert (await bench.engine.status(made)).status is ExecutionStatus.SUSPENDED
    await bench.engine.signal(made, "approval", "no")
    await bench.work(registry=shop.registry)
    assert (await bench.engine.result(made))[2] == "no"
    assert shop.calls.count("reserve") == 1


async def test_a_retry_goes_on_from_the_failed_frame(bench: Bench, shop: Shop) -> None:
    """STA-14."""
    shop.broken.add("charge")
    eid = await ended(bench, shop)
    shop.broken.clear()
    shop.calls.clear()
    made = await bench.engine.retry(eid, "the bank is back")
    await bench.work(registry=shop.registry)
    assert (await bench.engine.result(made))[-1] == "SHIP"
    assert shop.calls == ["charge", "ship"]
    assert (await bench.engine.status(made)).execution.origin == Origin("retry", eid, "root/charge#1", (eid,))


async def test_a_retry_of_a_fan_out_does_only_the_failed_part_again(bench: Bench, shop: Shop) -> None:
    shop.broken.add("part2")
    eid = await ended(bench, shop, "fan", 5)
    shop.broken.clear()
    shop.calls.clear()
    made = await bench.engine.retry(eid)
    await bench.work(registry=shop.registry)
    assert await bench.engine.result(made) == [f"PART{n}" for n in range(5)]
    outcomes = (await bench.engine.frames(eid)).frames.values()
    assert sorted(shop.calls) == sorted(
        f"part{n}" for n, frame in enumerate(outcomes) if frame.outcome_seq is None or frame.status != "completed"
    )
    assert "part2" in shop.calls
    assert len(shop.calls) < 5


async def test_a_retry_after_a_bug_of_the_code_keeps_every_outcome(bench: Bench, shop: Shop) -> None:
    shop.broken.add("code")
    eid = await ended(bench, shop, "buggy")
    with pytest.raises(ExecutionFailed, match="a bug of the code"):
        await bench.engine.result(eid)
    shop.broken.clear()
    made = await bench.engine.retry(eid)
    await bench.work(registry=shop.registry)
    assert await bench.engine.result(made) == "RESERVESHIP"
    assert shop.calls == ["reserve", "ship"]


async def test_children_of_copied_frames_are_not_run_again_and_others_are_the_forks_own(
    bench: Bench, shop: Shop
) -> None:
    shop.broken.add("two")
    eid = await ended(bench, shop, "parent")
    shop.broken.clear()
    shop.calls.clear()
    made = await bench.engine.retry(eid)
    await bench.work(registry=shop.registry)
    assert await bench.engine.result(made) == ["ONE", "TWO"]
    assert shop.calls == ["two"]


async def test_a_fork_of_a_fork_replays_what_both_recorded(bench: Bench, shop: Shop) -> None:
    shop.broken.add("charge")
    first = await ended(bench, shop)
    second = await bench.engine.fork(first, "root/charge#1")
    await bench.work(registry=shop.registry)
    shop.broken.clear()
    third = await bench.engine.retry(second)
    await bench.work(registry=shop.registry)
    assert (await bench.engine.result(third))[3] == "CHARGE"
    assert shop.calls.count("reserve") == 1
    origin = (await bench.engine.status(third)).execution.origin
    assert origin is not None
    assert origin.lineage == (first, second)


async def test_a_fork_of_an_archived_execution_from_long_ago(bench: Bench, shop: Shop) -> None:
    shop.broken.add("charge")
    eid = await ended(bench, shop)
    await bench.engine.retention(0).run_once()
    await bench.clock.advance(2 * DAY)
    assert (await bench.engine.retention(0).run_once()).purged == 1
    shop.broken.clear()
    made = await bench.engine.retry(eid)
    await bench.ports.executions.delete(made)  # as if the process had died before it wrote the record
    await bench.work(registry=shop.registry)
    assert (await bench.engine.result(made))[-1] == "SHIP"


async def test_a_fork_is_given_the_whole_execution_timeout_once_more(bench: Bench, shop: Shop) -> None:
    shop.broken.add("charge")
    eid = await bench.engine.start("order", "lamp", version="1", timeout=100)
    await bench.work(registry=shop.registry)
    await bench.engine.signal(eid, "approval", "yes")
    await bench.work(registry=shop.registry)
    await bench.clock.advance(1000)
    made = await bench.engine.fork(eid, "root/approval#1")
    assert [timer.due_at for timer in await bench.ports.timers.pending() if timer.eid == made] == [
        bench.world.now() + timedelta(seconds=100)
    ]


async def test_a_replay_begins_anew_with_the_same_input(bench: Bench, shop: Shop) -> None:
    """STA-14."""
    shop.broken.add("charge")
    eid = await ended(bench, shop)
    shop.broken.clear()
    shop.calls.clear()
    await bench.clock.advance(10)
    made = await bench.engine.replay(eid, "try again")
    await bench.work(registry=shop.registry)
    await bench.engine.signal(made, "approval", "sure")
    await bench.work(registry=shop.registry)
    assert await bench.engine.result(made) == ["lamp", "RESERVE", "sure", "CHARGE", "SHIP"]
    assert shop.calls == ["reserve", "charge", "ship"]
    view = await bench.engine.status(made)
    assert view.execution.origin == Origin("replay", eid)
    assert view.created_at > (await bench.engine.status(eid)).created_at


async def test_what_is_irreversible_is_repeated_only_if_that_is_said(bench: Bench, shop: Shop) -> None:
    """STA-15."""
    eid = await ended(bench, shop)
    tasks = await bench.tasks()
    for again in (bench.engine.replay(eid), bench.engine.fork(eid, "root/charge#1")):
        with pytest.raises(NotAllowed, match=r"root/ship#1.*irreversible"):
            await again
    assert await bench.tasks() == tasks
    assert await bench.engine.replay(eid, allow_irreversible=True) != eid
    forked = await bench.engine.fork(eid, "root/charge#1", allow_irreversible=True)
    await bench.work(registry=shop.registry)
    assert (await bench.engine.result(forked))[-1] == "SHIP"


async def test_bad_input_is_refused_and_stores_nothing(bench: Bench, shop: Shop) -> None:
    shop.broken.add("charge")
    eid = await ended(bench, shop)
    live = await bench.engine.start("order", "lamp", version="1")
    good = await bench.engine.start("greet", "Ada")
    await bench.work()
    tasks, control = await bench.tasks(), len(await bench.control())
    with pytest.raises(UnknownFrame, match="did you mean 'root/charge#1'"):
        await bench.engine.fork(eid, "root/chrge#1")
    for verb in (bench.engine.fork(live, "root"), bench.engine.retry(live), bench.engine.replay(live)):
        with pytest.raises(NotAllowed, match="only when it has ended"):
            await verb
    with pytest.raises(NotAllowed, match="cannot be retried"):
        await bench.engine.retry(good)
    with pytest.raises(UnknownExecution):
        await bench.engine.retry("0197a1b2-0000-7000-8000-000000000000")
    with pytest.raises(UnknownWorkflow, match="no version '9'"):
        await bench.engine.replay(good, version="9")
    assert (await bench.tasks(), len(await bench.control())) == (tasks, control)


async def test_one_key_is_one_fork_and_another_content_is_refused(bench: Bench, shop: Shop) -> None:
    """STA-16."""
    shop.broken.add("charge")
    eid = await ended(bench, shop)
    engines = [bench.new_engine(name=f"node-{n}") for n in range(5)]
    made = set(await asyncio.gather(*(engine.fork(eid, "root/charge#1", key="k") for engine in engines)))
    assert len(made) == 1
    with pytest.raises(DispatchConflict, match="another key"):
        await bench.engine.fork(eid, "root/reserve#1", key="k")
    for other in (bench.engine.retry(eid, key="k"), bench.engine.replay(eid, key="k")):
        with pytest.raises(DispatchConflict, match="another key"):
            await other
    acts = [body for body in await bench.control() if isinstance(body, OperatorActed)]
    assert {(act.verb, act.eid, act.key) for act in acts} == {("fork", eid, "k")}
    assert await bench.engine.fork(eid, "root/charge#1") not in made


@pytest.mark.parametrize("verb", ["fork", "retry", "replay"])
@pytest.mark.parametrize("writes", range(9))
async def test_a_crash_at_any_write_is_made_good_by_the_same_call(
    bench: Bench, shop: Shop, verb: str, writes: int
) -> None:
    """STA-16."""
    shop.broken.add("charge")
    eid = await ended(bench, shop)

    async def make(engine: Engine) -> Eid:
        if verb == "fork":
            return await engine.fork(eid, "root/charge#1", key="k")
        return await (engine.retry if verb == "retry" else engine.replay)(eid, key="k")

    await bench.dies_after(writes, make)
    await bench.clock.advance(5)
    made = await bench.clock.run(make(bench.engine))
    shop.broken.clear()
    await bench.work(registry=shop.registry)
    if verb == "replay":
        await bench.engine.signal(made, "approval", "yes")
        await bench.work(registry=shop.registry)
    assert (await bench.engine.result(made))[-1] == "SHIP"
    assert not (await bench.engine.frames(made)).anomalies
    created = {body.eid for body in await bench.control() if isinstance(body, ExecutionCreated)}
    assert created == {eid, made}


@pytest.mark.parametrize("writes", range(6))
async def test_a_crash_leaves_nothing_or_an_execution_that_runs(bench: Bench, shop: Shop, writes: int) -> None:
    shop.broken.add("charge")
    eid = await ended(bench, shop)
    await bench.dies_after(writes, lambda engine: engine.retry(eid))
    begun = [task.target for task in await bench.tasks()]
    shop.broken.clear()
    await bench.work(registry=shop.registry)
    for made in begun:
        assert (await bench.engine.result(made))[-1] == "SHIP"
    sweeper = bench.new_engine(name="sweeper").sweeper()
    await bench.clock.run(sweeper.sweep_once())
    created = {body.eid for body in await bench.control() if isinstance(body, ExecutionCreated)}
    assert created == {eid, *begun}


async def test_copied_outcomes_say_who_made_them(bench: Bench, shop: Shop) -> None:
    shop.broken.add("charge")
    eid = await ended(bench, shop)
    made = await bench.engine.retry(eid)
    seen = []
    for one in (eid, made):
        done = [entry for entry in await bench.engine.journal(one) if isinstance(entry.body, FrameCompleted)]
        seen.append([(entry.body, entry.by.actor, entry.at) for entry in done])
    assert seen[0] == seen[1]
    starts = [entry.body for entry in await bench.engine.journal(made) if isinstance(entry.body, FrameStarted)]
    assert starts[1].metadata["channel"] == f"{made}.approval"
