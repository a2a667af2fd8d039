"""``ExecutionStore`` in memory."""

from __future__ import annotations

from flowli.domain.execution import Execution
from flowli.domain.ids import Eid
from flowli.world import World

__all__ = ["MemoryExecutionStore"]


class MemoryExecutionStore:
    """Records by id."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._records: dict[Eid, Execution] = {}

    async def put(self, execution: Execution) -> bool:
        """Put if absent."""
        await self._world.sleep(0)
        return self._records.setdefault(execution.eid, execution) is execution

    async def get(self, eid: Eid) -> Execution | None:
        """Read."""
        await self._world.sleep(0)
        return self._records.get(eid)

    async def replace(self, old: Execution, new: Execution) -> bool:
        """Replace exactly ``old``."""
        await self._world.sleep(0)
        if self._records.get(old.eid) != old:
            return False
        self._records[old.eid] = new
        return True

    async def delete(self, eid: Eid) -> None:
        """Remove."""
        await self._world.sleep(0)
        self._records.pop(eid, None)
