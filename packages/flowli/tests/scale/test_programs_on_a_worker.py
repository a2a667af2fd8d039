"""Random programs by an engine and a worker that come and go, replayed from every prefix of what was journaled."""

from __future__ import annotations

import asyncio
import random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from flowli.adapters.memory import MemoryBackend
from flowli.domain.errors import NotAllowed
from flowli.domain.provenance import Site
from flowli.runtime import Engine, EngineConfig, Registry
from flowli.testing.clock import ManualClock, ManualWorld
from flowli.testing.replay import replay

from ..replay.programs import programs, smaller, workflow


async def live(ops: list[Any], chance: random.Random) -> tuple[Any, Registry, list[Any]]:
    """Run a program; workers are stopped and messages and a cancel come at random instants."""
    clock, registry = ManualClock(), Registry()
    fn = workflow([])
    registry.add(fn)
    registry.add(smaller)
    ports = MemoryBackend(ManualWorld(clock)).ports
    config = EngineConfig(hold_s=chance.choice([0.0, 1.5]), warm_limit=chance.choice([0, 10]))
    app = Engine(ports, Site("app"), registry=registry, config=config, world=ManualWorld(clock, name="app"))
    eid = await clock.run(app.start(fn, ops))
    for n in range(3):
        world = ManualWorld(clock, name=f"w-{n}")
        worker = Engine(ports, Site(f"w-{n}"), registry=registry, config=config, world=world).worker(sweeper=True)
        running = asyncio.create_task(worker.run())
        for _ in range(3):
            await clock.advance(chance.random() * 4)
            try:
                await clock.run(app.signal(eid, chance.choice("ab"), {"n": chance.randrange(5)}))
                if chance.random() < 0.1:
                    await clock.run(app.cancel(eid, reason="by chance"))
            except NotAllowed:
                break  # it has ended
        worker.stop()
        await clock.run(asyncio.wait_for(running, None))
    return fn, registry, list(await clock.run(app.journal(eid)))


@given(ops=programs(), seed=st.integers(0, 2**32))
@settings(max_examples=25)
def test_what_a_worker_ran_of_a_random_program_replays_from_every_prefix(ops: list[Any], seed: int) -> None:
    """RPL-1, RPL-2, RPL-14."""
    fn, registry, journal = asyncio.run(live(ops, random.Random(seed)))
    for n in range(1, len(journal) + 1):
        report = replay(fn, journal[:n], registry=registry)
        assert report.difference is None, f"prefix {n}: {report.difference}"
    assert report.commands == (), "nothing new is asked for at the end of what was journaled"
