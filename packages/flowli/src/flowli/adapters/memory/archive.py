"""``Archive`` in memory."""

from __future__ import annotations

from flowli.domain.ids import Eid
from flowli.domain.ports.archive import ArchivedExecution
from flowli.world import World

__all__ = ["MemoryArchive"]


class MemoryArchive:
    """Archives by id."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._archives: dict[Eid, ArchivedExecution] = {}

    async def put(self, archived: ArchivedExecution) -> bool:
        """Put if absent."""
        await self._world.sleep(0)
        return self._archives.setdefault(archived.execution.eid, archived) is archived

    async def get(self, eid: Eid) -> ArchivedExecution | None:
        """Read."""
        await self._world.sleep(0)
        return self._archives.get(eid)

    async def replace(self, archived: ArchivedExecution) -> None:
        """Replace the one that stands, if one does."""
        await self._world.sleep(0)
        if archived.execution.eid in self._archives:
            self._archives[archived.execution.eid] = archived

    async def delete(self, eid: Eid) -> None:
        """Remove."""
        await self._world.sleep(0)
        self._archives.pop(eid, None)
