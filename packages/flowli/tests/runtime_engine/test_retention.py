from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from flowli.domain.channels import WaitMarker
from flowli.domain.entries import (
    ExecutionArchived,
    ExecutionCancelled,
    ExecutionResumed,
    FrameFulfilled,
    FrameStarted,
    UnknownBody,
)
from flowli.domain.errors import UsageError
from flowli.domain.execution import ExecutionStatus
from flowli.domain.frames import FrameKind
from flowli.domain.ids import Eid
from flowli.domain.waits import OnChannel
from flowli.runtime.config import EngineConfig

if TYPE_CHECKING:
    from .conftest import Bench

DAY = 86_400.0


async def finished(bench: Bench, workflow: str = "greet", **options: Any) -> Eid:
    eid = await bench.engine.start(workflow, "Ada", **options)
    await bench.drain()
    await (await bench.own(eid)).complete("done")
    return eid


async def test_only_finished_executions_of_enough_age_are_archived(bench: Bench) -> None:
    """RET-1."""
    old = await finished(bench)
    live = await bench.engine.start("sign", "contract")
    await (await bench.own(live)).append(ExecutionResumed(1))
    await bench.clock.advance(2 * DAY)
    young = await finished(bench)
    report = await bench.engine.retention(timedelta(days=1)).run_once()
    assert (report.archived, report.blocked) == ([old], {})
    archived = await bench.ports.archive.get(old)
    assert archived is not None
    assert (archived.entries, archived.position.seq) == (await bench.engine.journal(old), 2)
    assert await bench.ports.archive.get(young) is None
    assert [body.eid for body in await bench.control() if isinstance(body, ExecutionArchived)] == [old]
    assert (await bench.engine.retention(timedelta(days=1)).run_once()).archived == []


async def test_nothing_is_deleted_before_the_grace_of_its_archive_is_over(bench: Bench) -> None:
    """RET-2."""
    eid = await finished(bench)
    assert (await bench.engine.retention(0).run_once()).purged == 0
    await bench.clock.advance(DAY - 1)
    assert (await bench.engine.retention(0).run_once()).purged == 0
    assert (await bench.ports.journal.read(eid)).entries
    await bench.clock.advance(1)
    assert (await bench.engine.retention(0).run_once()).purged == 1
    assert not (await bench.ports.journal.read(eid)).entries
    assert (await bench.engine.retention(0).run_once()).purged == 0


async def test_all_that_an_execution_left_behind_is_deleted(bench: Bench) -> None:
    eid = await bench.engine.start("sign", "contract")
    owner, ports = await bench.own(eid), bench.ports
    own, shared = f"{eid}.signature", "closing"
    await bench.engine.signal(eid, "signature")
    await owner.append(
        FrameStarted("root/r#1", FrameKind.RECEIVE, "r", ""),
        FrameFulfilled("root/r#1", 1, OnChannel(own), 1),
        FrameFulfilled("root/r#1", 1, OnChannel(shared), 1),
    )
    await ports.evidence.put(eid, "root.1.1/log", b"text")
    await owner.complete(True)
    await ports.channel.mark(WaitMarker(shared, eid, 1, ("root/r#1",)))
    await bench.new_engine(config=EngineConfig(retire_grace_s=0)).retention(0).run_once()
    assert await ports.executions.get(eid) is None
    assert await ports.ownership.read(eid) is None
    assert (await ports.channel.read(own)).messages == ()
    assert await ports.channel.markers(shared) == []
    assert await ports.evidence.list(eid) == []


async def test_workflow_and_status_select(bench: Bench) -> None:
    greeted = await finished(bench)
    signed = await finished(bench, "sign")
    cancelled = await bench.engine.start("greet", "Bob")
    await (await bench.own(cancelled)).append(ExecutionCancelled("enough"))
    engine = bench.engine
    only = engine.retention(0, statuses=[ExecutionStatus.CANCELLED], dry_run=True)
    assert (await only.run_once()).archived == [cancelled]
    assert (await engine.retention(0, workflow="sign").run_once()).archived == [signed]
    assert set((await engine.retention(0).run_once()).archived) == {greeted, cancelled}


async def test_a_dry_run_tells_and_writes_nothing(bench: Bench) -> None:
    """RET-6."""
    eid = await finished(bench, key="k")
    before = await bench.control()
    report = await bench.engine.retention(0, dry_run=True).run_once()
    assert (report.dry_run, report.archived) == (True, [eid])
    assert await bench.ports.archive.get(eid) is None
    assert (await bench.ports.dispatch.read_start("k")).folded_at is None  # type: ignore[union-attr]
    assert await bench.control() == before


