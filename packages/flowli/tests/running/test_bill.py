"""What a million executions of five steps cost at the list prices of S3, by every request that is made for them.

Nothing is left out: starts, listings, the control log, the signs of life, what is read.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from flowli import Context
from flowli.cli.doctor.bill import PRICES
from flowli.testing.stores import CountingStore, Counts

from .fleet import Fleet

STEPS = 5
GOAL_USD = 50.0
MANY = 150


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
async def fleet(tmp_path: Path) -> AsyncIterator[Fleet]:
    made = Fleet("cairn", tmp_path)

    @made.registry.workflow
    async def five(ctx: Context) -> int:
        n = 0
        for _ in range(STEPS):
            n = await ctx.step(one, n)
        return n

    yield made
    await made.close()


async def one(n: int) -> int:
    return n + 1


async def spent(fleet: Fleet, workers: int, *, backlog: bool) -> Spent:
    """Start executions one after the other while workers listen, or all of them before the first worker comes."""
    stores: list[CountingStore] = []

    def counted(store: object) -> CountingStore:
        stores.append(CountingStore(store))  # type: ignore[arg-type]
        return stores[-1]

    app = fleet.process("starter", wrap=counted)
    processes = [fleet.process(f"w-{n}", wrap=counted) for n in range(workers)]
    for process in (app, *processes):
        await process.backend.check()
    for store in stores:
        store.requests.clear()
    if not backlog:
        for process in processes:
            process.work(sweep=False)
    eids = list(await asyncio.gather(*(fleet.run(app.engine.start("five")) for _ in range(MANY))))
    if backlog:
        for process in processes:
            process.work(sweep=False)
    for eid in eids:
        assert await fleet.run(fleet.app.engine.result(eid)) == STEPS
    for process in processes:
        await process.stop()
    await fleet.run(app.engine.announcer.drain())
    counts = Counts.of(request for store in stores for request in store.requests)
    return Spent(counts.put / MANY, counts.list / MANY, counts.get / MANY, counts.sent / MANY)


@pytest.mark.parametrize("workers", [1, 2, 4])
@pytest.mark.parametrize("backlog", [False, True], ids=["steady", "backlog"])
async def test_a_million_executions_of_five_steps(fleet: Fleet, workers: int, backlog: bool) -> None:
    """BUD-11."""
    found = await spent(fleet, workers, backlog=backlog)
    print(f"\nworkers {workers} backlog {backlog}: {found} {found.usd_per_million:.1f}")
    assert found.usd_per_million <= GOAL_USD
