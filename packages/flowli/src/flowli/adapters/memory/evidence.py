"""``Evidence`` in memory."""

from __future__ import annotations

from collections.abc import Sequence

from flowli.adapters.memory.turn import turn
from flowli.domain.ids import Eid

__all__ = ["MemoryEvidence"]


class MemoryEvidence:
    """Bodies by execution and name."""

    def __init__(self) -> None:
        self._bodies: dict[Eid, dict[str, bytes]] = {}

    async def put(self, eid: Eid, name: str, data: bytes) -> bool:
        """Put if absent."""
        await turn()
        bodies = self._bodies.setdefault(eid, {})
        if name in bodies:
            return False
        bodies[name] = bytes(data)
        return True

    async def get(self, eid: Eid, name: str) -> bytes | None:
        """Read."""
        await turn()
        return self._bodies.get(eid, {}).get(name)

    async def list(self, eid: Eid, *, prefix: str = "") -> Sequence[str]:
        """Names in order."""
        await turn()
        return sorted(name for name in self._bodies.get(eid, {}) if name.startswith(prefix))

    async def delete(self, eid: Eid) -> None:
        """Remove all."""
        await turn()
        self._bodies.pop(eid, None)
