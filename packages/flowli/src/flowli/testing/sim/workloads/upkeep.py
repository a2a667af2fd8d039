"""Sweep jobs, retention and erasing, beside executions that run."""

from __future__ import annotations

import contextlib
import functools
from typing import TYPE_CHECKING

from flowli.domain.errors import BackendError, NotAllowed
from flowli.domain.ids import Eid
from flowli.runtime import Context, Engine, Registry
from flowli.runtime.sweep_jobs import SweepJob
from flowli.testing.sim.bucket import Bucket
from flowli.testing.sim.node import EPOCH
from flowli.testing.sim.workload import Expected, Workload

if TYPE_CHECKING:
    from flowli.testing.sim.cluster import Cluster
    from flowli.testing.sim.fleet import Client

__all__ = ["WORKLOADS"]

_SECRET = 4_018_263_955
_PACKED = _SECRET.to_bytes(4, "big")


def _schedule(cluster: Cluster) -> Registry:
    registry = Registry()

    async def tick(slot: int) -> int:
        cluster.effect(f"slot {slot}")
        return slot

    @registry.workflow
    async def main(ctx: Context, slot: int) -> int:
        return await ctx.step(tick, slot)

    return registry


def _fire_slots(cluster: Cluster) -> list[SweepJob]:
    """Every five seconds one slot, four in all; the keys make each of them one execution whoever fires it."""
    fired: set[int] = set()

    async def fire(engine: Engine) -> None:
        due = min(4, int((engine.world.now().us - EPOCH.us) / 1e6 - 1000.0) // 5)
        for slot in set(range(due)) - fired:
            eid = await engine.start("main", slot, key=f"slot-{slot}")
            cluster.expected[eid] = Expected((slot,))
            cluster.memory.setdefault(f"slot {slot}", set()).add(eid)
            fired.add(slot)

    return [fire]


async def _drive_schedule(client: Client) -> None:
    while sum(f"slot {n}" in client.cluster.memory for n in range(4)) < 4:
        await client.world.sleep(1.0)


def _check_schedule(cluster: Cluster) -> list[str]:
    found = {n: len(cluster.memory.get(f"slot {n}", ())) for n in range(4)}
    return [] if set(found.values()) == {1} else [f"S1: executions by slot: {found}"]


def _retention(cluster: Cluster) -> Registry:
    registry = Registry()

    async def work(n: int) -> int:
        cluster.effect(f"work {n}")
        return n

    @registry.workflow
    async def main(ctx: Context, n: int) -> int:
        total = await ctx.step(work, n)
        total += int(await ctx.receive("more"))
        return total + await ctx.step(work, 1)

    return registry


async def _drive_retention(client: Client) -> None:
    for n in range(4):
        eid = await client.again(functools.partial(client.engine.start, "main", n, key=f"k{n}"))
        client.expect(eid, Expected((n + 11,)))

        async def tell(eid: Eid = eid) -> None:
            with contextlib.suppress(NotAllowed):  # it ended: an earlier call was answered by nobody
                await client.engine.signal(eid, "more", 10, key="m1")

        await client.again(tell)
        await client.world.sleep(3.0)


async def _retire(client: Client) -> None:
    """Fold away at once, and delete soon."""
    retention = client.engine.retention(0.5)
    while True:
        with contextlib.suppress(BackendError):
            await retention.run_once()
        await client.world.sleep(3.0)


def _objects(cluster: Cluster) -> dict[str, tuple[bytes, str, float]]:
    """What is in the bucket; nothing where another backend stands in its place, which keeps its own house."""
    return cluster.bucket.objects if isinstance(cluster.bucket, Bucket) else {}


def _check_retention(cluster: Cluster) -> list[str]:
    """No number of a log that retention freed was given to another commit and acknowledged."""
    freed: dict[str, int] = {}
    problems = []
    objects = _objects(cluster)
    for operation in cluster.bucket.operations:
        if not operation.key.startswith("logs/wf.exec.") or "/log/" not in operation.key:
            continue
        if operation.verb == "create" and operation.outcome == "Won" and operation.applied_s is not None:
            if operation.key in freed and operation.number > freed[operation.key]:
                still = operation.key in objects
                problems += [f"S9: {operation.key} was freed and is there again"] if still else []
        elif operation.verb.startswith("delete") and operation.applied_s is not None:
            freed.setdefault(operation.key, operation.number)
    return problems


_RETIRING = {"retention-1": _retire, "retention-2": _retire}


async def _drive_erase(client: Client) -> None:
    eid = await client.again(lambda: client.engine.start("main", 7, key="k1"))
    client.expect(eid, Expected(statuses=("completed",)))

    async def tell() -> None:
        with contextlib.suppress(NotAllowed):
            await client.engine.signal(eid, "more", _SECRET, key="m1")

    await client.again(tell)
    while not (await client.again(lambda: client.engine.status(eid))).status.terminal:
        await client.world.sleep(1.0)
    await client.again(lambda: client.engine.erase(eid, "asked for", key="e1"))
    client.cluster.memory["erased"] = True


def _check_erase(cluster: Cluster) -> list[str]:
    if not cluster.memory.get("erased"):
        return []
    told = str(_SECRET).encode()
    left = [key for key, (data, _, _) in _objects(cluster).items() if told in data or _PACKED in data]
    return [f"S9: {key} still holds what was erased" for key in left]


WORKLOADS = (
    Workload("schedule", _schedule, _drive_schedule, _check_schedule, sweepers=2, jobs=_fire_slots),
    Workload(
        "retention",
        _retention,
        _drive_retention,
        _check_retention,
        sweepers=2,
        settings={"retire_grace_s": 4.0},
        roles=_RETIRING,
    ),
    Workload("erase", _retention, _drive_erase, _check_erase, settings={"retire_grace_s": 4.0}, roles=_RETIRING),
)
"""Sweep jobs, retention and erasing, beside executions that run."""
