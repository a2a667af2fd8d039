"""Running executions on a corner of a bucket, with a watch and a counter of requests."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial

from flowli.adapters.cairndb import CairnBackend
from flowli.cairn.database import Cairn
from flowli.cairn.observe import CountedRequests, RequestCounts, observed
from flowli.cairn.store import ObjectStore
from flowli.cli.doctor.bill import PRICES, Prices
from flowli.domain.provenance import Site
from flowli.runtime import Context, Engine, EngineConfig, Registry
from flowli.world import World

__all__ = ["Figures", "Plan", "Times", "measure"]

_BODY = b"x" * 512
_WORKFLOW = "flowli_bench"


@dataclass(frozen=True, slots=True)
class Plan:
    """What is run.

    Attributes:
        executions: how many, besides a tenth of them alone, one after the other.
        steps: of each.
        concurrency: executions that the one worker runs at once.
    """

    executions: int
    steps: int
    concurrency: int


@dataclass(frozen=True, slots=True)
class Times:
    """Durations in milliseconds: half of them, nine of ten, all of them took at most so long."""

    p50_ms: float
    p90_ms: float
    max_ms: float

    @classmethod
    def of(cls, seconds: Sequence[float]) -> Times:
        """Of some durations, at least one."""
        ordered = sorted(1000 * one for one in seconds)
        last = len(ordered) - 1
        return cls(ordered[last // 2], ordered[last * 9 // 10], ordered[last])


@dataclass(frozen=True, slots=True)
class Figures:
    """What was measured.

    Attributes:
        create: a durable create, one after the other.
        creates_per_s: with as many at once as executions.
        alone: start to result of an execution while nothing else runs.
        executions_per_s, steps_per_s: of many at once, from the first start to the last result.
        writes, lists, reads, deletes: requests of one of these, on average; everything is counted.
        sent, received: bytes of bodies of one.
        usd_per_million: at list prices.
        free: requests cost nothing here; the prices are those of S3.
    """

    create: Times
    creates_per_s: float
    alone: Times
    executions_per_s: float
    steps_per_s: float
    writes: float
    lists: float
    reads: float
    deletes: float
    sent: float
    received: float
    usd_per_million: float
    free: bool


async def measure(store: ObjectStore, plan: Plan, world: World, progress: Callable[[], None]) -> Figures:
    """Measure on an empty store.

    Args:
        progress: called once for each execution.
    """
    create, rate = await _creates(store, plan.concurrency, world)
    await Cairn(store, world).ensure_layout()  # the store is tried out by `flowli doctor`, not here
    counts = RequestCounts()
    backend = CairnBackend(observed(store, counts, world=world), world=world)
    registry = Registry()
    registry.workflow(name=_WORKFLOW)(_steps)
    engine = Engine(backend.ports, Site.local("bench"), registry=registry, config=EngineConfig(), world=world)
    worker = engine.worker(concurrency=plan.concurrency)
    running = asyncio.ensure_future(worker.run())

    async def one() -> float:
        began_s = world.monotonic_s()
        await engine.result(await engine.start(_WORKFLOW, plan.steps))
        progress()
        return world.monotonic_s() - began_s

    try:
        alone = [await one() for _ in range(max(1, plan.executions // 10))]
        before, began_s = counts.rows(), world.monotonic_s()
        await _at_once([one] * plan.executions, 4 * plan.concurrency)
        took_s = world.monotonic_s() - began_s
    finally:
        worker.stop()
        await running
        await engine.announcer.drain()
        await backend.close()
    spent = _spent(before, counts.rows())  # tasks are acknowledged after their results are known
    kind = store.url.partition(":")[0]
    each = {verb: one.requests / plan.executions for verb, one in spent.items()}
    return Figures(
        create,
        rate,
        Times.of(alone),
        plan.executions / took_s,
        plan.executions * plan.steps / took_s,
        each["put"],
        each["list"],
        each["get"],
        each["delete"],
        sum(one.sent_bytes for one in spent.values()) / plan.executions,
        sum(one.received_bytes for one in spent.values()) / plan.executions,
        _usd(PRICES.get(kind, PRICES["s3"]), each),
        kind not in PRICES,
    )


async def _steps(ctx: Context, steps: int) -> int:
    n = 0
    for _ in range(steps):
        n = await ctx.step(_add_one, n)
    return n


async def _add_one(n: int) -> int:
    return n + 1


async def _creates(store: ObjectStore, at_once: int, world: World) -> tuple[Times, float]:
    async def create(number: int) -> float:
        began_s = world.monotonic_s()
        await store.put(f"wf/bench/{number:06d}", _BODY, if_absent=True)
        return world.monotonic_s() - began_s

    times = [await create(number) for number in range(30)]
    many = max(100, 10 * at_once)
    began_s = world.monotonic_s()
    await _at_once([partial(create, number) for number in range(30, 30 + many)], at_once)
    return Times.of(times), many / (world.monotonic_s() - began_s)


async def _at_once(works: Sequence[Callable[[], Awaitable[object]]], most: int) -> None:
    left = iter(works)

    async def go_on() -> None:
        for work in left:
            await work()

    await asyncio.gather(*(go_on() for _ in range(most)))


def _spent(before: Sequence[CountedRequests], after: Sequence[CountedRequests]) -> dict[str, CountedRequests]:
    """What was asked for between the two, by verb."""
    spent = {verb: CountedRequests(verb, after[0].outcome) for verb in ("put", "list", "get", "delete")}
    for rows, sign in ((after, 1), (before, -1)):
        for one in rows:
            verb = "delete" if one.verb == "delete_many" else one.verb
            so_far = spent[verb]
            spent[verb] = CountedRequests(
                verb,
                so_far.outcome,
                so_far.requests + sign * one.requests,
                0.0,
                so_far.sent_bytes + sign * one.sent_bytes,
                so_far.received_bytes + sign * one.received_bytes,
            )
    return spent


def _usd(prices: Prices, each: dict[str, float]) -> float:
    return 1000 * ((each["put"] + each["list"]) * prices.put + each["get"] * prices.get)
