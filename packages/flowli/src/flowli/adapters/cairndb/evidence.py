"""``Evidence`` over one object per piece."""

from __future__ import annotations

from collections.abc import Sequence

from flowli.adapters.cairndb.opened import CairnPort, port_method
from flowli.adapters.cairndb.scan import delete_prefix, list_keys
from flowli.cairn.objects import Created
from flowli.domain import keys
from flowli.domain.ids import Eid

__all__ = ["CairnEvidence"]


class CairnEvidence(CairnPort):
    """Evidence."""

    @port_method
    async def put(self, eid: Eid, name: str, data: bytes) -> bool:
        return isinstance(await self._documents.create_bytes(keys.evidence(eid, name), data), Created)

    @port_method
    async def get(self, eid: Eid, name: str) -> bytes | None:
        found = await self._documents.read_bytes(keys.evidence(eid, name))
        return None if found is None else found.data

    @port_method
    async def list(self, eid: Eid, *, prefix: str = "") -> Sequence[str]:
        found = await list_keys(self._documents, keys.evidence_prefix(eid, prefix))
        return sorted(keys.evidence_name(eid, key) for key in found)

    @port_method
    async def delete(self, eid: Eid) -> None:
        await delete_prefix(self._documents, keys.evidence_prefix(eid))
