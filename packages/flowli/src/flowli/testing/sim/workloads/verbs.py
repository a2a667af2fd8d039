"""What operators ask of executions."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from flowli.domain.errors import NotAllowed
from flowli.runtime import Context, Registry
from flowli.testing.sim.workload import Expected, Workload

if TYPE_CHECKING:
    from flowli.testing.sim.cluster import Cluster
    from flowli.testing.sim.fleet import Client

__all__ = ["WORKLOADS"]


def _cancel(cluster: Cluster) -> Registry:
    registry = Registry()

    async def clean() -> str:
        cluster.effect("clean")
        return "clean"

    @registry.workflow
    async def main(ctx: Context) -> str:
        try:
            await ctx.receive("never")
        finally:
            await ctx.step(clean)
        return "?"

    return registry


async def _drive_cancel(client: Client) -> None:
    eid = await client.again(lambda: client.engine.start("main", key="k1"))
    client.expect(eid, Expected(statuses=("cancelled",)))
    await client.world.sleep(2.0)

    async def cancel() -> None:
        with contextlib.suppress(NotAllowed):
            await client.engine.cancel(eid, "enough", key="c1")

    await client.again(cancel)


def _pause(cluster: Cluster) -> Registry:
    registry = Registry()

    async def work(n: int) -> int:
        cluster.effect(f"work {n}")
        await asyncio.sleep(0.3)
        return n

    @registry.workflow
    async def main(ctx: Context) -> int:
        total = 0
        for n in range(4):
            total += await ctx.step(work, n)
            await ctx.sleep(0.5)
        return total

    return registry


async def _drive_pause(client: Client) -> None:
    eid = await client.again(lambda: client.engine.start("main", key="k1"))
    client.expect(eid, Expected((6,)))
    await client.world.sleep(1.0)

    async def quietly(verb: Callable[..., Awaitable[None]], key: str) -> None:
        with contextlib.suppress(NotAllowed):
            await verb(eid, "just so", key=key)

    await client.again(lambda: quietly(client.engine.pause, "p1"))
    await client.world.sleep(5.0)
    await client.again(lambda: quietly(client.engine.resume, "p2"))


def _migrate(cluster: Cluster) -> Registry:
    registry = Registry()

    async def note(what: str) -> str:
        cluster.effect(what)
        return what

    @registry.workflow(name="main", version="2")
    async def later(ctx: Context) -> list[str]:
        got = [await ctx.step(note, "first"), await ctx.receive("go")]
        if ctx.patched("twice"):
            got.append(await ctx.step(note, "second"))
        return got

    @registry.workflow(name="main", version="1")
    async def earlier(ctx: Context) -> list[str]:
        return [await ctx.step(note, "first"), await ctx.receive("go")]

    return registry


async def _drive_migrate(client: Client) -> None:
    eid = await client.again(lambda: client.engine.start("main", key="k1"))
    client.expect(eid, Expected((["first", "go", "second"],)))
    await client.world.sleep(3.0)
    await client.again(lambda: client.engine.migrate(eid, "2", "better", key="m1"))
    await client.again(lambda: client.engine.signal(eid, "go", "go", key="g1"))


def _terminate(cluster: Cluster) -> Registry:
    registry = Registry()

    async def work(n: int) -> int:
        cluster.effect(f"work {n}")
        await asyncio.sleep(0.3)
        return n

    @registry.workflow
    async def main(ctx: Context) -> int:
        for n in range(100):
            await ctx.step(work, n)
            await ctx.sleep(1 + n)
        return 100

    return registry


async def _drive_terminate(client: Client) -> None:
    eid = await client.again(lambda: client.engine.start("main", key="k1"))
    client.expect(eid, Expected(statuses=("cancelled",)))
    await client.world.sleep(6.0)

    async def terminate() -> None:
        with contextlib.suppress(NotAllowed):
            await client.engine.terminate(eid, "enough", key="t1")

    await client.again(terminate)


def _deadline(cluster: Cluster) -> Registry:
    registry = Registry()

    async def clean() -> None:
        cluster.effect("clean")

    @registry.workflow(timeout=5)
    async def main(ctx: Context) -> None:
        try:
            await ctx.receive("never")
        finally:
            await ctx.step(clean)

    return registry


async def _drive_deadline(client: Client) -> None:
    eid = await client.again(lambda: client.engine.start("main", key="k1"))
    client.expect(eid, Expected(statuses=("cancelled",)))


def _again(cluster: Cluster) -> Registry:
    registry = Registry()

    async def count(n: int) -> int:
        cluster.effect(f"count {n}")
        return n

    async def try_it(n: int) -> int:
        cluster.effect(f"try {n}")
        if not cluster.memory.get("repaired"):
            raise ValueError("broken")
        return n

    @registry.workflow
    async def main(ctx: Context) -> int:
        return await ctx.step(count, 1) + await ctx.step(try_it, 2)

    return registry


async def _drive_again(client: Client) -> None:
    memory, engine = client.cluster.memory, client.engine
    eid = await client.again(lambda: engine.start("main", key="k1"))
    client.expect(eid, Expected(statuses=("failed",)))
    while not (await client.again(lambda: engine.status(eid))).status.terminal:
        await client.world.sleep(1.0)
    memory["repaired"] = True
    other = await client.again(lambda: engine.retry(eid, "repaired", key="r1"))
    client.expect(other, Expected((3,)))
    memory.setdefault("retries", set()).add(other)


def _check_again(cluster: Cluster) -> list[str]:
    """One request makes one execution, and what was done before the failure is not done again."""
    found = cluster.memory.get("retries", set())
    again = [effect for effect in cluster.ledger.effects if effect.eid in found and effect.note == "count 1"]
    problems = [f"S1: one retry led to {len(found)} executions"] if len(found) > 1 else []
    return problems + ([f"S5: a memoized step of {again[0].eid} ran again"] if again else [])


WORKLOADS = (
    Workload("cancel", _cancel, _drive_cancel),
    Workload("pause", _pause, _drive_pause),
    Workload("migrate", _migrate, _drive_migrate),
    Workload("terminate", _terminate, _drive_terminate),
    Workload("deadline", _deadline, _drive_deadline),
    Workload("again", _again, _drive_again, _check_again),
)
"""What operators ask of executions."""
