"""What has had its time is deleted, each kind by its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flowli.runtime.config import EngineConfig

if TYPE_CHECKING:
    from .conftest import Bench

DAY = 86_400.0


async def test_archives_and_tasks_that_were_set_aside_are_kept_for_their_time(bench: Bench) -> None:
    """RET-12."""
    config = EngineConfig(archive_ttl_s=20 * DAY, dead_ttl_s=10 * DAY)
    ended = await bench.engine.start("greet", "Ada")
    await bench.drain()
    await (await bench.own(ended)).complete("done")
    await bench.engine.start("greet", "Eve")
    (lease,) = await bench.ports.queue.dequeue("default", "w", 30.0)
    await bench.ports.queue.bury(lease, "5 workers vanished", bench.world.now())
    retention = bench.new_engine(config=config).retention
    await retention(0).run_once()
    await bench.clock.advance(10 * DAY - 1)
    report = await retention(0).run_once()
    assert (report.dead, report.expired) == (0, 0)
    await bench.clock.advance(1)
    assert (await retention(0).run_once()).dead == 1
    assert await bench.engine.dead_letters() == []
    await bench.clock.advance(10 * DAY - 1)
    assert (await retention(0).run_once()).expired == 0
    await bench.clock.advance(1)
    assert (await retention(0).run_once()).expired == 1
    assert await bench.ports.archive.get(ended) is None
