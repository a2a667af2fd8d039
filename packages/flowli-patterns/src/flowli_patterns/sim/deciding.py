"""Reviews: two people and the deadline at the same moment; several who have to agree."""

from __future__ import annotations

import asyncio
from typing import Any

from flowli import Context, Registry
from flowli.domain.errors import NotAllowed
from flowli.testing.sim import Client, Cluster, Expected, Workload
from flowli_patterns.errors import ReviewDecided, UnknownReview
from flowli_patterns.review.call import review
from flowli_patterns.review.verbs import Reviews

__all__ = ["DECIDING"]


async def _decide(client: Client, reviews: Reviews, name: str, verdict: str, who: str) -> str:
    """Decide, and tell what stands: one's own verdict, or what the refusal names."""
    told: dict[str, str] = client.cluster.memory.setdefault("told", {})

    async def ask() -> str:
        while True:
            try:
                view = await reviews.decide(name, verdict, actor=who)
                return view.decision.verdict if view.decision is not None else "open"
            except UnknownReview:  # the execution has not come so far
                await client.world.sleep(0.5)
            except ReviewDecided as decided:
                return decided.decision.verdict
            except NotAllowed:
                return "late"

    told[who] = await client.again(ask)
    return told[who]


def _gate(cluster: Cluster) -> Registry:
    registry = Registry()

    async def act(verdict: str) -> str:
        cluster.effect(f"act {verdict}")
        return verdict

    @registry.workflow
    async def main(ctx: Context) -> str:
        decision = await review(ctx, "go?", deadline=20, if_expired="expire", verdicts=["approve", "reject", "expire"])
        done = await ctx.step(act, decision.verdict)
        later = await review(ctx, "and now?", deadline=5, if_expired="expire", verdicts=["approve", "expire"])
        return f"{done} {later.verdict}"

    return registry


async def _drive_gate(client: Client) -> None:
    eid = await client.again(lambda: client.engine.start("main", key="k1"))
    client.expect(eid, Expected(("approve expire", "reject expire", "expire expire")))
    reviews, name = Reviews(client.engine), f"{eid}:review-1"
    await client.world.sleep(18.5 - client.world.random().uniform(0.0, 1.0))
    async with asyncio.TaskGroup() as group:
        for who, verdict in (("bob", "approve"), ("cat", "reject")):
            group.create_task(_decide(client, reviews, name, verdict, who))


def _check_gate(cluster: Cluster) -> list[str]:
    """K37: one decision; it is acted upon; everybody who was told of one was told of that one."""
    acted = {effect.note.removeprefix("act ") for effect in cluster.ledger.effects}
    told: dict[str, str] = cluster.memory.get("told", {})
    if len(acted) > 1:
        return [f"K37: several decisions were acted upon: {sorted(acted)}"]
    wrong = {who: what for who, what in told.items() if what not in acted and what != "late"}
    return [f"K37: {wrong} were told, and {acted} was acted upon"] if wrong else []


def _votes(cluster: Cluster) -> Registry:
    registry = Registry()

    @registry.workflow
    async def main(ctx: Context) -> list[str]:
        decision = await review(ctx, "go?", deciders=["bob", "cat", "dan"], approvals=2, deadline=400, remind=30)
        return [decision.verdict, *sorted(decision.by)]

    return registry


async def _drive_votes(client: Client) -> None:
    eid = await client.again(lambda: client.engine.start("main", key="k1"))
    pairs: tuple[Any, ...] = (["approve", "bob", "eve"], ["approve", "bob", "cat"], ["approve", "cat", "eve"])
    client.expect(eid, Expected(pairs))
    reviews, name = Reviews(client.engine), f"{eid}:review-1"
    await _decide(client, reviews, name, "approve", "bob")

    async def hand_over() -> None:
        try:
            await reviews.delegate(name, "eve", actor="dan")
        except NotAllowed:  # asked again after a crash of the client, when all was over
            pass

    await client.again(hand_over)
    async with asyncio.TaskGroup() as group:
        for who in ("cat", "eve"):
            group.create_task(_decide(client, reviews, name, "approve", who))


DECIDING = (
    Workload("review", _gate, _drive_gate, _check_gate),
    Workload("votes", _votes, _drive_votes),
)
"""Reviews: two people and the deadline at the same moment; several who have to agree."""
