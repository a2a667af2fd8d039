"""``Archive`` over one object of msgpack per finished execution."""

from __future__ import annotations

from typing import cast

from flowli.adapters.cairndb.opened import CairnPort, port_method
from flowli.adapters.cairndb.records import to_log
from flowli.cairn.errors import FormatTooNew
from flowli.cairn.log import Position as LogPosition
from flowli.cairn.objects import Changed, Created, Documents, Exists
from flowli.cairn.values import JSON, from_msgpack, to_msgpack
from flowli.codec import dump, load
from flowli.domain import keys
from flowli.domain.ids import Eid
from flowli.domain.ports.archive import ArchivedExecution

__all__ = ["ArchiveBoundary", "CairnArchive"]

_FORMAT = 1


class CairnArchive(CairnPort):
    """Archives."""

    @port_method
    async def put(self, archived: ArchivedExecution) -> bool:
        key = keys.archive(archived.execution.eid)
        return isinstance(await self._documents.create_bytes(key, _encode(archived)), Created)

    @port_method
    async def get(self, eid: Eid) -> ArchivedExecution | None:
        asked_s = self._world.boottime_s()
        archived = await _read(self._documents, eid)
        if archived is None:
            boundary = ArchiveBoundary(self._documents, eid)
            self._cairn.log(keys.journal_log(eid), boundary=boundary).untrimmed(asked_s)
        return archived

    @port_method
    async def replace(self, archived: ArchivedExecution) -> None:
        key, data = keys.archive(archived.execution.eid), _encode(archived)
        found = await self._documents.read_bytes(key)
        while found is None or found.data != data:
            if found is None:
                outcome = await self._documents.create_bytes(key, data)
                found = outcome.doc if isinstance(outcome, Exists) else None
                if found is None:
                    return
                continue
            swapped = await self._documents.swap_bytes(found, data)
            if not isinstance(swapped, Changed):
                return
            found = swapped.doc

    @port_method
    async def delete(self, eid: Eid) -> None:
        await self._documents.delete_many([keys.archive(eid)])


class ArchiveBoundary:
    """An archive as the boundary of its journal: up to where the journal may have been deleted."""

    def __init__(self, documents: Documents, eid: Eid) -> None:
        self._documents = documents
        self._eid = eid

    async def read(self) -> LogPosition | None:
        """The end of the archived journal; None while there is no archive."""
        archived = await _read(self._documents, self._eid)
        return None if archived is None else to_log(archived.position)


async def _read(documents: Documents, eid: Eid) -> ArchivedExecution | None:
    key = keys.archive(eid)
    found = await documents.read_bytes(key)
    if found is None:
        return None
    body = from_msgpack(found.data, key)
    form = body.pop("v", None)
    if isinstance(form, int) and form > _FORMAT:
        raise FormatTooNew(f"{key!r} has archive format {form} and this release reads {_FORMAT}", "Upgrade flowli")
    return load(ArchivedExecution, body)


def _encode(archived: ArchivedExecution) -> bytes:
    return to_msgpack(cast("JSON", {**dump(archived), "v": _FORMAT}))
