"""Holding the leases of write scopes while an attempt runs: taken in sorted order, so that nobody waits in a circle."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta

from flowli.domain.errors import BackendUnavailable, LeaseLost, OutcomeUnknown, Retry
from flowli.domain.ids import role_eid
from flowli.domain.ports import Acquired, Holder, Lease, Ownership
from flowli.domain.provenance import Site
from flowli.world import World

__all__ = ["SCOPE_LOST", "held_scopes"]

SCOPE_LOST = "scope lost"
"""Why a block is cancelled whose lease was taken over."""

_TTL_S = 60.0
_AGAIN = timedelta(seconds=15)


@asynccontextmanager
async def held_scopes(
    ownership: Ownership, names: Sequence[str], holder_id: str, site: Site, world: World
) -> AsyncIterator[None]:
    """Hold all of ``names``; the block is cancelled if one of them is lost.

    Raises:
        Retry: somebody else holds one of them; those that were taken are let go.
    """
    held: list[Lease] = []
    owner = asyncio.current_task()
    renewing: asyncio.Task[None] | None = None
    try:
        for name in sorted(names):
            got = await ownership.acquire(role_eid(name), Holder(holder_id, site), _TTL_S)
            if not isinstance(got, Acquired):
                who = got.lease.holder.id if got.lease.holder else "nobody"
                raise Retry(f"another attempt may write to the same paths ({name}, held by {who})", after=_AGAIN)
            held.append(got.lease)
        assert owner is not None
        if held:
            renewing = asyncio.ensure_future(_renew(ownership, held, world, owner))
        yield
    finally:
        if renewing is not None:
            renewing.cancel()
            await asyncio.gather(renewing, return_exceptions=True)
        for lease in reversed(held):
            try:
                await ownership.release(lease)
            except (BackendUnavailable, OutcomeUnknown, LeaseLost):
                continue  # it ends by itself


async def _renew(ownership: Ownership, held: list[Lease], world: World, owner: asyncio.Task[object]) -> None:
    renewed_s = world.boottime_s()
    while True:
        await world.sleep(_TTL_S / 3)
        try:
            for at, lease in enumerate(held):
                held[at] = await ownership.renew(lease)
            renewed_s = world.boottime_s()
        except (BackendUnavailable, OutcomeUnknown):
            if world.boottime_s() - renewed_s < _TTL_S:
                continue
            owner.cancel(SCOPE_LOST)
            return
        except LeaseLost:
            owner.cancel(SCOPE_LOST)
            return
