"""``Journal`` in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from flowli.adapters.memory.turn import turn
from flowli.domain.entries import START, JournalEntry, Position
from flowli.domain.ids import Eid
from flowli.domain.ports.journal import Appended, JournalSlice, Overtaken

__all__ = ["MemoryJournal"]


@dataclass(frozen=True, slots=True)
class _Commit:
    epoch: int
    entries: tuple[JournalEntry, ...]
    position: Position


class MemoryJournal:
    """A list of commits per execution."""

    def __init__(self) -> None:
        self._commits: dict[Eid, list[_Commit]] = {}
        self._removed: dict[Eid, _Commit] = {}

    async def append(
        self, eid: Eid, entries: Sequence[JournalEntry], *, after: Position, epoch: int, writer: str
    ) -> Appended | Overtaken:
        """Append one commit after ``after`` if nothing stands there."""
        if not entries:
            raise ValueError("a commit holds at least one entry")
        await turn()
        last = self._removed.get(eid)
        if last is not None and after.commit <= last.position.commit:
            # a removed journal was archived: its numbers are never used again, and whoever still writes here is fenced
            return Overtaken(max(last.epoch, epoch) + 1, (), last.position)
        commits = self._commits.setdefault(eid, [])
        if after.commit < len(commits):
            stands = commits[after.commit]
            return Overtaken(stands.epoch, stands.entries, stands.position)
        numbered = tuple(replace(entry, seq=seq) for seq, entry in enumerate(entries, after.seq + 1))
        position = Position(after.commit + 1, after.seq + len(numbered))
        commits.append(_Commit(epoch, numbered, position))
        return Appended(position)

    async def read(self, eid: Eid, *, after: Position = START) -> JournalSlice:
        """The entries of the commits after ``after``."""
        await turn()
        commits = self._commits.get(eid, [])[after.commit :]
        entries = tuple(entry for commit in commits for entry in commit.entries)
        return JournalSlice(entries, commits[-1].position if commits else after)

    async def delete(self, eid: Eid) -> None:
        """Forget the commits, but not where they ended."""
        await turn()
        commits = self._commits.pop(eid, [])
        if commits:
            self._removed[eid] = commits[-1]
