"""The order in which things happened live is the order of every replay, and code that changed is told, not failed."""

from __future__ import annotations

import asyncio
import math
import re
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from flowli import Context, Registry
from flowli.domain.entries import ExecutionCancelRequested, FrameFailed
from flowli.domain.errors import ExecutionCancelled, ExecutionFailed
from flowli.domain.execution import ExecutionStatus
from flowli.domain.ids import child_eid
from flowli.domain.waits import OnOperator
from flowli.testing.replay import replay

from .rig import Calls, Wire, real

EID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@pytest.mark.parametrize("way", ["wait", "as_completed", "gather", "ctx"])
async def test_completions_come_in_the_order_of_the_journal_after_a_crash(fleet: Any, way: str) -> None:
    """K15: six at once by the means of asyncio and by our own; the worker dies after each of the completions."""
    calls = Calls()

    async def step(n: int) -> int:
        await fleet.clock.sleep((n * 5) % 7)
        return await calls.once(n)

    @fleet.registry.workflow
    async def fan_out(ctx: Context) -> list[int]:
        tasks = [asyncio.create_task(ctx.step(step, n)) for n in range(6)]
        if way == "gather":
            found = list(await asyncio.gather(*tasks))
        elif way == "ctx":
            found = list(await ctx.as_completed(*tasks))
        elif way == "as_completed":
            found = [await one for one in asyncio.as_completed(tasks)]
        else:
            left, found = set(tasks), []
            while left:
                done, left = await asyncio.wait(left, return_when=asyncio.FIRST_COMPLETED)
                found += [task.result() for task in done]
        for n in found:
            await ctx.step(calls.once, f"after {n}")
        return found

    settings = {"exec_ttl_s": 3.0, "task_ttl_s": 3.0}
    process = fleet.process("w-0", **settings).work()
    eid = await fleet.engine.start(fan_out)
    for n in range(3):
        await fleet.clock.advance(1.5)
        process.kill()
        process = fleet.process(f"w-{n + 1}", **settings).work()
        await fleet.clock.advance(6)
    found = await fleet.value(eid)
    assert sorted(found) == list(range(6))
    fold = await fleet.fold(eid)
    ended = sorted((fold.frames[f"root/step#{n + 1}"].outcome_seq, n) for n in range(6))
    if way == "gather":
        assert found == list(range(6))
    else:
        assert found == [n for _, n in ended]
    assert [name for name in fold.frames if "once" in name] == [f"root/once#{n + 1}" for n in range(6)]


@pytest.mark.parametrize("other", ["timer", "step", "child"])
@pytest.mark.parametrize("signal_first", [True, False])
async def test_who_won_a_race_wins_it_in_every_replay(fleet: Any, other: str, signal_first: bool) -> None:
    """K16: a message against a timer, a step and a child, then a second wait; replayed from every prefix."""
    seen: list[list[str]] = []

    async def work() -> None:
        await fleet.clock.sleep(15)

    @fleet.registry.workflow
    async def naps(ctx: Context) -> None:
        await ctx.sleep(15)

    async def race(ctx: Context) -> list[str]:
        won: list[str] = []

        async def one(name: str, frame: Any) -> None:
            await frame
            won.append(name)

        frame = {"timer": lambda: ctx.sleep(15), "step": lambda: ctx.step(work), "child": lambda: ctx.child(naps)}[
            other
        ]
        tasks = [asyncio.create_task(one("signal", ctx.receive("go"))), asyncio.create_task(one(other, frame()))]
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        won.append(f"then {await ctx.receive('go', timeout=60)}")
        seen.append(won)
        return won

    fleet.registry.workflow(race)
    fleet.process("w", warm_limit=0).work()
    eid = await fleet.engine.start(race)
    await fleet.clock.advance(10 if signal_first else 20)
    await fleet.engine.signal(eid, "go", 1)
    await fleet.engine.signal(eid, "go", 2)
    result = await fleet.value(eid)
    assert result == (["signal", "then 2"] if signal_first else [other, "then 1"])
    entries = await fleet.entries(eid)
    for n in range(1, len(entries) + 1):
        assert replay(race, entries[:n], registry=fleet.registry).difference is None
    assert all(won == result for won in seen)


def deploy(fleet: Any, name: str, *workflows: Callable[..., Any]) -> Any:
    """A worker with other code on the same bucket."""
    fleet.registry = Registry()
    for workflow in workflows:
        fleet.registry.workflow(workflow, name="flow") if workflow.__name__ == "flow" else fleet.registry.add(workflow)
    return fleet.process(name).work()


