"""``Evidence`` with coded bodies."""

from __future__ import annotations

from collections.abc import Sequence

import orjson

from flowli.adapters.coded.places import of_evidence
from flowli.adapters.coded.stored import FORM
from flowli.adapters.coded.values import OFFLOADED, Values
from flowli.domain.errors import ValueUnreadable
from flowli.domain.ids import Eid
from flowli.domain.ports import Evidence

__all__ = ["CodedEvidence"]

_MAGIC = b"\x00$coded\x00"


class CodedEvidence:
    """Attempt logs, attachments and detached outcomes go through the codec; the bodies of values are not shown.

    A coded body begins with a mark, the length of a JSON header in two bytes, and that header, which names the steps.
    """

    def __init__(self, inner: Evidence, values: Values) -> None:
        self._inner = inner
        self._values = values

    async def put(self, eid: Eid, name: str, data: bytes) -> bool:
        steps, body = await self._values.seal_bytes(data, of_evidence(eid, name))
        if steps or data.startswith(_MAGIC):
            header = orjson.dumps({"v": FORM, "steps": steps})
            body = b"".join((_MAGIC, len(header).to_bytes(2, "big"), header, body))
        return await self._inner.put(eid, name, body)

    async def get(self, eid: Eid, name: str) -> bytes | None:
        found = await self._inner.get(eid, name)
        if found is None or not found.startswith(_MAGIC):
            return found
        place = of_evidence(eid, name)
        start = len(_MAGIC) + 2
        end = start + int.from_bytes(found[start - 2 : start], "big")
        try:
            header = orjson.loads(found[start:end])
            form, steps = int(header["v"]), [str(step) for step in header["steps"]]
        except (ValueError, KeyError, TypeError) as error:
            raise ValueUnreadable(f"{place.label} has a header that makes no sense; it was changed") from error
        if form > FORM:
            raise ValueUnreadable(f"{place.label} is stored in form {form}, this release reads {FORM}; upgrade flowli")
        return await self._values.open_bytes(steps, found[end:], place)

    async def list(self, eid: Eid, *, prefix: str = "") -> Sequence[str]:
        return [name for name in await self._inner.list(eid, prefix=prefix) if not name.startswith(OFFLOADED)]

    async def delete(self, eid: Eid) -> None:
        await self._inner.delete(eid)
        self._values.forget(eid)
