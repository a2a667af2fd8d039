"""``ControlLog``: the lifecycle entries of all executions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from flowli.domain.entries import START, ControlEntry, Position

__all__ = ["ControlLog", "ControlSlice"]


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