async def test_a_draw_more_in_new_code_fails_no_execution(fleet: Any) -> None:
    """K17: the id that was drawn before the sleep is the same afterwards, and no other execution is touched."""
    drawn: list[str] = []

    def old() -> Any:
        async def flow(ctx: Context) -> str:
            drawn.append(str(ctx.uuid()))
            await ctx.sleep(60)
            return drawn[-1]

        return flow

    def new() -> Any:
        async def flow(ctx: Context) -> str:
            ctx.random.random()
            drawn.append(str(ctx.uuid()))
            await ctx.sleep(60)
            return drawn[-1]

        return flow

    first = deploy(fleet, "old", old())
    eid = await fleet.engine.start("flow", version="1")
    await fleet.until_status(eid, "suspended")
    await first.stop()
    deploy(fleet, "new", new())
    assert await fleet.value(eid) == drawn[0]
    assert len(set(drawn)) == 1


def nested(levels: int) -> list[Any]:
    found: list[Any] = []
    for _ in range(levels):
        found = [found]
    return found


class Two(Exception):
    def __init__(self, a: str, b: str) -> None:
        super().__init__(f"{a} {b}")


PARIS = datetime(2026, 7, 1, 12, tzinfo=ZoneInfo("Europe/Paris"))
VALUES: list[tuple[str, Any, Any]] = [
    ("plain", {"a": [1, None, "x"]}, {"a": [1, None, "x"]}),
    ("tuple", (1, 2), None),
    ("int keys", {1: "a"}, None),
    ("zone", PARIS, None),
    ("big", 2**64, 2**64),
    ("nan", math.nan, None),
    ("deep", nested(2000), None),
    ("set", {3, 1, 2}, None),
    ("utc", datetime(2026, 7, 1, tzinfo=UTC), None),
]


@pytest.mark.parametrize(("name", "value"), [pytest.param(n, v, id=n) for n, v, _ in VALUES])
async def test_a_value_is_the_same_live_and_on_replay_or_is_refused_when_it_is_recorded(
    fleet: Any, name: str, value: Any
) -> None:
    """K18: the copy that replay will see is what the live run sees; nothing unreadable is ever appended."""
    seen: list[Any] = []

    def give() -> Any:
        return value

    @fleet.registry.workflow
    async def look(ctx: Context) -> str:
        try:
            found = await ctx.step(give)
        except Exception as error:
            found = f"refused: {error}"
        seen.append(found)
        await ctx.sleep(60)
        return "ended"

    fleet.process("w", warm_limit=0).work()
    eid = await fleet.engine.start(look)
    assert await fleet.value(eid) == "ended"
    assert len(seen) == 2, "live and once more"
    assert type(seen[0]) is type(seen[1])
    assert seen[0] == seen[1]
    assert getattr(seen[0], "hour", None) == getattr(seen[1], "hour", None)
    if isinstance(seen[0], str):
        assert "result" in seen[0], "the error names the path"
        failed = [entry.body for entry in await fleet.entries(eid) if isinstance(entry.body, FrameFailed)]
        assert [(body.attempt, body.retryable) for body in failed] == [(1, False)]


async def test_an_error_is_the_same_text_live_and_on_replay(fleet: Any) -> None:
    """K18: also one whose constructor takes two arguments."""
    seen: list[tuple[str, str]] = []

    def fail() -> None:
        raise Two("not", "again")

    @fleet.registry.workflow
    async def look(ctx: Context) -> None:
        try:
            await ctx.step(fail)
        except Exception as error:
            seen.append((type(error).__name__, str(error)))
        await ctx.sleep(60)

    fleet.process("w", warm_limit=0).work()
    await fleet.value(await fleet.engine.start(look))
    assert seen[0] == seen[1]
    assert "not again" in seen[0][1]


@pytest.mark.parametrize("at_s", [0.0, 0.15, 0.3, 0.45, 1.05, 2.2])
async def test_a_cancel_is_never_absorbed_by_a_step_that_ends_just_then(fleet: Any, at_s: float) -> None:
    """K19: delivered once, to the code and to each child; what cleans up runs to its end."""
    calls = Calls()

    async def short(n: int) -> int:
        await fleet.clock.sleep(0.15)
        return n

    @fleet.registry.workflow
    async def waits(ctx: Context, n: int) -> None:
        try:
            await ctx.receive("never")
        finally:
            await ctx.step(calls.once, f"child {n}")

    @fleet.registry.workflow
    async def loops(ctx: Context) -> None:
        children = [asyncio.ensure_future(ctx.child(waits, n)) for n in range(4)]
        try:
            for n in range(1000):
                await ctx.step(short, n)
        finally:
            await ctx.step(calls.once, "undo")
            for child in children:
                child.cancel()

    fleet.process("w").work()
    eid = await fleet.engine.start(loops)
    await fleet.clock.advance(2 + at_s)
    await fleet.engine.cancel(eid, reason="enough")
    with pytest.raises(ExecutionCancelled):
        await fleet.value(eid, limit_s=60)
    await fleet.clock.advance(20)
    for n in range(4):
        bodies = [entry.body for entry in await fleet.entries(child_eid(eid, f"root/waits#{n + 1}"))]
        assert sum(isinstance(body, ExecutionCancelRequested) for body in bodies) == 1
    assert calls == {"undo": 1, **{f"child {n}": 1 for n in range(4)}}


