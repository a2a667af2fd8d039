from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowli.adapters.projection import WorkflowProjection
from flowli.domain.entries import (
    START,
    Announced,
    AttributesSet,
    ControlEntry,
    ExecutionArchived,
    ExecutionCreated,
    StatusChanged,
)
from flowli.domain.execution import ExecutionStatus
from flowli.domain.ids import Eid
from flowli.domain.ports import Ports
from flowli.domain.provenance import Actor, ActorKind, Provenance, Site
from flowli.domain.waits import OnChannel
from flowli.runtime.config import EngineConfig
from flowli.runtime.control_fold import ControlFold
from flowli.runtime.keeper import Keeper
from flowli.runtime.protocols import compact
from flowli.timestamp import Timestamp

if TYPE_CHECKING:
    from pathlib import Path

    from flowli.runtime.engine import Engine

    from .conftest import Bench

DAY = 86_400.0


@pytest.fixture(autouse=True)
def worth_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small logs are compacted too, page by small page."""
    monkeypatch.setattr(compact, "_WORTH_ENTRIES", 1)
    monkeypatch.setattr(compact, "_PAGE", 5)


async def finished(bench: Bench) -> Eid:
    eid = await bench.engine.start("greet", "Ada")
    await bench.work()
    return eid


async def entries(ports: Ports) -> list[ControlEntry]:
    found: list[ControlEntry] = []
    at, caught_up = START, False
    while not caught_up:
        part = await ports.control.read(after=at)
        found, at, caught_up = [*found, *part.entries], part.position, part.caught_up
    return found


async def years(bench: Bench) -> tuple[list[Eid], Eid]:
    """Executions that were archived, and long after expired; and one that waits all the time."""
    waiting = await bench.engine.start("sign", "contract", version="1")
    await bench.work()
    gone = [await finished(bench) for _ in range(6)]
    await bench.ports.control.append([ControlEntry(AttributesSet(waiting, {"customer": "Ada", "n": 1}), bench.by)])
    await bench.ports.control.append([ControlEntry(AttributesSet(waiting, {"n": 2}), bench.by)])
    for _ in range(5):
        await bench.clock.run(bench.engine.retention(0).run_once())
        await finished(bench)
        await bench.clock.advance(40 * DAY)
    return gone, waiting


async def test_what_is_over_leaves_the_control_log_and_what_lives_stays(bench: Bench) -> None:
    gone, waiting = await years(bench)
    report = await bench.engine.retention(0).run_once()
    assert report.entries > 0
    await bench.clock.advance(2 * DAY)
    await bench.engine.retention(0).run_once()
    left = await entries(bench.ports)
    assert len(left) < max(entry.seq for entry in left) / 2
    assert not {body.eid for body in (entry.body for entry in left) if isinstance(body, ExecutionCreated)} & set(gone)
    fold = ControlFold()
    await fold.catch_up(bench.ports.control)
    known = fold.executions[waiting]
    assert (known.status, known.workflow) == (ExecutionStatus.SUSPENDED, "sign")
    assert OnChannel(f"{waiting}.signature") in known.waited_on


async def test_an_observer_that_comes_later_sees_the_same_of_what_is_left(bench: Bench, tmp_path: Path) -> None:
    """RET-7."""
    gone, waiting = await years(bench)
    early = WorkflowProjection(str(tmp_path / "early.db"), bench.ports.control)
    await early.catch_up()
    await bench.engine.retention(0).run_once()
    await bench.clock.advance(2 * DAY)
    await bench.engine.retention(0).run_once()
    young = await finished(bench)
    await bench.engine.announcer.drain()
    late = WorkflowProjection(str(tmp_path / "late.db"), bench.ports.control)
    await asyncio.gather(early.catch_up(), late.catch_up())
    for eid in (waiting, young):
        seen = await late.execution(eid)
        assert seen is not None
        assert seen == await early.execution(eid)
    assert await late.execution(gone[0]) is None
    await asyncio.gather(early.close(), late.close())


async def test_an_observer_that_slept_through_it_goes_on(bench: Bench, tmp_path: Path) -> None:
    """RET-7."""
    await years(bench)
    slept = WorkflowProjection(str(tmp_path / "slept.db"), bench.ports.control)
    fold = ControlFold()
    part = await bench.ports.control.read(limit=4)
    for entry in part.entries:
        fold.add(entry)
    fold.position = part.position
    await bench.engine.retention(0).run_once()
    await bench.clock.advance(2 * DAY)
    await bench.engine.retention(0).run_once()
    fresh = ControlFold()
    await fold.catch_up(bench.ports.control)
    await fresh.catch_up(bench.ports.control)
    for eid, known in fresh.executions.items():
        assert fold.executions[eid].status is known.status
    assert fold.position == fresh.position
    await slept.close()


async def test_nothing_is_deleted_before_the_grace_of_its_boundary_is_over(bench: Bench) -> None:
    """RET-2."""
    await years(bench)
    dropped: list[Any] = []
    real = bench.ports.control.drop

    async def drop(up_to: Any) -> None:
        dropped.append(up_to)
        await real(up_to)

    bench.ports.control.drop = drop  # type: ignore[method-assign]
    await bench.engine.retention(0).run_once()
    dropped.clear()
    await bench.clock.advance(DAY - 1)
    await bench.engine.retention(0).run_once()
    assert dropped == []
    await bench.clock.advance(1)
    await bench.engine.retention(0).run_once()
    assert len(dropped) == 1


async def test_a_sweeper_that_runs_on_is_not_disturbed(bench: Bench) -> None:
    sweeper = bench.new_engine(name="sweeper").sweeper()
    _, waiting = await years(bench)
    await bench.clock.run(sweeper.sweep_once())
    await bench.engine.retention(0).run_once()
    await bench.clock.advance(2 * DAY)
    await bench.engine.retention(0).run_once()
    await bench.engine.signal(waiting, "signature", "yes")
    await bench.work()
    await bench.clock.run(sweeper.sweep_once())
    assert await bench.engine.result(waiting) is True
    assert (await bench.clock.run(bench.new_engine(name="late").sweeper().sweep_once())).twins == 0


async def test_old_messages_of_global_channels_are_removed_and_young_ones_stay(bench: Bench) -> None:
    """RET-7."""
    eid = await bench.engine.start("sign", "contract")
    await bench.drain()
    await (await bench.own(eid)).suspend(OnChannel("news"))
    for n in range(12):
        await bench.engine.broadcast("news", n)
    await bench.clock.advance(20 * DAY)
    for n in range(12, 15):
        await bench.engine.broadcast("news", n)
    await bench.clock.advance(11 * DAY)
    assert (await bench.engine.retention(0).run_once()).messages == 12
    await bench.clock.advance(2 * DAY)
    await bench.engine.retention(0).run_once()
    messages = (await bench.ports.channel.read("news")).messages
    assert [message.payload for message in messages] == [12, 13, 14]
    assert [message.seq for message in messages] == [13, 14, 15]
    assert await bench.engine.broadcast("news", 15) == 16


async def test_tasks_that_were_set_aside_long_ago_are_discarded(bench: Bench) -> None:
    for n in range(2):
        await bench.engine.start("greet", str(n))
        (lease,) = await bench.ports.queue.dequeue("default", "w", 30.0)
        await bench.ports.queue.bury(lease, "why", bench.world.now())
        await bench.clock.advance(20 * DAY)
    assert (await bench.engine.retention(0).run_once()).dead == 1
    (dead,) = await bench.ports.queue.dead("default")
    assert bench.world.now() < dead.died_at + timedelta(days=30)


@pytest.mark.parametrize("writes", range(10))
async def test_a_crash_at_any_write_is_made_good_by_the_next_runs(bench: Bench, writes: int) -> None:
    _, waiting = await years(bench)

    async def run(engine: Engine) -> None:
        await engine.retention(0).run_once()

    await bench.dies_after(writes, run)
    await bench.clock.advance(1000)
    await run(bench.new_engine(name="next"))
    await bench.clock.advance(2 * DAY)
    await run(bench.new_engine(name="after-next"))
    fold = ControlFold()
    await fold.catch_up(bench.ports.control)
    assert fold.executions[waiting].status is ExecutionStatus.SUSPENDED
    assert len(await entries(bench.ports)) < 40


async def test_a_second_run_without_the_lease_trims_nothing(bench: Bench) -> None:
    await years(bench)
    config = EngineConfig()
    engines = [bench.new_engine(config=config, name=name) for name in ("a", "b")]
    reports = await asyncio.gather(*(engine.retention(0).run_once() for engine in engines))
    assert sorted(report.entries > 0 for report in reports) == [False, True]


EIDS = [Eid(int=n) for n in range(3)]


def twin(eid: Eid, journal_seq: int) -> StatusChanged:
    """One journal entry has one twin, however often and however late it is posted."""
    status = list(ExecutionStatus)[journal_seq % 6]
    return StatusChanged(
        eid, status, f"execution.{status}", 1, journal_seq, version=str(journal_seq) if journal_seq % 3 == 0 else None
    )


def bodies() -> st.SearchStrategy[Any]:
    eid = st.sampled_from(EIDS)
    return st.one_of(
        st.builds(lambda e: ExecutionCreated(e, "order", "1", "", "default", Timestamp(0)), eid),
        st.builds(twin, eid, st.integers(1, 9)),
        st.builds(lambda e, n, v: AttributesSet(e, {n: v}), eid, st.sampled_from("ab"), st.none() | st.integers(0, 3)),
        st.builds(ExecutionArchived, eid),
        st.builds(lambda e: Announced("fact", 1, e, "root/announce#1"), eid),
        st.builds(lambda n: Announced("definition", n), st.integers(0, 3)),
    )


@given(st.lists(bodies(), max_size=40), st.sets(st.sampled_from(EIDS), max_size=1))
def test_what_is_kept_folds_to_the_same(made: list[Any], done: set[Eid]) -> None:
    by = Provenance(Actor(ActorKind.SYSTEM, "x"), Site("x"), Timestamp(0))
    log = [ControlEntry(body, by, seq) for seq, body in enumerate(made, 1)]
    keeper, whole, kept = Keeper(dict.fromkeys(done, len(log))), ControlFold(), ControlFold()
    for entry in log:
        keeper.add(entry)
        whole.add(entry)
    for entry in keeper.kept():
        kept.add(entry)
    assert keeper.dropped == len(log) - len(keeper.kept())
    assert not done & set(kept.executions)
    for eid in set(whole.executions) - done:
        a, b = whole.executions[eid], kept.executions[eid]
        same = ("status", "epoch", "journal_seq", "workflow", "version", "archived")
        assert [getattr(a, name) for name in same] == [getattr(b, name) for name in same]
    assert [one.seq for one in whole.archived if one.eid not in done] == [one.seq for one in kept.archived]
    assert _attributes(log, done) == _attributes(keeper.kept(), set())
    topics = [entry.body for entry in log if isinstance(entry.body, Announced) and entry.body.eid not in done]
    assert [entry.body for entry in keeper.kept() if isinstance(entry.body, Announced)] == topics


def _attributes(log: list[ControlEntry], done: set[Eid]) -> dict[tuple[Eid, str], Any]:
    found: dict[tuple[Eid, str], Any] = {}
    for entry in log:
        if isinstance(entry.body, AttributesSet) and entry.body.eid not in done:
            found.update({(entry.body.eid, name): value for name, value in entry.body.attributes.items()})
    return found
