"""A vote for the simulator: three people vote at once, one of them twice and otherwise, while faults strike."""

from __future__ import annotations

import asyncio
from functools import partial

from flowli import Context, Registry
from flowli.domain.errors import NotAllowed
from flowli.testing.sim import Client, Cluster, Expected, Workload
from flowli_pattern_vote.ballots import Ballots
from flowli_pattern_vote.vote import vote

__all__ = ["WORKLOADS"]

_VOTERS = ("ann", "bob", "cat")


def _registry(cluster: Cluster) -> Registry:
    registry = Registry()

    async def book(place: str) -> str:
        cluster.effect(f"book {place}")
        return place

    @registry.workflow
    async def main(ctx: Context) -> str:
        outcome = await vote(ctx, "where to?", _VOTERS, choices=["sea", "hills"])
        return await ctx.step(book, outcome.choice or "nothing")

    return registry


async def _drive(client: Client) -> None:
    eid = await client.again(lambda: client.engine.start("main", key="outing"))
    client.expect(eid, Expected(("sea",)))
    ballots = Ballots(client.engine)

    async def held_or_over() -> bool:
        return bool(await ballots.list()) or (await client.engine.status(eid)).status.terminal

    async def cast(voter: str, *choices: str) -> None:
        for choice in choices:
            try:
                await client.again(partial(ballots.cast, eid, voter, choice))
            except NotAllowed:  # the others have decided
                return

    while not await client.again(held_or_over):
        await client.world.sleep(0.5)
    await asyncio.gather(cast("ann", "sea"), cast("bob", "sea", "hills"), cast("cat", "hills"))


def _check(cluster: Cluster) -> list[str]:
    """One place is booked, whatever was repeated."""
    booked = {effect.note for effect in cluster.ledger.effects}
    return [] if booked == {"book sea"} else [f"booked: {sorted(booked)}"]


WORKLOADS = {"vote": Workload("vote", _registry, _drive, _check)}
"""By name."""
