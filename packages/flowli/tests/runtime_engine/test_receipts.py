"""How long the receipts of keyed commands are kept."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from flowli.domain.errors import DispatchConflict
from flowli.domain.ids import Eid
from flowli.domain.ports import StandingClaim
from flowli.runtime.config import EngineConfig

if TYPE_CHECKING:
    from .conftest import Bench

DAY = 86_400.0


async def finished(bench: Bench) -> Eid:
    eid = await bench.engine.start("greet", "Ada")
    await bench.drain()
    await (await bench.own(eid)).complete("done")
    return eid


async def receipts(bench: Bench) -> list[StandingClaim]:
    return list(await bench.ports.dispatch.claims("command:"))


async def test_receipts_of_an_execution_end_with_its_key(bench: Bench) -> None:
    """RET-11: not while its archive stands, and ``key_ttl_s`` longer; those of others stay."""
    eid, other = await finished(bench), await finished(bench)
    made = await bench.engine.replay(eid, "once more", key="k")
    await bench.engine.retention(10 * DAY).run_once()
    await bench.clock.advance(11 * DAY)
    await bench.engine.replay(other, key="k")
    await bench.ports.dispatch.claim(f"chair:{eid}", "a decision of the workflow's own")
    await bench.engine.retention(10 * DAY, workflow="greet").run_once()
    await bench.clock.advance(20 * DAY)
    assert await bench.engine.replay(eid, "once more", key="k") == made
    with pytest.raises(DispatchConflict, match="another key"):
        await bench.engine.replay(eid, "another reason", key="k")
    await bench.clock.advance(99 * DAY)
    assert (await bench.engine.retention(200 * DAY).run_once()).receipts == 0
    await bench.clock.advance(2 * DAY)
    report = await bench.engine.retention(200 * DAY).run_once()
    assert (report.expired, report.receipts) == (0, 2)
    assert await receipts(bench) == []
    assert not (await bench.ports.dispatch.claim(f"chair:{eid}", "another")).won


async def test_receipts_of_a_queue_are_kept_for_the_time_of_a_key(bench: Bench) -> None:
    """RET-11."""
    await bench.engine.pause_queue("default", "audit", key="k")
    await bench.clock.advance(80 * DAY)
    await bench.engine.resume_queue("default", "audited", key="later")
    await bench.clock.advance(10 * DAY)
    assert (await bench.engine.retention(0).run_once()).receipts == 0
    with pytest.raises(DispatchConflict, match="another key"):
        await bench.engine.pause_queue("default", "something else", key="k")
    await bench.clock.advance(1)
    assert (await bench.engine.retention(0).run_once()).receipts == 1
    await bench.engine.pause_queue("default", "something else", key="k")
    assert len(await receipts(bench)) == 2


async def test_each_run_looks_at_some_receipts_of_queues_where_the_last_one_stopped(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """RET-11: in batches, so that no run is long; with what was made meanwhile they all have their turn."""
    monkeypatch.setattr("flowli.runtime.protocols.receipt._BATCH", 4)
    for n in range(10):
        await bench.engine.limit_queue(f"q{n}", concurrency=1, key="k")
    await bench.clock.advance(91 * DAY)
    counts = []
    for n in range(5):
        counts.append((await bench.engine.retention(0).run_once()).receipts)
        await bench.engine.limit_queue(f"r{n}", concurrency=1, key="k")
    assert (sum(counts), max(counts)) == (10, 4)
    await bench.clock.advance(91 * DAY)
    for _ in range(5):
        await bench.engine.retention(0).run_once()
    assert await receipts(bench) == []


@pytest.mark.parametrize("writes", range(0, 12, 2))
async def test_a_retention_that_dies_amid_receipts_is_made_good_by_the_next(bench: Bench, writes: int) -> None:
    """RET-8, RET-11."""
    eid = await finished(bench)
    for n in range(3):
        await bench.engine.replay(eid, key=f"k{n}")
        await bench.engine.limit_queue(f"q{n}", concurrency=1, key="k")
    config = EngineConfig(retire_grace_s=0, archive_ttl_s=1, key_ttl_s=1)
    for _ in range(2):
        await bench.new_engine(config=replace(config, key_ttl_s=10 * DAY)).retention(0).run_once()
        await bench.clock.advance(1000)
    assert len(await receipts(bench)) == 6, "all that is left to do is about them"
    await bench.dies_after(writes, lambda engine: engine.retention(0).run_once(), config=config)
    await bench.clock.advance(1000)
    await bench.new_engine(config=config, name="next").retention(0).run_once()
    assert await receipts(bench) == []


async def test_what_cannot_be_read_here_is_left(bench: Bench) -> None:
    """RET-11: a receipt of a queue whose key of encryption is elsewhere, or that a newer release wrote."""
    strange: list[Any] = [{"by": {"actor": "?"}}, {"sealed": True}, None]
    for n, value in enumerate(strange):
        await bench.ports.dispatch.claim(f"command:queue:q:{n}", value)
    await bench.clock.advance(200 * DAY)
    assert (await bench.engine.retention(0).run_once()).receipts == 0
    assert len(await receipts(bench)) == 3
