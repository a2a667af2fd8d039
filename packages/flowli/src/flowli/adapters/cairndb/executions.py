"""``ExecutionStore`` over one document per execution."""

from __future__ import annotations

from flowli.adapters.cairndb.opened import CairnPort, port_method
from flowli.cairn.objects import Created, Swapped
from flowli.cairn.values import JSON
from flowli.codec import dump, load
from flowli.domain import keys
from flowli.domain.execution import Execution
from flowli.domain.ids import Eid

__all__ = ["CairnExecutionStore"]


class CairnExecutionStore(CairnPort):
    """Execution records."""

    @port_method
    async def put(self, execution: Execution) -> bool:
        return isinstance(await self._documents.create(keys.meta(execution.eid), _body(execution)), Created)

    @port_method
    async def get(self, eid: Eid) -> Execution | None:
        doc = await self._documents.read(keys.meta(eid))
        return None if doc is None else load(Execution, doc.body)

    @port_method
    async def replace(self, old: Execution, new: Execution) -> bool:
        doc = await self._documents.read(keys.meta(old.eid))
        if doc is None or load(Execution, doc.body) != old:
            return False
        return isinstance(await self._documents.swap(doc, _body(new)), Swapped)

    @port_method
    async def delete(self, eid: Eid) -> None:
        await self._documents.delete_many([keys.meta(eid)])


def _body(execution: Execution) -> dict[str, JSON]:
    return dump(execution)
