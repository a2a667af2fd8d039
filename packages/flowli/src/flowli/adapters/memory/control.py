"""``ControlLog`` in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from flowli.adapters.memory.turn import turn
from flowli.domain.entries import START, ControlEntry, Position
from flowli.domain.ports.control import ControlSlice

__all__ = ["MemoryControlLog"]


class MemoryControlLog:
    """A list of commits, each a tuple of entries."""

    def __init__(self) -> None:
        self._commits: list[tuple[ControlEntry, ...]] = []
        self._end = START
        self._compacted = START
        self._kept: tuple[ControlEntry, ...] = ()

    async def append(self, entries: Sequence[ControlEntry]) -> int:
        """Append one commit."""
        await turn()
        if entries:
            self._commits.append(tuple(replace(e, seq=seq) for seq, e in enumerate(entries, self._end.seq + 1)))
            self._end = Position(len(self._commits), self._end.seq + len(entries))
        return self._end.seq

    async def read(self, *, after: Position = START, limit: int = 10_000) -> ControlSlice:
        """Whole commits until ``limit`` entries are reached."""
        await turn()
        if after < self._compacted:
            kept = tuple(entry for entry in self._kept if entry.seq > after.seq)
            if kept:
                return ControlSlice(kept, self._compacted, self._compacted == self._end)
            after = self._compacted
        entries: list[ControlEntry] = []
        at = after
        for commit in self._commits[after.commit :]:
            if len(entries) >= limit:
                break
            entries.extend(commit)
            at = Position(at.commit + 1, at.seq + len(commit))
        return ControlSlice(tuple(entries), at, at.commit >= self._end.commit)

    async def compact(self, up_to: Position, kept: Sequence[ControlEntry]) -> Position:
        """Remember what stands for the commits so far."""
        await turn()
        if up_to > self._compacted:
            self._compacted, self._kept = up_to, tuple(kept)
        return self._compacted

    async def drop(self, up_to: Position) -> None:
        """Let go of the commits that nobody is given any more."""
        await turn()
        for number in range(min(up_to.commit, self._compacted.commit)):
            self._commits[number] = ()