async def test_what_cannot_be_archived_is_shown_with_its_reason(bench: Bench) -> None:
    """RET-1."""
    eid = await bench.engine.start("greet", "Ada")
    owner = await bench.own(eid)
    await owner.append(UnknownBody("execution.future", {}))
    await owner.complete()
    lost = await finished(bench)
    await bench.ports.executions.delete(lost)
    report = await bench.engine.retention(0).run_once()
    assert report.archived == []
    assert "newer version" in report.blocked[eid]
    assert "neither record nor archive" in report.blocked[lost]


async def test_keys_outlive_archives_and_both_end(bench: Bench) -> None:
    """RET-5."""
    eid = await finished(bench, key="k")
    await bench.engine.retention(0).run_once()
    claim = await bench.ports.dispatch.read_start("k")
    assert claim is not None
    assert claim.folded_at == bench.world.now()
    await bench.clock.advance(31 * DAY)
    report = await bench.engine.retention(0).run_once()
    assert (report.purged, report.expired, report.keys) == (1, 1, 0)
    assert await bench.ports.archive.get(eid) is None
    await bench.clock.advance(90 * DAY)
    assert (await bench.engine.retention(0).run_once()).keys == 1
    assert await bench.ports.dispatch.read_start("k") is None
    report = await bench.engine.retention(0).run_once()
    assert (report.purged, report.expired, report.keys) == (0, 0, 0)


async def test_a_key_that_leads_elsewhere_by_now_is_neither_marked_nor_forgotten(bench: Bench) -> None:
    first = await finished(bench, key="k")
    second = await bench.engine.start("greet", "Bob", key="k", on_conflict="allow_after_finish")
    report = await bench.engine.retention(0).run_once()
    assert report.archived == [first]
    await bench.clock.advance(200 * DAY)
    await bench.engine.retention(0).run_once()
    claim = await bench.ports.dispatch.read_start("k")
    assert claim is not None
    assert (claim.eid, claim.folded_at) == (second, None)


async def test_a_key_that_was_used_again_lives_as_long_as_its_last_execution(bench: Bench) -> None:
    """RET-5."""
    await finished(bench, key="k")
    await bench.engine.retention(0).run_once()
    await bench.clock.advance(60 * DAY)
    second = await finished(bench, key="k", on_conflict="allow_after_finish")
    await bench.engine.retention(0).run_once()
    await bench.clock.advance(61 * DAY)
    assert (await bench.engine.retention(0).run_once()).keys == 0
    claim = await bench.ports.dispatch.read_start("k")
    assert claim is not None
    assert claim.eid == second


@pytest.mark.parametrize("writes", range(12))
async def test_a_crash_at_any_write_is_made_good_by_the_next_run(bench: Bench, writes: int) -> None:
    """RET-8."""
    eid = await finished(bench, key="k")
    config = EngineConfig(retire_grace_s=0)
    await bench.dies_after(writes, lambda engine: engine.retention(0).run_once(), config=config)
    await bench.clock.advance(1000)
    assert (await bench.engine.status(eid)).value == "done"
    await bench.new_engine(config=config, name="next").retention(0).run_once()
    assert (await bench.engine.status(eid)).archived_at is not None
    assert await bench.ports.executions.get(eid) is None
    assert not (await bench.ports.journal.read(eid)).entries
    assert await bench.ports.ownership.read(eid) is None
    assert (await bench.ports.dispatch.read_start("k")).folded_at is not None  # type: ignore[union-attr]
    assert any(isinstance(body, ExecutionArchived) for body in await bench.control())


async def test_two_retentions_at_once_do_what_one_does(bench: Bench) -> None:
    """RET-8."""
    eids = {await finished(bench) for _ in range(5)}
    config = EngineConfig(retire_grace_s=0)
    engines = [bench.new_engine(config=config, name=name) for name in ("a", "b")]
    await asyncio.gather(*(engine.retention(0).run_once() for engine in engines))
    for eid in eids:
        assert await bench.ports.executions.get(eid) is None
        assert (await bench.engine.status(eid)).value == "done"


async def test_an_age_below_zero_is_refused(bench: Bench) -> None:
    with pytest.raises(UsageError, match="older_than"):
        bench.engine.retention(-1)
