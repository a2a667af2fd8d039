"""``ExecutionStore`` with coded arguments."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

from flowli.adapters.coded.places import Place, of_execution
from flowli.adapters.coded.values import Values
from flowli.domain.data import Data
from flowli.domain.execution import Execution
from flowli.domain.ids import Eid
from flowli.domain.ports import ExecutionStore

__all__ = ["CodedExecutionStore", "decode_record", "encode_record"]


async def encode_record(values: Values, execution: Execution, place: Place, *, offload: bool = True) -> Execution:
    """A record as it is stored; ``offload`` as in ``Values.encode``."""
    return _with(execution, await values.encode(execution.args, place, offload=offload))


async def decode_record(values: Values, execution: Execution, place: Place) -> Execution:
    """A record as it was before it was stored.

    Raises:
        ValueUnreadable: its arguments cannot be read here.
    """
    return _with(execution, await values.decode(execution.args, place))


class CodedExecutionStore:
    """The arguments of records go through the codec."""

    def __init__(self, inner: ExecutionStore, values: Values) -> None:
        self._inner = inner
        self._values = values

    async def put(self, execution: Execution) -> bool:
        return await self._inner.put(await encode_record(self._values, execution, of_execution(execution.eid)))

    async def get(self, eid: Eid) -> Execution | None:
        found = await self._inner.get(eid)
        return None if found is None else await decode_record(self._values, found, of_execution(eid))

    async def replace(self, old: Execution, new: Execution) -> bool:
        # the stored form of ``old`` is not made twice the same, so the one that stands is compared in the clear
        place = of_execution(old.eid)
        found = await self._inner.get(old.eid)
        if found is None or await decode_record(self._values, found, place) != old:
            return False
        stored = _with(new, found.args) if new.args == old.args else await encode_record(self._values, new, place)
        return await self._inner.replace(found, stored)

    async def delete(self, eid: Eid) -> None:
        await self._inner.delete(eid)


def _with(execution: Execution, args: Data) -> Execution:
    return execution if args is execution.args else replace(execution, args=cast("dict[str, Data]", args))
