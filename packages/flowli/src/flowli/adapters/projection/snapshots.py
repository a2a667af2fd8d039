"""The snapshot of the projection in the bucket: found by a new file, written by who keeps the bucket in order.

A snapshot is built in a file of its own, from the one that is there and what came since, or from the whole log; never
from a file that lives on: that one may know more than the log still says. After it was put, the log is read on: where
an execution was erased meanwhile, the snapshot is removed again, since erasing has looked before it came. *Crash
between the two*: retention removes the snapshots that end before the last erasing.
"""

from __future__ import annotations

import asyncio
import logging
import os
import tempfile
from dataclasses import dataclass

from flowli.adapters.projection import schema
from flowli.adapters.projection.workflow import FOLD, WorkflowProjection
from flowli.cairn.packed import packed
from flowli.domain.control_entries import StatusChanged
from flowli.domain.entries import ExecutionErased, Position
from flowli.domain.ports import ControlLog, ControlSnapshots, FoldedLog
from flowli.world import SYSTEM, World

__all__ = ["WORTH_ENTRIES", "WrittenSnapshot", "snapshot_due", "write_snapshot"]

WORTH_ENTRIES = 20_000
"""A log of fewer entries is folded in a moment; and so many come between one snapshot and the next."""

_GROWN = 4
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class WrittenSnapshot:
    """What ``write_snapshot`` did.

    Attributes:
        position: up to where entries are in it.
        parts: how many objects it is, besides the one that names them.
        size: bytes of them together.
        kept: whether it is there now; if not, the one that is there is as good, or an execution was erased meanwhile.
    """

    position: Position
    parts: int
    size: int
    kept: bool


async def snapshot_due(control: ControlLog, seq: int) -> bool:
    """Whether a snapshot is worth its requests.

    Args:
        seq: number of the last entry of the log.
    """
    if not isinstance(control, ControlSnapshots) or seq < WORTH_ENTRIES:
        return False
    there = await control.snapshot()
    if there is None or (there.fold, there.version) != (FOLD, schema.VERSION):
        return there is None or there.fold != FOLD or there.version < schema.VERSION
    return seq - there.position.seq >= max(WORTH_ENTRIES, there.position.seq // _GROWN)


async def write_snapshot(control: ControlLog, *, world: World = SYSTEM) -> WrittenSnapshot | None:
    """Put a snapshot of the whole log into the bucket; None where the backend keeps none or the log is empty."""
    if not isinstance(control, ControlSnapshots):
        return None
    compacted = await control.compacted()
    with tempfile.TemporaryDirectory(prefix="flowli-snapshot-") as folder:
        projection = WorkflowProjection(os.path.join(folder, "rows.db"), control, world=world)
        try:
            await projection.catch_up()
            path = os.path.join(folder, "image.db")
            position = await projection.export(path)
        finally:
            await projection.close()
        pool = world.pool("flowli-snapshot", 1)
        try:
            parts = await asyncio.get_running_loop().run_in_executor(pool, lambda: list(packed(path)))
        finally:
            pool.shutdown(wait=False)
    if position.commit == 0:
        return None
    folded = FoldedLog(FOLD, schema.VERSION, position, compacted, world.token())
    kept = await control.keep_snapshot(folded, parts)
    if kept and await _erased_since(control, position):
        await control.drop_snapshot()
        kept = False
    return WrittenSnapshot(position, len(parts), sum(map(len, parts)), kept)


async def _erased_since(control: ControlLog, position: Position) -> bool:
    while True:
        found = await control.read(after=position)
        bodies = (entry.body for entry in found.entries)
        if any(isinstance(body, StatusChanged) and body.entry == ExecutionErased.tag for body in bodies):
            return True
        if found.caught_up:
            return False
        position = found.position
