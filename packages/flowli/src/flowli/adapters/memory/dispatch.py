"""``Dispatch`` in memory."""

from __future__ import annotations

from dataclasses import replace

from flowli.adapters.memory.turn import turn
from flowli.domain.data import Data
from flowli.domain.ports.dispatch import Claim, StartClaim

__all__ = ["MemoryDispatch"]


class MemoryDispatch:
    """Decisions by key, and start claims by key."""

    def __init__(self) -> None:
        self._decided: dict[str, Data] = {}
        self._starts: dict[str, StartClaim] = {}
        self._writes = 0

    async def claim(self, key: str, value: Data) -> Claim:
        """The first value stays."""
        await turn()
        won = key not in self._decided
        return Claim(self._decided.setdefault(key, value), won)

    async def claim_start(self, claim: StartClaim) -> StartClaim:
        """The first claim stays."""
        await turn()
        return self._starts.get(claim.key) or self._put(claim)

    async def read_start(self, key: str) -> StartClaim | None:
        """What stands."""
        await turn()
        return self._starts.get(key)

    async def replace_start(self, found: StartClaim, claim: StartClaim) -> StartClaim:
        """Replace exactly the state that was found; a claim that is gone is claimed anew."""
        await turn()
        stands = self._starts.get(claim.key)
        return self._put(claim) if stands is None or stands.token == found.token else stands

    async def forget_start(self, found: StartClaim) -> None:
        """Remove exactly the state that was found."""
        await turn()
        stands = self._starts.get(found.key)
        if stands is not None and stands.token == found.token:
            del self._starts[found.key]

    def _put(self, claim: StartClaim) -> StartClaim:
        self._writes += 1
        self._starts[claim.key] = replace(claim, token=str(self._writes))
        return self._starts[claim.key]
