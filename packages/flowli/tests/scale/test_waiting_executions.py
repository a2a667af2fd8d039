"""A thousand executions wait for one worker: they cost nothing while they wait, and little when they are woken."""

from __future__ import annotations

import gc
import re
import tracemalloc
from collections import Counter

from flowli import Context
from flowli.domain.entries import ExecutionCompleted
from flowli.domain.execution import ExecutionStatus
from flowli.domain.ids import Eid

from ..running.fleet import Fleet, Process
from .conftest import SHARED, Meter, metered

MANY = 1000
QUARTER_S = 900.0

find_eids = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}").findall


async def suspended(fleet: Fleet, worker: Process, count: int) -> list[Eid]:
    """That many more executions, all of them suspended by ``worker``."""
    eids = [await fleet.run(worker.engine.start("wait")) for _ in range(count)]
    await fleet.clock.advance(30)
    assert {(await fleet.fold(eid)).status for eid in eids} == {ExecutionStatus.SUSPENDED}
    return eids


async def idle(fleet: Fleet, meter: Meter) -> tuple[dict[str, int], int]:
    """The requests of a quarter of an hour in which nothing happens, and by how many bytes memory grew meanwhile."""
    meter.clear()
    gc.collect()
    tracemalloc.start()
    await fleet.clock.advance(QUARTER_S)
    requests = Counter(one.verb for one in meter.requests())
    meter.clear()
    gc.collect()
    grown, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return dict(requests), grown


async def test_a_thousand_that_wait_cost_nothing_and_are_woken_for_little(cairn: Fleet) -> None:
    """WRK-6, BUD-8."""

    @cairn.registry.workflow
    async def wait(ctx: Context) -> int:
        return 2 * await ctx.receive("go")

    worker, meter = await metered(cairn, "w", poll_s=5.0)
    worker.work(sweep=False)
    eids = await suspended(cairn, worker, 10)
    few, before = await idle(cairn, meter)
    eids += await suspended(cairn, worker, MANY - len(eids))
    many, grown = await idle(cairn, meter)
    assert many == few, "who waits asks for nothing"
    assert many["list"] <= 720 / 4
    assert many["put"] <= 60 / 4
    assert grown < before + 32 * 1024, "and takes no more memory the longer it waits"

    sender = cairn.process("sender")
    for n, eid in enumerate(eids):
        await cairn.run(sender.engine.signal(eid, "go", n))
    await cairn.clock.advance(30)
    for n, eid in enumerate(eids):
        assert (await cairn.fold(eid)).end == ExecutionCompleted(2 * n)
    commits = tuple(f"logs/wf.exec.{eid}/" for eid in eids)
    assert not [one for one in meter.requests() if one.verb == "get" and one.key.startswith(commits)], "they were warm"
    spent = Counter(
        (one.verb, str(eid)) for one in meter.requests(*SHARED, *commits) for eid in set(find_eids(one.key))
    )
    assert max(spent["put", str(eid)] for eid in eids) <= 2
    assert max(spent["get", str(eid)] for eid in eids) <= 3
    counts = meter.counts(*SHARED, *commits)
    assert counts.put <= 2 * MANY
    assert counts.get <= 3 * MANY


async def test_no_more_than_so_many_are_kept_warm(cairn: Fleet) -> None:
    """WRK-6."""

    @cairn.registry.workflow
    async def wait(ctx: Context) -> int:
        return await ctx.receive("go")

    worker, meter = await metered(cairn, "w", warm_limit=20)
    worker.work(sweep=False)
    eids = await suspended(cairn, worker, 60)
    meter.clear()
    for n, eid in enumerate(eids):
        await cairn.run(worker.engine.signal(eid, "go", n))
        assert await cairn.run(cairn.app.engine.result(eid)) == n
    read = {eid for eid in eids if any(key.startswith(f"logs/wf.exec.{eid}/") for key in meter.by_key("get"))}
    assert read == set(eids[:40]), "the journals of those that were dropped are read again"