async def test_a_deploy_that_does_not_fit_parks_and_a_roll_back_goes_on(fleet: Any) -> None:
    """K20: other executions go on; a task of a workflow that a worker does not know is left for who does."""
    calls = Calls()

    def build(*order: str) -> Any:
        async def flow(ctx: Context) -> str:
            for name in order:
                await ctx.step(calls.once, name, name=name)
            await ctx.receive("go")
            return "-".join(order)

        return flow

    async def gone(ctx: Context) -> str:
        return "known again"

    first = deploy(fleet, "v1", build("a", "b"), gone)
    eid = await fleet.engine.start("flow", version="1")
    await fleet.until_status(eid, "suspended")
    await first.stop()
    later = await fleet.engine.start("gone", version="1")
    second = deploy(fleet, "v2", build("b", "a"))
    fresh = await fleet.engine.start("flow", version="1")
    await fleet.engine.signal(eid, "go")
    await fleet.engine.signal(fresh, "go")
    assert await fleet.value(fresh) == "b-a"
    view = await fleet.engine.status(eid)
    assert view.status is ExecutionStatus.SUSPENDED
    (why,) = [on for on in view.waits_on if isinstance(on, OnOperator)]
    assert "at entry 2: the journal has step 'a'" in why.reason
    assert "the code made step 'b'" in why.reason
    assert [task.target for task in await fleet.tasks()] == [later]
    await second.stop()
    deploy(fleet, "v1-again", build("a", "b"), gone)
    await fleet.engine.resume(eid, reason="rolled back")
    assert await fleet.value(eid) == "a-b"
    assert await fleet.value(later) == "known again"


async def test_a_step_costs_the_same_however_long_its_execution_is(fleet: Any) -> None:
    """K21: requests and bytes of the steps up to 100, 200, ... 1,000, warm, with a wake-up after each hundred."""
    calls, wire = Calls(), Wire()

    @fleet.registry.workflow
    async def long(ctx: Context, k: int) -> int:
        for n in range(k):
            await ctx.step(calls.once, n)
            if n % 100 == 99:
                await ctx.receive("on")
        return k

    worker = fleet.process("w", wrap=wire.wrap, poll_s=5.0)
    worker.work(sweep=False)
    steps = 1000
    eid = await fleet.engine.start(long, steps)
    costs: list[tuple[int, int]] = []
    for _ in range(steps // 100):
        await fleet.clock.advance(20)
        mine = [one for one in wire.requests if str(eid) in one.key and "/snapshots/" not in one.key]
        costs.append((len(mine), sum(one.sent + one.received for one in mine)))
        wire.clear()
        await fleet.engine.signal(eid, "on")
    assert await fleet.value(eid) == steps
    half = len(costs) // 2
    for kind in range(2):
        counted = [cost[kind] for cost in costs]
        assert max(counted) < 1.7 * min(counted), "what folds 64 commits into one reads them once"
        assert sum(counted[half:]) < 1.15 * sum(counted[:half])


async def test_a_link_of_a_chain_costs_the_same_however_long_the_chain_is(kind: str, tmp_path: Path) -> None:
    """K21: five hundred executions, each of which starts its successor; none looks at those long before it."""
    registry, calls, wire = Registry(), Calls(), Wire()
    links: list[str] = []
    begun_at: list[int] = []

    async def begin(n: int) -> None:
        begun_at.append(len(wire.requests))
        links.append(str(await engine.start(link, n, key=f"link-{n}")))

    @registry.workflow
    async def link(ctx: Context, n: int) -> int:
        await ctx.step(calls.once, n)
        if n < 500:
            await ctx.step(begin, n + 1)
        return n

    async with real(kind, tmp_path, registry, wire.wrap) as engine:
        await begin(1)
        worker = engine.worker()
        await worker.run_until_idle()
        await worker.drain()
        assert await engine.result(links[-1]) == 500
    assert calls == dict.fromkeys(range(1, 501), 1)
    number = {eid: n for n, eid in enumerate(links)}
    costs, received, last_read = Counter[int](), Counter[int](), dict[int, int]()
    for at, one in enumerate(wire.requests):
        found = EID.search(one.key)
        n = None if found is None else number.get(found.group())
        if n is not None:
            costs[n], received[n] = costs[n] + 1, received[n] + one.received
            if one.verb == "get":
                last_read[n] = at
    for count in (costs, received):
        assert sum(count[n] for n in range(400, 450)) <= 1.15 * sum(count[n] for n in range(50, 100))
    assert all(last_read[n] < begun_at[n + 100] for n in range(400)), "nobody looks at one long done"


async def test_a_failed_execution_tells_its_error(fleet: Any) -> None:
    """K18: type, message and traceback of what the workflow raised."""

    @fleet.registry.workflow
    async def breaks(ctx: Context) -> None:
        raise Two("no", "way")

    fleet.process("w").work()
    eid = await fleet.engine.start(breaks)
    with pytest.raises(ExecutionFailed, match="no way"):
        await fleet.value(eid)
