"""Whatever state an execution is in, there is a reason for it, and it can be shown."""

from __future__ import annotations

import contextlib
import random
from datetime import timedelta
from typing import Any

import pytest

from flowli import Context, Defer, RetryPolicy
from flowli.domain.errors import FlowliError
from flowli.domain.ids import Eid
from flowli.runtime.insight import Reason, frame_tree, graph, mermaid, timeline

from .conftest import Stage

TICKS = 25


@pytest.mark.parametrize("seed", range(6))
async def test_there_is_always_a_reason(stage: Stage, seed: int) -> None:
    """OPR-12."""
    chance, clock, registry = random.Random(seed), stage.fleet.clock, stage.fleet.registry

    async def work(seconds: float) -> float:
        await clock.sleep(seconds)
        if chance.random() < 0.2:
            raise ValueError("now and then")
        if chance.random() < 0.1:
            raise Defer(until=2)
        return seconds

    @registry.workflow
    async def leaf(ctx: Context, n: int) -> Any:
        policy = RetryPolicy(max_attempts=3, backoff=timedelta(seconds=2))
        await ctx.gather(*(ctx.step(work, 0.3 * i, retry=policy) for i in range(n % 3 + 1)))
        return await ctx.receive("go", timeout=5)

    @registry.workflow
    async def branch(ctx: Context, n: int) -> None:
        try:
            await ctx.child(leaf, n)
            await ctx.sleep(n)
            async with ctx.lease("one"):
                await ctx.step(work, 0.5)
        finally:
            await ctx.step(work, 0.1, name="clean")

    eids = [await stage.fleet.engine.start(chance.choice([leaf, branch]), n, timeout=40) for n in range(5)]
    told: set[str] = set()
    for n in range(TICKS):
        await _something(stage, chance, chance.choice(eids), n)
        await stage.advance(chance.choice([0.1, 0.7, 2.0, 7.0]))
        for eid in eids:
            told.add(await _explained(stage, eid))
    assert str(Reason.UNCLEAR) not in told
    assert len(told) > 3, told


async def _something(stage: Stage, chance: random.Random, eid: Eid, n: int) -> None:
    """What operators, callers and machines do."""
    engine, what = stage.fleet.engine, chance.random()
    if what < 0.35:
        stage.worker(f"w-{n}")
    elif what < 0.55:
        alive = [one for one in stage.fleet.processes if one.worker is not None and not one.dead]
        if alive:
            chance.choice(alive).kill()
    elif what < 0.65:
        stage.fleet.process(f"s-{n}", exec_ttl_s=6.0).sweep()
    else:
        verb = chance.choice(["signal", "signal", "pause", "resume", "cancel"])
        with contextlib.suppress(FlowliError):
            await (engine.signal(eid, "go", n) if verb == "signal" else getattr(engine, verb)(eid, "by chance"))


async def _explained(stage: Stage, eid: Eid) -> str:
    engine = stage.cli.engine
    seen = await stage.fleet.run(engine.inspect(eid))
    found = await stage.fleet.run(engine.explain(seen))
    assert found == await stage.fleet.run(engine.explain(seen))
    assert set(found.evidence.journal) <= set(range(1, seen.fold.seq + 1))
    assert found.sentence[0].isupper()
    assert found.sentence.endswith(".")
    assert found.actions
    assert len(timeline(seen)) >= seen.fold.seq
    frame_tree(seen)
    assert mermaid(graph(seen)).startswith("flowchart")
    return found.reason
