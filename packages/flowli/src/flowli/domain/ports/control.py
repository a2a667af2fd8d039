"""``ControlLog``: the lifecycle entries of all executions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from flowli.domain.entries import START, ControlEntry, Position

__all__ = ["ControlLog", "ControlSlice", "ControlSnapshots", "FoldedLog"]


@dataclass(frozen=True, slots=True)
class ControlSlice:
    """A stretch of the control log.

    Attributes:
        entries: with their ``seq``.
        position: where the next read goes on.
        caught_up: nothing followed when it was read.
    """

    entries: tuple[ControlEntry, ...]
    position: Position
    caught_up: bool


class ControlLog(Protocol):
    """One append-only log that every process writes and every observer follows.

    Order: total, the same for all readers. An entry may stand in it twice (a writer that crashed or was in doubt
    repeats itself); folds are idempotent.
    Concurrency: appends of one process may be grouped into one commit and may wait a little to be.
    """

    async def append(self, entries: Sequence[ControlEntry]) -> int:
        """Append; returns the sequence number of the last of ``entries`` when all of them are durable."""

    async def read(self, *, after: Position = START, limit: int = 10_000) -> ControlSlice:
        """Entries after ``after`` in order; about ``limit`` of them at most (whole commits).

        Of a log that was compacted, who asks for what lies before that may be given what was kept of it, at once, and
        goes on behind it.
        """

    async def compact(self, up_to: Position, kept: Sequence[ControlEntry]) -> Position:
        """Have ``kept`` stand for all entries up to a position, durably; deletes nothing. Returns up to where the log
        is compacted now: further than asked for if another process was faster.

        Args:
            up_to: where a ``read`` ended.
            kept: those of the entries up to there that a new observer still needs, in order, with their ``seq``.
        """

    async def drop(self, up_to: Position) -> None:
        """Delete the entries for which others stand, up to a position. The caller has waited ``retire_grace`` since."""


@dataclass(frozen=True, slots=True)
class FoldedLog:
    """What the control log comes to up to a position, in the form of one projection.

    Attributes:
        fold, version: of the projection that reads it.
        position: up to where entries are in it.
        compacted: up to where the log was compacted when it was begun; what it says of entries that are compacted since
            is not what a fold of the log says now.
        id: drawn for each.
        digests: of the parts as they are stored, in their order; told by who stores them.
    """

    fold: str
    version: int
    position: Position
    compacted: Position
    id: str
    digests: tuple[str, ...] = ()


@runtime_checkable
class ControlSnapshots(Protocol):
    """What a control log may have besides: it keeps one snapshot of a projection, so that a new one begins quickly.

    A snapshot is a cache: without it every projection is the same. A log without these methods has none.
    """

    async def compacted(self) -> Position:
        """Up to where the log is compacted."""

    async def snapshot(self) -> FoldedLog | None:
        """The snapshot that is there; None if there is none, or it does not fit the log as it stands."""

    async def snapshot_part(self, folded: FoldedLog, number: int) -> bytes | None:
        """One part, from 0; None if it is gone, or is not what was written."""

    async def keep_snapshot(self, folded: FoldedLog, parts: Sequence[bytes]) -> bool:
        """Replace the snapshot, at once. False if the one that is there is of a newer version, or reaches as far."""

    async def drop_snapshot(self, before: int | None = None) -> None:
        """Remove the snapshot and what is left of earlier ones: all of it, or what ends before an entry."""
