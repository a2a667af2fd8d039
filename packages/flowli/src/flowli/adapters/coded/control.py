"""``ControlLog`` with coded errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from flowli.adapters.coded.bodies import decode_error, encode_error
from flowli.adapters.coded.framed import framed, unframed
from flowli.adapters.coded.places import of_execution, of_snapshot
from flowli.adapters.coded.values import Values
from flowli.domain.entries import START, ControlEntry, Position, StatusChanged
from flowli.domain.errors import ValueUnreadable
from flowli.domain.ports import ControlLog, ControlSlice, ControlSnapshots, FoldedLog

__all__ = ["CodedControlLog"]


class CodedControlLog:
    """The messages of errors go through the codec; all else that the control log holds is public and stays clear.

    An observer without the key reads on: such an error then has no message.
    """

    def __init__(self, inner: ControlLog, values: Values) -> None:
        self._inner = inner
        self._values = values

    async def append(self, entries: Sequence[ControlEntry]) -> int:
        return await self._inner.append([await self._stored(entry) for entry in entries])

    async def read(self, *, after: Position = START, limit: int = 10_000) -> ControlSlice:
        found = await self._inner.read(after=after, limit=limit)
        return replace(found, entries=tuple([await self._clear(entry) for entry in found.entries]))

    async def compact(self, up_to: Position, kept: Sequence[ControlEntry]) -> Position:
        return await self._inner.compact(up_to, [await self._stored(entry) for entry in kept])

    async def drop(self, up_to: Position) -> None:
        await self._inner.drop(up_to)

    async def compacted(self) -> Position:
        return await self._inner.compacted() if isinstance(self._inner, ControlSnapshots) else START

    async def snapshot(self) -> FoldedLog | None:
        return await self._inner.snapshot() if isinstance(self._inner, ControlSnapshots) else None

    async def snapshot_part(self, folded: FoldedLog, number: int) -> bytes | None:
        found = None
        if isinstance(self._inner, ControlSnapshots):
            found = await self._inner.snapshot_part(folded, number)
        try:
            return None if found is None else await unframed(self._values, found, of_snapshot(folded.id, number))
        except ValueUnreadable:  # said in the log already; whoever cannot read it folds the log
            return None

    async def keep_snapshot(self, folded: FoldedLog, parts: Sequence[bytes]) -> bool:
        if not isinstance(self._inner, ControlSnapshots):
            return False
        places = (of_snapshot(folded.id, number) for number in range(len(parts)))
        stored = [await framed(self._values, data, place) for data, place in zip(parts, places, strict=True)]
        return await self._inner.keep_snapshot(folded, stored)

    async def drop_snapshot(self, before: int | None = None) -> None:
        if isinstance(self._inner, ControlSnapshots):
            await self._inner.drop_snapshot(before)

    async def _stored(self, entry: ControlEntry) -> ControlEntry:
        body = entry.body
        if not isinstance(body, StatusChanged) or body.error is None:
            return entry
        error = await encode_error(self._values, body.error, of_execution(body.eid))
        return replace(entry, body=replace(body, error=error))

    async def _clear(self, entry: ControlEntry) -> ControlEntry:
        body = entry.body
        if not isinstance(body, StatusChanged) or body.error is None:
            return entry
        error = await decode_error(self._values, body.error, of_execution(body.eid))
        return replace(entry, body=replace(body, error=error))
