"""The same through an engine and a worker: what ran with random latencies replays, and what differs is parked."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from flowli.adapters.memory import MemoryBackend
from flowli.domain.entries import ExecutionCompleted, ExecutionSuspended, JournalEntry
from flowli.domain.errors import ExecutionFailed
from flowli.domain.execution import ExecutionStatus
from flowli.domain.ids import Eid
from flowli.domain.ports import Ports
from flowli.domain.provenance import Site
from flowli.domain.waits import OnOperator
from flowli.runtime.context import Context
from flowli.runtime.engine import Engine
from flowli.runtime.registry import Registry
from flowli.testing.clock import ManualClock, ManualWorld
from flowli.testing.replay import replay


class Shop:
    """One bucket, and the workers that come and go over it."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.world = ManualWorld(self.clock)
        self.ports: Ports = MemoryBackend(self.world).ports
        self.engines = 0

    def engine(self, *workflows: Callable[..., Awaitable[Any]]) -> Engine:
        self.engines += 1
        registry = Registry()
        for one in workflows:
            registry.add(one)
        name = f"worker-{self.engines}"
        return Engine(self.ports, Site(name), registry=registry, world=ManualWorld(self.clock, name=name))

    async def work(self, engine: Engine, seconds: float = 60.0) -> None:
        """Let a worker of ``engine`` work for a while."""
        worker = engine.worker(sweeper=True)
        running = asyncio.create_task(worker.run())
        await self.clock.advance(seconds)
        worker.stop()
        await self.clock.run(asyncio.wait_for(running, None))

    async def journal(self, engine: Engine, eid: Eid) -> list[JournalEntry]:
        return list(await self.clock.run(engine.journal(eid)))


@pytest.fixture
def shop() -> Shop:
    return Shop()


def busy(shop: Shop, chance: random.Random) -> Callable[..., Any]:
    async def slow(n: int) -> int:
        await shop.clock.sleep(chance.random() * 3)
        if chance.random() < 0.2:
            raise ValueError(f"broken {n}")
        return n

    async def branch(ctx: Context, n: int, said: list[str]) -> int:
        try:
            async with asyncio.timeout(2):
                first = await ctx.step(slow, n)
        except Exception as error:
            said.append(f"{n} {type(error).__name__}")
            first = 0
        await asyncio.sleep(0.5)
        said.append(f"{n} at {ctx.now.isoformat()}")
        return first + await ctx.step(slow, n, name="again")

    async def busy(ctx: Context) -> list[str]:
        said: list[str] = []
        done, pending = await asyncio.wait(
            {asyncio.create_task(branch(ctx, n, said)) for n in range(5)}, return_when=asyncio.FIRST_COMPLETED
        )
        said += [str(one.exception() or one.result()) for one in done]
        for found in await asyncio.gather(*pending, return_exceptions=True):
            said.append(str(found))
        said.append(str(await ctx.receive("nobody", timeout=1)))
        return said

    return busy


@pytest.mark.parametrize("seed", range(12))
async def test_what_a_worker_ran_replays_from_every_prefix(shop: Shop, seed: int) -> None:
    workflow = busy(shop, random.Random(seed))
    engine = shop.engine(workflow)
    eid = await shop.clock.run(engine.start("busy"))
    await shop.work(engine)
    journal = await shop.journal(engine, eid)
    assert isinstance(journal[-1].body, ExecutionCompleted)
    replay(workflow, journal).check()
    for n in range(1, len(journal)):
        assert replay(workflow, journal[:n]).difference is None


async def waits(ctx: Context) -> str:
    await ctx.step(first, 1)
    said = await ctx.receive("go")
    return f"{said} {await ctx.step(second, 2)}"


def first(n: int) -> int:
    return n


def second(n: int) -> int:
    return n


def changed() -> Callable[..., Any]:
    async def waits(ctx: Context) -> str:
        await ctx.step(second, 2)
        await ctx.step(first, 1)
        return str(await ctx.receive("go"))

    return waits


async def test_other_code_parks_the_execution_and_the_old_code_goes_on(shop: Shop) -> None:
    """RPL-5."""
    old = shop.engine(waits)
    eid = await shop.clock.run(old.start("waits"))
    other = await shop.clock.run(old.start("waits"))
    await shop.work(old)
    new = shop.engine(changed())
    await shop.clock.run(new.signal(eid, "go", "went"))
    await shop.work(new)
    view = await shop.clock.run(new.status(eid))
    assert view.status is ExecutionStatus.SUSPENDED
    (parked,) = [on for on in view.waits_on if isinstance(on, OnOperator)]
    assert parked.cause == "nondeterminism"
    assert "at entry 2: the journal has step 'first' as root/first#1, the code made step 'second' as root/second#1" in (
        parked.reason
    )
    assert (await shop.clock.run(new.status(other))).status is ExecutionStatus.SUSPENDED
    journal = await shop.journal(new, eid)
    assert isinstance(journal[-1].body, ExecutionSuspended)
    again = shop.engine(waits)
    await shop.work(again, 200)  # a worker with other code than that which parked it tries it by itself
    assert await shop.clock.run(again.result(eid)) == "went 2"


async def test_what_ends_a_process_ends_one_execution_and_not_its_worker(shop: Shop) -> None:
    """RPL-18."""

    async def leaves(ctx: Context) -> None:
        raise SystemExit(3)

    async def stays(ctx: Context) -> int:
        return await ctx.step(first, 1)

    engine = shop.engine(leaves, stays)
    one = await shop.clock.run(engine.start("leaves"))
    other = await shop.clock.run(engine.start("stays"))
    await shop.work(engine)
    with pytest.raises(ExecutionFailed, match="SystemExit: 3"):
        await shop.clock.run(engine.result(one))
    assert await shop.clock.run(engine.result(other)) == 1


async def test_a_forbidden_call_and_a_coroutine_as_result_are_told_by_name(shop: Shop) -> None:
    async def in_a_thread(ctx: Context) -> None:
        await asyncio.to_thread(first, 1)

    def forgets_to_await(n: int) -> Any:
        async def inner() -> int:
            return n

        return inner()

    async def careless(ctx: Context) -> None:
        await ctx.step(forgets_to_await, 1)

    engine = shop.engine(in_a_thread, careless)
    one = await shop.clock.run(engine.start("in_a_thread"))
    other = await shop.clock.run(engine.start("careless"))
    await shop.work(engine)
    with pytest.raises(ExecutionFailed, match=r"asyncio\.to_thread.* cannot be used in a workflow"):
        await shop.clock.run(engine.result(one))
    with pytest.raises(ExecutionFailed, match="step 'forgets_to_await' returned a coroutine"):
        await shop.clock.run(engine.result(other))
