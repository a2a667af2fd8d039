"""How much more a worker does with a hundred executions at once than with one, when all their steps wait.

Not collected with the other tests: ``nox -s bench``.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable

import structlog

from flowli import Context, Registry
from flowli.adapters.cairndb import CairnBackend
from flowli.domain.provenance import Site
from flowli.runtime import Engine
from flowli.stores.memory import MemoryStore

STEPS = 20
STEP_S = 0.05
WANTED = 60.0

registry = Registry()


async def wait(n: int) -> int:
    await asyncio.sleep(STEP_S)
    return n


@registry.workflow
async def waits(ctx: Context) -> int:
    return sum([await ctx.step(wait, n) for n in range(STEPS)])


async def steps_per_second(concurrency: int, executions: int) -> float:
    """The throughput of one worker on a store in memory, from the first step to the last."""
    backend = CairnBackend(MemoryStore())
    engine = Engine(backend.ports, Site(f"bench-{concurrency}"), registry=registry)
    eids = [await engine.start(waits) for _ in range(executions)]
    worker = engine.worker(concurrency=concurrency)
    began = time.perf_counter()
    running = asyncio.create_task(worker.run())
    for eid in eids:
        assert await engine.result(eid) == sum(range(STEPS))
    took_s = time.perf_counter() - began
    worker.stop()
    await running
    await backend.close()
    return executions * STEPS / took_s


async def test_a_hundred_at_once_do_sixty_times_as_much_as_one(record_property: Callable[[str, object], None]) -> None:
    """Both in one run, so that the machine is the same; what is idle between the steps is what is measured."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    one = await steps_per_second(1, 5)
    hundred = await steps_per_second(100, 400)
    record_property("steps per second, one at a time", f"{one:.1f}")
    record_property("steps per second, a hundred at once", f"{hundred:.1f}")
    record_property("ratio", f"{hundred / one:.1f}")
    assert hundred >= WANTED * one
