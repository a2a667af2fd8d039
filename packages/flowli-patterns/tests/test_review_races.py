"""K37: two people and the deadline at the same moment, 200 rounds: one decision each, its effect once, losers told."""

import asyncio
import random
from collections import Counter
from datetime import timedelta

import pytest

from flowli import CairnBackend, Context, Engine, MemoryBackend, Registry, Site
from flowli.domain.errors import NotAllowed
from flowli.testing.env import TestEnvironment
from flowli_patterns.errors import ReviewDecided, ReviewExpired
from flowli_patterns.public import Reviews, review

registry = Registry()
ROUNDS = 200
acted: Counter[str] = Counter()


def act(eid: str, verdict: str) -> str:
    acted[eid] += 1
    return verdict


@registry.workflow
async def gate(ctx: Context) -> str:
    try:
        decision = await review(ctx, "go?", deadline=10)
    except ReviewExpired:
        return await ctx.step(act, str(ctx.eid), "expired")
    return await ctx.step(act, str(ctx.eid), f"{decision.verdict} by {decision.by[0]}")


@pytest.mark.parametrize("kind", ["memory", "cairn"])
async def test_k37_approve_reject_and_the_deadline_race(kind):
    """K37, PAT-11. Each person has an engine and an inbox of their own, and waits a random number of turns."""

    def ports(world):
        return (MemoryBackend(world) if kind == "memory" else CairnBackend.open("memory:", world=world)).ports

    chance, ends = random.Random(37), Counter[str]()
    acted.clear()
    async with TestEnvironment(registry, ports=ports, check_replay=False) as env:
        desks = [
            Reviews(Engine(env.engine.ports, Site(who), registry=registry, world=env.engine.world))
            for who in ("bob", "cat")
        ]
        for _ in range(ROUNDS // 2):
            eid = await env.start(gate)
            await env.settle()
            # the deadline is near; who comes first is for the loop to say
            env.clock.jump(env.clock.now() + timedelta(seconds=9))
            told = await env.clock.drive(_race(env, desks, f"{eid}:review-1", chance))
            await env.run_until_idle()
            result = await env.result(eid)
            ends[result] += 1
            assert acted[str(eid)] == 1
            assert set(told) == {result}
    assert sum(ends.values()) == ROUNDS // 2
    assert min(ends["approve by bob"], ends["reject by cat"], ends["expired"]) >= 3, ends


async def _race(env, desks, name, chance) -> list[str]:
    async def turns(most: int) -> None:
        await env.engine.world.sleep(1.0 - chance.choice([0.0, 0.0, 0.0, 0.02, 0.05, 0.1, 0.5]))
        for _ in range(chance.randrange(most)):
            await asyncio.sleep(0)

    async def decide(reviews, who, verdict) -> str:
        await turns(100)
        try:
            decision = (await reviews.decide(name, verdict, actor=who)).decision
        except ReviewDecided as lost:
            decision = lost.decision
        except ReviewExpired:
            return "expired"
        return f"{decision.verdict} by {decision.by[0]}"

    async def pass_time() -> None:
        await env.engine.world.sleep(1.0)
        await env._due.act()
        await env._worker.run_until_idle()

    *told, _ = await asyncio.gather(decide(desks[0], "bob", "approve"), decide(desks[1], "cat", "reject"), pass_time())
    return told


async def test_k37_an_answer_that_was_lost_is_asked_for_again():
    """The claim is made, the answer is lost, the client asks again: it is told that its decision stands."""
    async with TestEnvironment(registry) as env:
        eid = await env.start(gate)
        await env.settle()
        reviews, claim = Reviews(env.engine), env.engine.ports.dispatch.claim

        async def lost(key, value):
            await claim(key, value)
            raise ConnectionError("no answer")

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(env.engine.ports.dispatch, "claim", lost)
            with pytest.raises(ConnectionError):
                await env.clock.drive(reviews.decide(f"{eid}:review-1", "approve", actor="bob"))
        view = await env.clock.drive(reviews.decide(f"{eid}:review-1", "approve", actor="bob"))
        assert view.decision.by == ("bob",)
        with pytest.raises(NotAllowed):
            await env.clock.drive(reviews.decide(f"{eid}:review-1", "reject", actor="cat"))
        await env.run_until_idle()
        assert await env.result(eid) == "approve by bob"
