"""All journals of the demo and its ledger, at one moment."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias
from uuid import UUID

from outside import Line, read_ledger

from flowli import Engine
from flowli.domain.frames import FrameKind, FrameStatus
from flowli.domain.ids import child_eid
from flowli.domain.memo import Frame, JournalFold

Key: TypeAlias = tuple[str, str]
"""An execution and a frame of it."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All journals, folded, and the ledger, at one moment.

    Attributes:
        folds: by eid; those of the executions asked for, and of their children.
        asked: the executions asked for.
        lines: the ledger.
    """

    folds: dict[UUID, JournalFold]
    asked: tuple[UUID, ...]
    lines: tuple[Line, ...]

    @classmethod
    async def take(
        cls, engine: Engine, eids: Iterable[UUID], ledger: Path, *, earlier: Snapshot | None = None
    ) -> Snapshot:
        """Read the journals of ``eids`` and of their children, then the ledger.

        Args:
            earlier: journals that had ended then are not read again.
        """
        ended = {eid: fold for eid, fold in earlier.folds.items() if fold.end} if earlier else {}
        folds: dict[UUID, JournalFold] = {}
        asked = tuple(eids)
        todo = list(asked)
        while todo:
            fresh = [eid for eid in todo if eid not in ended]
            slices = await asyncio.gather(*(engine.ports.journal.read(eid) for eid in fresh))
            found = {eid: JournalFold(piece.entries) for eid, piece in zip(fresh, slices, strict=True)}
            found |= {eid: ended[eid] for eid in todo if eid in ended}
            folds |= found
            todo = [
                child_eid(eid, frame.fid)
                for eid, fold in found.items()
                for frame in fold.frames.values()
                if frame.kind is FrameKind.CHILD
            ]
        return cls(folds, asked, tuple(read_ledger(ledger)))

    @property
    def all_ended(self) -> bool:
        """Whether every execution has its terminal entry."""
        return all(fold.end is not None for fold in self.folds.values())

    def steps(self, *statuses: FrameStatus) -> dict[Key, Frame]:
        """The steps of a status."""
        return {
            (str(eid), frame.fid): frame
            for eid, fold in self.folds.items()
            for frame in fold.frames.values()
            if frame.kind is FrameKind.STEP and frame.status in statuses
        }

    def effects(self) -> Counter[Key]:
        """How many lines each step has in the ledger."""
        return Counter((line.eid, line.fid) for line in self.lines)
