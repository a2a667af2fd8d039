"""What the pages of the patterns say of their cost is what a bucket counts."""

import re
from datetime import timedelta
from pathlib import Path

import pytest

from flowli import CairnBackend, Consumer, Context, Registry, Site
from flowli.stores.memory import MemoryStore
from flowli.testing.env import TestEnvironment
from flowli.testing.stores import CountingStore
from flowli_patterns.public import (
    Every,
    debounce,
    delegate,
    fan_out,
    mutex,
    on_tick,
    review,
    saga,
    semaphore,
    singleton,
    throttle,
)

PAGES = Path(__file__).parents[3] / "docs" / "how-to" / "patterns"

registry = Registry()


async def work(number: int) -> int:
    return number


async def undo(number: int) -> None:
    pass


@registry.workflow
async def fan(ctx: Context, bound: int | None) -> list[int]:
    return await fan_out(ctx, lambda n: ctx.step(work, n), range(20), max_in_flight=bound)


@registry.workflow
async def ticks(ctx: Context) -> int:
    return await on_tick(ctx, lambda tick: ctx.step(work, tick.number), every=60, times=3)


@registry.workflow
async def delegated(ctx: Context) -> int:
    return await delegate(ctx, "agents", 1, as_type=int)


@registry.workflow
async def two_actions(ctx: Context, fail: bool) -> None:
    async with saga(ctx) as s:
        await s.step(work, 1, undo=undo)
        await s.step(work, 2, undo=undo)
        if fail:
            raise ValueError("as asked")


@registry.workflow
async def locked(ctx: Context) -> None:
    async with mutex(ctx, "door"):
        pass


@registry.workflow
async def pooled(ctx: Context) -> None:
    async with semaphore(ctx, "pool", 2):
        pass


@registry.workflow
async def single(ctx: Context) -> None:
    async with singleton(ctx, "import"):
        pass


@registry.workflow
async def paced(ctx: Context) -> None:
    await throttle(ctx, "gateway", 10, 60)


@registry.workflow
async def calm(ctx: Context) -> None:
    await debounce(ctx, "index", 60)


@registry.workflow
async def empty(ctx: Context) -> None:
    pass


@registry.workflow
async def gate(ctx: Context) -> str:
    return (await review(ctx, "go?")).verdict


class Meter:
    """An environment on a bucket that counts."""

    def __init__(self) -> None:
        self.env = TestEnvironment(registry, ports=self._open, check_replay=False)

    def _open(self, world):
        self.store = CountingStore(MemoryStore(world=world))
        return CairnBackend(self.store, world=world).ports

    async def writes(self, *parts) -> list[int]:
        """How many writes each part takes."""
        found = []
        for part in parts:
            mark = self.store.snapshot()
            await part
            found.append(self.store.since(mark).put)
        return found


@pytest.fixture
async def meter():
    meter = Meter()
    async with meter.env as env:
        await env.run(two_actions, False)  # the first use checks the bucket
        yield meter


def said(page: str) -> dict[str, int]:
    text = (PAGES / f"{page}.md").read_text().partition("**What it costs.**")[2].partition("**In the ")[0]
    return {what: int(writes) for what, writes in re.findall(r"^\| (.+?) \| (\d+) \|$", text, re.MULTILINE)}


async def whole(meter: Meter, workflow, *args) -> int:
    async def life() -> None:
        await meter.env.start(workflow, *args)
        await meter.env.run_until_idle()

    return (await meter.writes(life()))[0]


async def test_fan_out(meter):
    counted = {
        "20 short steps, no bound": await whole(meter, fan, None),
        "20 short steps, `max_in_flight=5`": await whole(meter, fan, 5),
    }
    assert counted == said("fan-out")


async def test_on_tick(meter):
    assert {"3 ticks of one step each": await whole(meter, ticks)} == said("on-tick")


async def test_saga(meter):
    counted = {
        "2 actions, none undone": await whole(meter, two_actions, False),
        "2 actions, both undone": await whole(meter, two_actions, True),
    }
    assert counted == said("saga")


async def test_delegate(meter):
    async def answer(payload) -> int:
        return 2

    async def life() -> None:
        env = meter.env
        await env.start(delegated)
        await env.settle()
        consumer = Consumer(env.engine.ports, "agents", answer, site=Site("agent"), world=env.engine.world)
        await env.clock.drive(consumer.run_once())
        await env.run_until_idle()

    assert {"one delegate, answered": (await meter.writes(life()))[0]} == said("delegate")


async def test_review(meter):
    async def opened() -> None:
        await meter.env.start(gate)
        await meter.env.settle()

    (opening,) = await meter.writes(opened())
    reviews = meter.env.engine.reviews
    (view,) = await meter.env.clock.drive(reviews.list())
    deciding, going_on = await meter.writes(
        meter.env.clock.drive(reviews.decide(view.review, "approve", actor="bob")), meter.env.run_until_idle()
    )
    assert said("review") == {
        "an execution up to its open review": opening,
        "`reviews.decide`": deciding,
        "going on, to the end of the execution": going_on,
    }


async def test_schedules(meter):
    env, schedules, sweeper = meter.env, meter.env.engine.schedules, meter.env.engine.sweeper()
    (defining,) = await meter.writes(env.clock.drive(schedules.add("grid", empty, Every(60))))
    await env.clock.drive(sweeper.sweep_once())
    env.clock.jump(env.clock.now() + timedelta(seconds=60))
    slot, again = await meter.writes(env.clock.drive(sweeper.sweep_once()), env.clock.drive(sweeper.sweep_once()))
    assert said("schedules") == {
        "defining, pausing or changing a schedule": defining,
        "one slot: decided, started, told": slot,
        "a pass in which nothing is due": again,
    }
    (pausing,) = await meter.writes(env.clock.drive(schedules.pause("grid")))
    (changing,) = await meter.writes(env.clock.drive(schedules.update("grid", note="changed")))
    assert defining == pausing == changing


async def test_coordinate(meter):
    bare = await whole(meter, empty)
    for workflow in (locked, pooled, single, paced, calm):  # what the first use of a name makes is made
        await whole(meter, workflow)
    assert {
        "mutex": await whole(meter, locked) - bare,
        "semaphore of 2 permits": await whole(meter, pooled) - bare,
        "singleton": await whole(meter, single) - bare,
        "throttle, the second place of its window": await whole(meter, paced) - bare,
        "debounce, nobody follows": await whole(meter, calm) - bare,
        "debounce, one of many that follow one another": await followed(meter) - bare,
    } == said("coordinate")


async def followed(meter: Meter) -> int:
    """What one call writes while calls come one after another, and what the one before writes to its end."""

    async def call() -> None:
        await meter.env.start(calm)
        await meter.env.settle()

    return (await meter.writes(call(), call(), call()))[-1]


async def test_a_call_of_a_debounce_costs_the_same_however_many_came_before(meter):
    """PAT-19: requests and bytes of a call, and of telling the one before; also of a process that knows nothing yet."""
    counted = []
    for number in range(42):
        if number == 41:
            await meter.env.restart()
        mark = meter.store.snapshot()
        await meter.env.start(calm)
        await meter.env.settle()
        counted.append(meter.store.since(mark))
    fifth, late, cold = counted[4], counted[40], counted[41]
    assert (late.get, late.put, late.list, late.delete) == (fifth.get, fifth.put, fifth.list, fifth.delete)
    assert late.sent <= fifth.sent + 20  # longer numbers
    assert late.received <= fifth.received + 20
    assert cold.put == late.put
    assert cold.get <= late.get + 4 * 6  # the end of the row is searched by doubling
    assert cold.received <= 2 * late.received
