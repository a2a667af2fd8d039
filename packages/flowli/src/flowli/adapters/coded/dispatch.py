"""``Dispatch`` with coded claims."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from flowli.adapters.coded.places import of_claim
from flowli.adapters.coded.values import Values
from flowli.domain.data import Data
from flowli.domain.ports import Claim, Dispatch, StandingClaim, StartClaim

__all__ = ["CodedDispatch"]


class CodedDispatch:
    """The values of claims go through the codec. A start claim holds a digest of the clear arguments, and no value."""

    def __init__(self, inner: Dispatch, values: Values) -> None:
        self._inner = inner
        self._values = values

    async def claim(self, key: str, value: Data) -> Claim:
        place = of_claim(key)
        decided = await self._inner.claim(key, await self._values.encode(value, place))
        return Claim(await self._values.decode(decided.value, place), decided.won)

    async def claims(self, prefix: str, *, after: str = "", limit: int = 1000) -> Sequence[StandingClaim]:
        found = await self._inner.claims(prefix, after=after, limit=limit)
        return [
            replace(claim, value=await self._values.decode_or_sealed(claim.value, of_claim(claim.key)))
            for claim in found
        ]

    async def forget_claim(self, found: StandingClaim) -> bool:
        return await self._inner.forget_claim(found)

    async def claim_start(self, claim: StartClaim) -> StartClaim:
        return await self._inner.claim_start(claim)

    async def read_start(self, key: str) -> StartClaim | None:
        return await self._inner.read_start(key)

    async def replace_start(self, found: StartClaim, claim: StartClaim) -> StartClaim:
        return await self._inner.replace_start(found, claim)

    async def forget_start(self, found: StartClaim) -> None:
        await self._inner.forget_start(found)
