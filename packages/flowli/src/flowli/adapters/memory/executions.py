"""``ExecutionStore`` in memory."""

from __future__ import annotations

from flowli.adapters.memory.turn import turn
from flowli.domain.execution import Execution
from flowli.domain.ids import Eid

__all__ = ["MemoryExecutionStore"]


class MemoryExecutionStore:
    """Records by id."""

    def __init__(self) -> None:
        self._records: dict[Eid, Execution] = {}

    async def put(self, execution: Execution) -> bool:
        """Put if absent."""
        await turn()
        if execution.eid in self._records:
            return False
        self._records[execution.eid] = execution
        return True

    async def get(self, eid: Eid) -> Execution | None:
        """Read."""
        await turn()
        return self._records.get(eid)

    async def replace(self, old: Execution, new: Execution) -> bool:
        """Replace exactly ``old``."""
        await turn()
        if self._records.get(old.eid) != old:
            return False
        self._records[old.eid] = new
        return True

    async def delete(self, eid: Eid) -> None:
        """Remove."""
        await turn()
        self._records.pop(eid, None)
