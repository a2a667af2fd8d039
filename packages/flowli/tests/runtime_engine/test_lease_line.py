"""The line before a lease with a name: first come, first served, whatever falls into a change of hands."""

from __future__ import annotations

import asyncio
import random
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

import pytest

from flowli.domain.ids import Eid, role_eid
from flowli.runtime.context import Context
from flowli.runtime.protocols.named_lease import leave_lease, take_lease
from flowli.runtime.registry import Registry

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from flowli.domain.ports import Ports
    from flowli.runtime.engine import Engine

    from .conftest import Bench

FID = "root/lease#1"
registry = Registry()
entered: list[str] = []


def enter(name: str) -> None:
    entered.append(name)


@registry.workflow
async def guarded(ctx: Context, name: str, hold: bool = True) -> None:
    async with ctx.lease("door"):
        await ctx.step(enter, name)
        if hold:
            await ctx.receive("leave")


@registry.workflow
async def patient(ctx: Context, name: str, limit: int) -> None:
    try:
        async with asyncio.timeout(limit):
            async with ctx.lease("door"):
                await ctx.step(enter, name)
    except TimeoutError:
        await ctx.receive("end")


@registry.workflow
async def twice(ctx: Context) -> None:
    async def branch(name: str, after: int) -> None:
        await ctx.sleep(after)
        async with ctx.lease("door"):
            await ctx.step(enter, name)
            await ctx.sleep(5)

    await asyncio.gather(branch("first", 3), branch("second", 15))


@pytest.fixture(autouse=True)
def empty() -> None:
    entered.clear()


