"""``Dispatch`` in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from flowli.adapters.memory.turn import turn
from flowli.domain.data import Data
from flowli.domain.ports.dispatch import Claim, StandingClaim, StartClaim

__all__ = ["MemoryDispatch"]


class MemoryDispatch:
    """Decisions by key, and start claims by key."""

    def __init__(self) -> None:
        self._decided: dict[str, StandingClaim] = {}
        self._starts: dict[str, StartClaim] = {}
        self._writes = 0

    async def claim(self, key: str, value: Data) -> Claim:
        """The first value stays."""
        await turn()
        stands = self._decided.get(key)
        if stands is None:
            self._writes += 1
            self._decided[key] = StandingClaim(key, value, str(self._writes))
        return Claim(value, True) if stands is None else Claim(stands.value, False)

    async def claims(self, prefix: str, *, after: str = "", limit: int = 1000) -> Sequence[StandingClaim]:
        """Those that stand, in order."""
        await turn()
        names = sorted(key for key in self._decided if key.startswith(prefix) and key > after)
        return [self._decided[key] for key in names[:limit]]

    async def forget_claim(self, found: StandingClaim) -> bool:
        """Remove exactly the decision that was found."""
        await turn()
        stands = self._decided.get(found.key)
        if stands is None or stands.token != found.token:
            return False
        del self._decided[found.key]
        return True

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
