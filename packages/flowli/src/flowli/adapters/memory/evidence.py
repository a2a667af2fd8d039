"""``Evidence`` in memory."""

from __future__ import annotations

from collections.abc import Sequence

from flowli.domain.ids import Eid
from flowli.world import World

__all__ = ["MemoryEvidence"]


class MemoryEvidence:
    """Bodies by execution and name."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._bodies: dict[Eid, dict[str, bytes]] = {}

    async def put(self, eid: Eid, name: str, data: bytes) -> bool:
        """Put if absent."""
        await self._world.sleep(0)
        bodies = self._bodies.setdefault(eid, {})
        if name in bodies:
            return False
        bodies[name] = bytes(data)
        return True

    async def get(self, eid: Eid, name: str) -> bytes | None:
        """Read."""
        await self._world.sleep(0)
        return self._bodies.get(eid, {}).get(name)

    async def list(self, eid: Eid, *, prefix: str = "") -> Sequence[str]:
        """Names in order."""
        await self._world.sleep(0)
        return sorted(name for name in self._bodies.get(eid, {}) if name.startswith(prefix))

    async def delete(self, eid: Eid) -> None:
        """Remove all."""
        await self._world.sleep(0)
        self._bodies.pop(eid, None)