class Steps:
    """Processes that do one request at a time, in an order that a test decides."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._waiting: dict[str, asyncio.Future[None]] = {}
        self._arrived = asyncio.Event()
        self._acting: dict[str, asyncio.Task[Any]] = {}

    def engine(self, name: str) -> Engine:
        ports = self._bench.ports
        names = [one.name for one in fields(ports) if one.name not in ("fork", "poll_hint_s")]
        held: Ports = replace(ports, **{port: _Held(getattr(ports, port), name, self) for port in names})
        return self._bench.new_engine(ports=held, name=name)

    def act(self, name: str, doing: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        self._acting[name] = asyncio.ensure_future(doing)
        return self._acting[name]

    async def may_go(self, name: str) -> None:
        self._waiting[name] = asyncio.get_running_loop().create_future()
        self._arrived.set()
        await self._waiting[name]

    async def reach(self, name: str) -> asyncio.Task[Any]:
        """Wait until one of them comes to its next request, or is done."""
        task = self._acting[name]
        while name not in self._waiting and not task.done():
            self._arrived.clear()
            arrived = asyncio.ensure_future(self._arrived.wait())
            await asyncio.wait([task, arrived], return_when=asyncio.FIRST_COMPLETED)
            arrived.cancel()
        return task

    async def step(self, name: str) -> bool:
        """Let one of them do its next request; False if it is done."""
        task = await self.reach(name)
        if name in self._waiting:
            self._waiting.pop(name).set_result(None)
        return not task.done()

    async def finish(self, name: str) -> Any:
        while await self.step(name):
            pass
        return self._acting[name].result()


class _Held:
    def __init__(self, port: object, name: str, steps: Steps) -> None:
        self._port, self._name, self._steps = port, name, steps

    def __getattr__(self, method: str) -> object:
        found = getattr(self._port, method)

        async def call(*args: Any, **options: Any) -> object:
            await self._steps.may_go(self._name)
            return await found(*args, **options)

        return call


async def take(bench: Bench, engine: Engine, eid: Eid, name: str) -> int:
    execution = await bench.ports.executions.get(eid)
    assert execution is not None
    return await take_lease(engine.services, execution, name, FID, bench.by)


async def line(bench: Bench, name: str) -> list[str]:
    lease = await bench.ports.ownership.read(role_eid(name))
    assert lease is not None
    return [request.id.partition("/")[0] for request in lease.requests]


async def test_whoever_arrives_while_it_changes_hands_goes_behind_those_who_wait(bench: Bench) -> None:
    """OWN-24: one leaves, one has waited, two arrive; their requests in sixty orders."""
    a, b, c, d = [await bench.engine.start("greet", name, version="1") for name in "abcd"]
    for seed in range(60):
        draw, name, steps = random.Random(seed), f"door-{seed}", Steps(bench)
        assert await take(bench, bench.engine, a, name) > 0
        assert await take(bench, bench.engine, b, name) == 0
        steps.act("leaves", leave_lease(steps.engine("leaves").services, a, name, FID, bench.by))
        steps.act("looks", take(bench, steps.engine("looks"), b, name))
        arriving = [
            steps.act(who, take(bench, steps.engine(who), eid, name)) for who, eid in (("third", c), ("fourth", d))
        ]
        busy = ["leaves", "looks", "third", "fourth"]
        while busy:
            who = draw.choice(busy)
            if not await steps.step(who):
                busy.remove(who)
        assert [task.result() for task in arriving] == [0, 0], f"order {seed}"
        assert await take(bench, bench.engine, b, name) > 0
        waiting = [Eid(one) for one in await line(bench, name)]
        assert sorted(waiting) == sorted([c, d])
        for before, after in ((b, waiting[0]), (waiting[0], waiting[1])):
            await leave_lease(bench.engine.services, before, name, FID, bench.by)
            assert await take(bench, bench.engine, after, name) > 0, f"order {seed}"
        await leave_lease(bench.engine.services, waiting[1], name, FID, bench.by)
        assert await line(bench, name) == []


async def test_who_was_stopped_for_long_before_it_takes_it_does_not_take_it_from_another(bench: Bench) -> None:
    a, b = [await bench.engine.start("greet", name, version="1") for name in "ab"]
    assert await take(bench, bench.engine, a, "door") > 0
    await leave_lease(bench.engine.services, a, "door", FID, bench.by)
    steps = Steps(bench)
    late = steps.act("late", take(bench, steps.engine("late"), a, "door"))
    await steps.step("late")
    await steps.reach("late")  # it has seen that the lease is free
    assert await take(bench, bench.engine, b, "door") > 0
    await bench.clock.advance(3 * 86_400)
    assert await steps.finish("late") == late.result() == 0
    assert await take(bench, bench.engine, b, "door") > 0


async def started(bench: Bench, workflow: str, *args: Any) -> Eid:
    eid = await bench.engine.start(workflow, *args, version="1")
    await bench.work(registry=registry)
    return eid


async def left(bench: Bench, eid: Eid) -> None:
    await bench.engine.signal(eid, "leave")
    await bench.work(registry=registry)


async def test_who_is_paused_is_passed_over_and_keeps_its_place(bench: Bench) -> None:
    """OWN-24."""
    first = await started(bench, "guarded", "a")
    paused = await started(bench, "guarded", "b")
    third = await started(bench, "guarded", "c")
    await started(bench, "guarded", "d")
    await bench.engine.pause(paused, reason="moving house")
    await bench.work(registry=registry)
    await left(bench, first)
    assert entered == ["a", "c"]
    await bench.engine.resume(paused)
    await bench.work(registry=registry)
    await left(bench, third)
    assert entered == ["a", "c", "b"]


async def test_who_goes_on_after_a_pause_takes_what_was_left_free(bench: Bench) -> None:
    first = await started(bench, "guarded", "a")
    paused = await started(bench, "guarded", "b")
    await bench.engine.pause(paused, reason="moving house")
    await bench.work(registry=registry)
    await left(bench, first)
    for _ in range(3):  # others come and go meanwhile
        await started(bench, "guarded", "x", False)
    await bench.engine.resume(paused)
    await bench.work(registry=registry)
    assert entered == ["a", "x", "x", "x", "b"]


async def test_who_gives_up_behind_a_process_has_left_the_line(bench: Bench) -> None:
    async with bench.engine.role("door") as role:
        gave_up = await started(bench, "patient", "b", 10)
        await started(bench, "guarded", "c")
        await bench.clock.advance(11)
        await bench.clock.run(bench.engine.sweeper().sweep_once())
        await bench.work(registry=registry)
        assert str(gave_up) not in await line(bench, "door")
        role.check()
    await bench.work(registry=registry)
    assert entered == ["c"]


async def test_branches_of_one_execution_that_wait_for_one_lease_are_both_served(bench: Bench) -> None:
    """They are told on one channel; who takes the message of the other sees to it that the other one is told."""
    first = await started(bench, "guarded", "a")
    both = await started(bench, "twice")
    sweeper = bench.engine.sweeper()
    for passed in range(0, 120, 2):
        await bench.clock.advance(2)
        await bench.clock.run(sweeper.sweep_once())
        await bench.work(registry=registry)
        if passed == 66:  # the first branch has looked for itself, so that the second one receives before it
            await left(bench, first)
    assert entered == ["a", "first", "second"]
    assert (await bench.engine.status(both)).status == "completed"
