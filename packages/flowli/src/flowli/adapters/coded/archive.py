"""``Archive`` with coded values."""

from __future__ import annotations

from dataclasses import replace

from flowli.adapters.coded.bodies import decode_entries, encode_entries
from flowli.adapters.coded.executions import decode_record, encode_record
from flowli.adapters.coded.places import archive_home, of_archive
from flowli.adapters.coded.values import Values
from flowli.domain.ids import Eid
from flowli.domain.ports import Archive, ArchivedExecution, Evidence

__all__ = ["CodedArchive"]


class CodedArchive:
    """Record and journal of a finished execution, their values coded.

    The bodies of large values are put under the evidence of the archive itself: that of the execution is deleted with
    its journal.
    """

    def __init__(self, inner: Archive, evidence: Evidence, values: Values) -> None:
        self._inner = inner
        self._evidence = evidence
        self._values = values

    async def put(self, archived: ArchivedExecution) -> bool:
        return await self._inner.put(await self._stored(archived))

    async def get(self, eid: Eid) -> ArchivedExecution | None:
        found = await self._inner.get(eid)
        if found is None:
            return None
        place = of_archive(eid)
        execution = await decode_record(self._values, found.execution, place)
        return replace(found, execution=execution, entries=await decode_entries(self._values, found.entries, place))

    async def replace(self, archived: ArchivedExecution) -> None:
        # what is left of an erased execution refers to no body, so that all of them can be deleted after it stands
        await self._inner.replace(await self._stored(archived, offload=False))
        await self._forget(archived.execution.eid)

    async def delete(self, eid: Eid) -> None:
        await self._inner.delete(eid)
        await self._forget(eid)

    async def _stored(self, archived: ArchivedExecution, *, offload: bool = True) -> ArchivedExecution:
        place = of_archive(archived.execution.eid)
        execution = await encode_record(self._values, archived.execution, place, offload=offload)
        entries = await encode_entries(self._values, archived.entries, place, offload=offload)
        return replace(archived, execution=execution, entries=tuple(entries))

    async def _forget(self, eid: Eid) -> None:
        home = archive_home(eid)
        self._values.forget(home)
        await self._evidence.delete(home)
