"""``Journal`` with coded values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from flowli.adapters.coded.bodies import decode_entries, encode_entries
from flowli.adapters.coded.places import of_execution
from flowli.adapters.coded.values import Values
from flowli.domain.entries import START, JournalEntry, Position
from flowli.domain.ids import Eid
from flowli.domain.ports import Appended, Journal, JournalSlice, Overtaken

__all__ = ["CodedJournal"]


class CodedJournal:
    """Arguments, results and errors of an execution go through the codec."""

    def __init__(self, inner: Journal, values: Values) -> None:
        self._inner = inner
        self._values = values

    async def append(
        self, eid: Eid, entries: Sequence[JournalEntry], *, after: Position, epoch: int, writer: str
    ) -> Appended | Overtaken:
        place = of_execution(eid)
        stored = await encode_entries(self._values, entries, place)
        outcome = await self._inner.append(eid, stored, after=after, epoch=epoch, writer=writer)
        if isinstance(outcome, Overtaken):
            return replace(outcome, entries=await decode_entries(self._values, outcome.entries, place))
        return outcome

    async def read(self, eid: Eid, *, after: Position = START) -> JournalSlice:
        found = await self._inner.read(eid, after=after)
        return JournalSlice(await decode_entries(self._values, found.entries, of_execution(eid)), found.position)

    async def delete(self, eid: Eid) -> None:
        await self._inner.delete(eid)
