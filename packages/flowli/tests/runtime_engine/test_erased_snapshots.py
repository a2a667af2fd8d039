"""The snapshot of projections and the erasing of executions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from flowli.adapters.projection import write_snapshot
from flowli.domain.entries import AttributesSet, ControlEntry, StatusChanged
from flowli.domain.ports import ControlSnapshots

if TYPE_CHECKING:
    from .conftest import Bench

DAY = 86_400.0


pytestmark = pytest.mark.parametrize("bench", ["cairn"], indirect=True)


@pytest.fixture
def snapshots(bench: Bench) -> ControlSnapshots:
    assert isinstance(bench.ports.control, ControlSnapshots)
    return bench.ports.control


async def test_erasing_drops_the_snapshot(bench: Bench, snapshots: ControlSnapshots) -> None:
    """RET-9."""
    eid = await bench.engine.start("greet", "Ada")
    await bench.work()
    await bench.ports.control.append([ControlEntry(AttributesSet(eid, {"customer": "Ada"}), bench.by)])
    await bench.engine.announcer.drain()
    written = await write_snapshot(bench.ports.control)
    assert written is not None
    assert await snapshots.snapshot() is not None
    await bench.engine.erase(eid)
    assert await snapshots.snapshot() is None


async def test_retention_removes_a_snapshot_that_missed_an_erasing(bench: Bench, snapshots: ControlSnapshots) -> None:
    """RET-9: its writer died before it could take it back."""
    eid = await bench.engine.start("greet", "Ada")
    await bench.work()
    await bench.engine.announcer.drain()
    assert await write_snapshot(bench.ports.control) is not None
    await bench.clock.run(bench.engine.retention(DAY).run_once())
    folded = await snapshots.snapshot()
    assert folded is not None, "nothing was erased"
    parts = [await snapshots.snapshot_part(folded, number) for number in range(len(folded.digests))]
    await bench.engine.erase(eid)
    assert await snapshots.keep_snapshot(folded, [part for part in parts if part is not None])
    await bench.clock.run(bench.engine.retention(DAY).run_once())
    assert await snapshots.snapshot() is None
    assert await write_snapshot(bench.ports.control) is not None
    await bench.clock.run(bench.engine.retention(DAY).run_once())
    assert await snapshots.snapshot() is not None, "one that knows of the erasing stays"
    twins = [entry.body for entry in (await bench.ports.control.read()).entries]
    assert any(isinstance(body, StatusChanged) and body.entry == "execution.erased" for body in twins)
