"""What a million executions of five steps cost at the list prices of S3, by every request that is made for them.

Nothing is left out: starts, listings, the control log, the signs of life, what is read.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import pytest

from flowli import Context
from flowli.cairn.store import ObjectStore
from flowli.cli.doctor.bill import PRICES
from flowli.testing.stores import CountingStore, Counts

from .fleet import Fleet, Process

T = TypeVar("T")

STEPS = 5
STEP_S, APART_S = 0.06, 0.1
GOAL_USD = 50.0
PAGE = Path(__file__).parents[4] / "docs/explanation/cost.md"
MANY = 120


@dataclass(frozen=True)
class Spent:
    """What one execution cost on average."""

    put: float
    list: float
    get: float
    sent: float

    @property
    def usd_per_million(self) -> float:
        prices = PRICES["s3"]
        return 1000 * ((self.put + self.list) * prices.put + self.get * prices.get)


@pytest.fixture
async def make(tmp_path: Path) -> AsyncIterator[Callable[[], Fleet]]:
    """Makes fleets, each with a bucket of its own."""
    fleets: list[Fleet] = []

    def fleet() -> Fleet:
        fleets.append(registered(Fleet("cairn", tmp_path)))
        return fleets[-1]

    yield fleet
    for one in fleets:
        await one.close()


def registered(made: Fleet) -> Fleet:
    async def one(n: int) -> int:
        await made.clock.sleep(STEP_S)
        return n + 1

    @made.registry.workflow
    async def five(ctx: Context) -> int:
        n = 0
        for _ in range(STEPS):
            n = await ctx.step(one, n)
        return n

    return made


async def _all(works: Iterable[Awaitable[T]]) -> list[T]:
    return list(await asyncio.gather(*works))


async def begin(fleet: Fleet, processes: list[Process]) -> None:
    """One worker after the other, as they are deployed: in step they would all want the same tasks."""
    for process in processes:
        process.work(sweep=False, concurrency=8)
        await fleet.clock.advance(APART_S)


async def spent(fleet: Fleet, workers: int, *, backlog: bool) -> Spent:
    """Start executions one after the other while workers listen, or all of them before the first worker comes."""
    stores: list[CountingStore] = []

    def counted(store: ObjectStore) -> CountingStore:
        stores.append(CountingStore(store))
        return stores[-1]

    app = fleet.process("starter", wrap=counted)
    processes = [fleet.process(f"w-{n}", wrap=counted) for n in range(workers)]
    for process in (app, *processes):
        await process.backend.check()
    for store in stores:
        store.requests.clear()
    if not backlog:
        await begin(fleet, processes)
    eids = await fleet.run(_all(app.engine.start("five") for _ in range(MANY)))
    if backlog:
        await begin(fleet, processes)
    assert await fleet.run(_all(fleet.app.engine.result(eid) for eid in eids)) == [STEPS] * MANY
    for process in processes:
        await fleet.run(process.stop())
    await fleet.run(app.engine.announcer.drain())
    counts = Counts.of(request for store in stores for request in store.requests)
    return Spent(counts.put / MANY, counts.list / MANY, counts.get / MANY, counts.sent / MANY)


@pytest.mark.parametrize("backlog", [False, True], ids=["steady", "backlog"])
async def test_a_million_executions_of_five_steps(make: Callable[[], Fleet], backlog: bool) -> None:
    """BUD-11; the page on cost says the same."""
    usd = {workers: (await spent(make(), workers, backlog=backlog)).usd_per_million for workers in (1, 2, 4)}
    assert usd[1] <= GOAL_USD
    assert usd[2] <= GOAL_USD
    assert max(usd.values()) <= 1.1 * min(usd.values()), "another worker costs its signs of life and some reads"
    rows = re.compile(rf"^\| (\d) workers?, {'backlog' if backlog else 'steady'} \| ([\d.]+) ", re.MULTILINE)
    told = rows.findall(PAGE.read_text())
    assert {int(workers): float(text) for workers, text in told} == pytest.approx(usd, rel=0.03)
