"""A parent of many children is woken by each, and pays for each the same."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from flowli import Context
from flowli.domain.entries import ExecutionSuspended
from flowli.domain.waits import OnChild

from ..running.fleet import Fleet
from .conftest import metered

SIZES = (125, 250, 500)


@dataclass
class Bill:
    """What one fan-in cost its parent."""

    requests: int
    sent: int
    received: int
    suspensions: int
    replays: int


async def fan_in(folder: Path, n: int, warm_limit: int) -> Bill:
    """Children that end one after another, each while the parent is suspended."""
    fleet = Fleet("cairn", folder / str(n))

    async def work(k: int) -> int:
        await fleet.clock.sleep(1)
        return k

    @fleet.registry.workflow(queue="children")
    async def child(ctx: Context, k: int) -> int:
        return await ctx.step(work, k)

    @fleet.registry.workflow(queue="parents")
    async def parent(ctx: Context, n: int) -> list[int]:
        return await ctx.gather(*(ctx.child(child, k) for k in range(n)))

    settings = {"hold_s": 0.0, "poll_s": 0.25, "warm_limit": warm_limit}
    worker, meter = await metered(fleet, "parents", **settings)
    worker.work(queues=("parents",), sweep=False)
    fleet.process("children", poll_s=0.25).work(queues=("children",), concurrency=1, sweep=False)
    eid = await fleet.engine.start(parent, n)
    await fleet.clock.advance(n + 10)
    assert await fleet.run(fleet.app.engine.result(eid)) == list(range(n))
    entries = await fleet.entries(eid)
    suspensions = [entry.body for entry in entries if isinstance(entry.body, ExecutionSuspended)]
    named = [on for body in suspensions for on in body.on if isinstance(on, OnChild)]
    assert len(set(named)) == n, "each is named at least once"
    assert [len(body.on) + body.others for body in suspensions] == sorted(
        (len(body.on) + body.others for body in suspensions), reverse=True
    )
    replays = sum(key == f"logs/wf.exec.{eid}/log/000000000001.msgpack" for key in meter.by_key("get").elements())
    counts = meter.counts("wf/queues/parents/limits/")
    await fleet.close()
    return Bill(counts.get + counts.put + counts.delete, counts.sent, counts.received, len(suspensions), replays)


async def test_a_fan_in_of_n_children_costs_n(tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    """CHD-7."""
    bills = [await fan_in(tmp_path, n, 1000) for n in SIZES]
    for n, bill in zip(SIZES, bills, strict=True):
        assert bill.suspensions > n / 2, "it was really woken again and again"
        assert bill.suspensions <= n
        assert bill.replays == 1, "once before its first entry, and never again while it is warm"
    for small, large in pairwise(bills):
        for what in ("requests", "sent", "received"):
            ratio = getattr(large, what) / getattr(small, what)
            record_property(f"{what} of a fan-in, {SIZES} children, twice as many", f"{ratio:.2f}")
            assert ratio <= 2.3, what


async def test_a_parent_that_is_not_warm_replays_once_for_each_child(tmp_path: Path) -> None:
    """CHD-7."""
    bill = await fan_in(tmp_path, 40, 0)
    assert 20 < bill.replays <= 40 + 1
