"""Limits, tasks that kill, leases with a name."""

from __future__ import annotations

import asyncio
import functools
from typing import TYPE_CHECKING

from flowli.runtime import Context, Registry
from flowli.testing.sim.loop import CURRENT
from flowli.testing.sim.node import Node
from flowli.testing.sim.workload import Expected, Workload

if TYPE_CHECKING:
    from flowli.testing.sim.cluster import Cluster
    from flowli.testing.sim.fleet import Client

__all__ = ["WORKLOADS"]


def _slots(cluster: Cluster) -> Registry:
    registry = Registry()

    async def work(n: int) -> int:
        cluster.effect(f"in {n}")
        await asyncio.sleep(0.4)
        cluster.effect(f"out {n}", starts=False)
        return n

    @registry.workflow
    async def main(ctx: Context, n: int) -> int:
        return await ctx.step(work, n)

    return registry


async def _drive_slots(client: Client) -> None:
    await client.again(lambda: client.engine.limit_queue("default", concurrency=1, key="l1"))
    await client.world.sleep(3.0)
    for n in range(4):
        eid = await client.again(functools.partial(client.engine.start, "main", n, key=f"k{n}"))
        client.expect(eid, Expected((n,)))


def _deadly(cluster: Cluster) -> Registry:
    registry = Registry()

    async def explode() -> None:
        node = CURRENT.get()
        assert isinstance(node, Node)
        cluster.memory["deaths"] = cluster.memory.get("deaths", 0) + 1
        cluster.fleet.kill(node)
        await asyncio.sleep(1.0)

    async def work(n: int) -> int:
        cluster.effect(f"work {n}")
        return n

    @registry.workflow
    async def poison(ctx: Context) -> None:
        await ctx.step(explode)

    @registry.workflow
    async def main(ctx: Context, n: int) -> int:
        return await ctx.step(work, n)

    return registry


async def _drive_deadly(client: Client) -> None:
    poison = await client.again(lambda: client.engine.start("poison", key="p1"))
    client.expect(poison, Expected(statuses=("failed",)))
    for n in range(4):
        eid = await client.again(functools.partial(client.engine.start, "main", n, key=f"k{n}"))
        client.expect(eid, Expected((n,)))


def _check_deadly(cluster: Cluster) -> list[str]:
    """Five workers die over one task; a crash may have left the execution a second one, which is counted apart."""
    deaths = cluster.memory.get("deaths", 0)
    return [f"L2: one execution killed {deaths} workers"] if deaths > 10 + len(cluster.struck) else []


def _named(cluster: Cluster) -> Registry:
    registry = Registry()

    async def push(n: int, fence: int) -> int:
        refused = fence < cluster.memory.get("fence", 0)
        cluster.memory["fence"] = max(fence, cluster.memory.get("fence", 0))
        cluster.effect(f"push {n} {'refused' if refused else 'taken'}")
        await asyncio.sleep(0.5)
        return n

    @registry.workflow
    async def main(ctx: Context, n: int) -> int:
        async with ctx.lease("repo") as held:
            return await ctx.step(push, n, fence=held.epoch)

    return registry


async def _drive_named(client: Client) -> None:
    for n in range(3):
        eid = await client.again(functools.partial(client.engine.start, "main", n, key=f"k{n}"))
        client.expect(eid, Expected((n,)))


WORKLOADS = (
    Workload("slots", _slots, _drive_slots),
    Workload("deadly", _deadly, _drive_deadly, _check_deadly, workers=3),
    Workload("named", _named, _drive_named),
)
"""Limits, tasks that kill, leases with a name."""
