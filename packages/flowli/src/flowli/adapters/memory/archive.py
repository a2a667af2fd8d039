"""``Archive`` in memory."""

from __future__ import annotations

from flowli.adapters.memory.turn import turn
from flowli.domain.ids import Eid
from flowli.domain.ports.archive import ArchivedExecution

__all__ = ["MemoryArchive"]


class MemoryArchive:
    """Archives by id."""

    def __init__(self) -> None:
        self._archives: dict[Eid, ArchivedExecution] = {}

    async def put(self, archived: ArchivedExecution) -> bool:
        """Put if absent."""
        await turn()
        if archived.execution.eid in self._archives:
            return False
        self._archives[archived.execution.eid] = archived
        return True

    async def get(self, eid: Eid) -> ArchivedExecution | None:
        """Read."""
        await turn()
        return self._archives.get(eid)

    async def replace(self, archived: ArchivedExecution) -> None:
        """Replace the one that stands, if one does."""
        await turn()
        if archived.execution.eid in self._archives:
            self._archives[archived.execution.eid] = archived

    async def delete(self, eid: Eid) -> None:
        """Remove."""
        await turn()
        self._archives.pop(eid, None)
