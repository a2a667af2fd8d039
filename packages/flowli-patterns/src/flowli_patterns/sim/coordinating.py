"""Mutex and semaphore: what they protect refuses whoever was overtaken, and one who waits or holds is terminated."""

from __future__ import annotations

from functools import partial

from flowli import Context, NonRetryableError, Registry
from flowli.domain.errors import NotAllowed
from flowli.testing.sim import Client, Cluster, Expected, Workload
from flowli_patterns.coordinate.leases import mutex, semaphore

__all__ = ["COORDINATING"]

_PERMITS = 2


def _registry(cluster: Cluster) -> Registry:
    registry = Registry()

    async def touch(what: str, epoch: int) -> int:
        cluster.effect(f"{what} {epoch}")
        fences: dict[str, int] = cluster.memory.setdefault("fences", {})
        if epoch < fences.get(what, 0):
            # a late attempt of a process that lost its execution may come here; its outcome counts for nothing
            raise NonRetryableError(f"{what} was taken by somebody else")
        fences[what] = epoch
        return epoch

    @registry.workflow
    async def main(ctx: Context) -> str:
        async with mutex(ctx, "door") as held:
            await ctx.step(touch, "door", held.epoch)
            await ctx.sleep(1)
            await ctx.step(touch, "door", held.epoch)
        async with semaphore(ctx, "pool", _PERMITS) as held:
            await ctx.step(touch, f"permit-{held.permit}", held.epoch)
            await ctx.sleep(1)
            await ctx.step(touch, f"permit-{held.permit}", held.epoch)
        return "done"

    return registry


async def _drive(client: Client) -> None:
    eids = [await client.again(partial(client.engine.start, "main", key=f"k{n}")) for n in range(1, 4)]
    for eid in eids[1:]:
        client.expect(eid, Expected(("done",)))
    client.expect(eids[0], Expected(("done",), ("completed", "cancelled")))

    async def end() -> None:
        try:
            await client.engine.terminate(eids[0], "enough")
        except NotAllowed:  # it has ended
            pass

    await client.world.sleep(client.world.random().uniform(0.5, 3.0))
    await client.again(end)


def _check(cluster: Cluster) -> list[str]:
    """One execution an epoch."""
    owners: dict[str, set[str]] = {}
    for effect in cluster.ledger.effects:
        owners.setdefault(effect.note, set()).add(str(effect.eid))
    return [f"{note} was held by {len(eids)} executions" for note, eids in owners.items() if len(eids) > 1]


COORDINATING = (Workload("coordinate", _registry, _drive, _check),)
"""Mutex and semaphore."""
