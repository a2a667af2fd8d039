"""Holding the leases of write scopes while an attempt runs: taken in sorted order, so that nobody waits in a circle."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol

from flowli.domain.errors import BackendUnavailable, LeaseLost, OutcomeUnknown, Retry
from flowli.domain.ids import role_eid
from flowli.domain.ports import Acquired, Holder, Lease, Ownership
from flowli.domain.provenance import Site
from flowli.world import World

__all__ = ["SCOPE_LOST", "TTL_S", "HeldScope", "PortScopes", "Scopes", "held_scopes"]

SCOPE_LOST = "scope lost"
"""Why a block is cancelled whose lease was taken over."""

TTL_S = 60.0
_AGAIN = timedelta(seconds=15)


class HeldScope(Protocol):
    """A scope that is held here."""

    async def renew(self) -> None:
        """Show that its holder lives.

        Raises:
            LeaseLost: somebody else has it.
        """

    async def release(self) -> None:
        """Let it go; no error if it was lost."""


class Scopes(Protocol):
    """Takes scopes."""

    async def take(self, name: str, holder_id: str) -> HeldScope | str:
        """The scope, or who holds it."""


class PortScopes:
    """Scopes in a bucket."""

    def __init__(self, ownership: Ownership, site: Site) -> None:
        self._ownership, self._site = ownership, site

    async def take(self, name: str, holder_id: str) -> HeldScope | str:
        got = await self._ownership.acquire(role_eid(name), Holder(holder_id, self._site), TTL_S)
        if isinstance(got, Acquired):
            return _PortScope(self._ownership, got.lease)
        return got.lease.holder.id if got.lease.holder else "nobody"


@dataclass
class _PortScope:
    ownership: Ownership
    lease: Lease

    async def renew(self) -> None:
        self.lease = await self.ownership.renew(self.lease)

    async def release(self) -> None:
        await self.ownership.release(self.lease)


@asynccontextmanager
async def held_scopes(scopes: Scopes, names: Sequence[str], holder_id: str, world: World) -> AsyncIterator[None]:
    """Hold all of ``names``; the block is cancelled if one of them is lost.

    Raises:
        Retry: somebody else holds one of them; those that were taken are let go.
    """
    held: list[HeldScope] = []
    owner = asyncio.current_task()
    renewing: asyncio.Task[None] | None = None
    try:
        for name in sorted(names):
            got = await scopes.take(name, holder_id)
            if isinstance(got, str):
                raise Retry(f"another attempt may write to the same paths ({name}, held by {got})", after=_AGAIN)
            held.append(got)
        assert owner is not None
        if held:
            renewing = asyncio.ensure_future(_renew(held, world, owner))
        yield
    finally:
        if renewing is not None:
            renewing.cancel()
            await asyncio.gather(renewing, return_exceptions=True)
        for one in reversed(held):
            try:
                await one.release()
            except (BackendUnavailable, OutcomeUnknown, LeaseLost):
                continue  # it ends by itself


async def _renew(held: list[HeldScope], world: World, owner: asyncio.Task[object]) -> None:
    renewed_s = world.boottime_s()
    while True:
        await world.sleep(TTL_S / 3)
        try:
            for one in held:
                await one.renew()
            renewed_s = world.boottime_s()
        except (BackendUnavailable, OutcomeUnknown):
            if world.boottime_s() - renewed_s < TTL_S:
                continue
            owner.cancel(SCOPE_LOST)
            return
        except LeaseLost:
            owner.cancel(SCOPE_LOST)
            return
