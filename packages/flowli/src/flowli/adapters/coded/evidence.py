"""``Evidence`` with coded bodies."""

from __future__ import annotations

from collections.abc import Sequence

from flowli.adapters.coded.framed import framed, unframed
from flowli.adapters.coded.places import of_evidence
from flowli.adapters.coded.values import OFFLOADED, Values
from flowli.domain.ids import Eid
from flowli.domain.ports import Evidence

__all__ = ["CodedEvidence"]


class CodedEvidence:
    """Attempt logs, attachments and detached outcomes go through the codec; the bodies of values are not shown."""

    def __init__(self, inner: Evidence, values: Values) -> None:
        self._inner = inner
        self._values = values

    async def put(self, eid: Eid, name: str, data: bytes) -> bool:
        return await self._inner.put(eid, name, await framed(self._values, data, of_evidence(eid, name)))

    async def get(self, eid: Eid, name: str) -> bytes | None:
        found = await self._inner.get(eid, name)
        return None if found is None else await unframed(self._values, found, of_evidence(eid, name))

    async def list(self, eid: Eid, *, prefix: str = "") -> Sequence[str]:
        return [name for name in await self._inner.list(eid, prefix=prefix) if not name.startswith(OFFLOADED)]

    async def delete(self, eid: Eid) -> None:
        await self._inner.delete(eid)
        self._values.forget(eid)
