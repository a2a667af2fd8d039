"""``ControlLog`` over the log ``wf``: appends of one process share commits, and wait a little to do so.

Compacting: 1 what is kept is put create-only under the number of the last commit for which it stands; 2 the boundary of
the log is moved there. *Crash after 1*: an object that nobody reads; the next compaction goes further. Who asks for
commits that are gone is told the boundary, and reads what was kept at it.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

from flowli.adapters.cairndb import stand_in
from flowli.adapters.cairndb.folded import Folded
from flowli.adapters.cairndb.opened import CairnPort, Opened, port_method
from flowli.adapters.cairndb.records import control_entries, from_log, to_log, to_records
from flowli.cairn.errors import LogTrimmed
from flowli.cairn.snapshot import SEGMENT
from flowli.domain import keys
from flowli.domain.entries import START, ControlEntry, Position
from flowli.domain.ports.control import ControlSlice, FoldedLog

__all__ = ["LINGER_S", "MAX_LINGER_S", "CairnControlLog"]

LINGER_S = 0.05
"""How long a commit gathers entries; each commit that another process wins doubles it."""

MAX_LINGER_S = 2.0
"""The longest."""

_FIRST, _AT_ONCE = 128, 4096


class CairnControlLog(CairnPort):
    """The control log."""

    def __init__(self, opened: Opened) -> None:
        super().__init__(opened)
        self._log = self._cairn.log(keys.CONTROL_LOG, trimmable=True, linger_s=LINGER_S, max_linger_s=MAX_LINGER_S)
        self._segment = 0
        self._folded = Folded(self._documents, self._log)
        self._per_commit: float | None = None

    @port_method
    async def append(self, entries: Sequence[ControlEntry]) -> int:
        position = await self._log.append_next(to_records(entries), self._opened.writer)
        segment = position.commit // SEGMENT
        if position.commit % SEGMENT == 0 and segment > self._segment:
            self._segment = segment
            self._opened.aside(self._log.segments.write(segment))
        return position.seq

    @port_method
    async def read(self, *, after: Position = START, limit: int = 10_000) -> ControlSlice:
        while True:
            try:
                return await self._read(after, limit)
            except LogTrimmed as trimmed:
                boundary = Position(trimmed.commit, trimmed.seq)
                stands = await stand_in.read(self._documents, to_log(boundary))
                if stands is None:
                    continue  # compacted further meanwhile
                entries = tuple(entry for entry in stands if entry.seq > after.seq)
                if entries:
                    return ControlSlice(entries, boundary, caught_up=False)
                after = boundary

    async def _read(self, after: Position, limit: int) -> ControlSlice:
        entries: list[ControlEntry] = []
        position, caught_up = to_log(after), False
        while len(entries) < limit and not caught_up:
            chunk = await self._log.read(position, self._commits(limit - len(entries)))
            caught_up = chunk.caught_up
            if chunk.commits:
                self._per_commit = sum(len(one.records) for one in chunk.commits) / len(chunk.commits)
            for commit in chunk.commits:
                if len(entries) >= limit:
                    caught_up = False
                    break
                entries.extend(control_entries(commit))
                position = commit.position
        return ControlSlice(tuple(entries), from_log(position), caught_up)

    def _commits(self, entries: int) -> int:
        """How many commits hold about so many entries, as they were lately: what is read too much is lost."""
        return min(entries, _FIRST) if self._per_commit is None else min(ceil(entries / self._per_commit), _AT_ONCE)

    @port_method
    async def compact(self, up_to: Position, kept: Sequence[ControlEntry]) -> Position:
        await stand_in.write(self._documents, to_log(up_to), kept)
        return from_log(await self._log.trim(to_log(up_to)))

    @port_method
    async def drop(self, up_to: Position) -> None:
        while await self._log.drop_trimmed(up_to=to_log(up_to)):
            pass
        await stand_in.delete_before(self._documents, to_log(up_to), self._log.segments)

    @port_method
    async def compacted(self) -> Position:
        return from_log(await self._folded.compacted())

    @port_method
    async def snapshot(self) -> FoldedLog | None:
        return await self._folded.read()

    @port_method
    async def snapshot_part(self, folded: FoldedLog, number: int) -> bytes | None:
        return await self._folded.part(folded, number)

    @port_method
    async def keep_snapshot(self, folded: FoldedLog, parts: Sequence[bytes]) -> bool:
        return await self._folded.keep(folded, parts)

    @port_method
    async def drop_snapshot(self, before: int | None = None) -> None:
        await self._folded.drop(before)
