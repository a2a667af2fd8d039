"""``Ownership`` in memory."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from flowli.adapters.memory.turn import turn
from flowli.domain.data import Data
from flowli.domain.errors import LeaseLost
from flowli.domain.ids import Eid
from flowli.domain.ports.ownership import Acquired, Held, Holder, Lease, LeaseRequest
from flowli.world import World

__all__ = ["MemoryOwnership"]


class MemoryOwnership:
    """One ``Lease`` per execution, and when it last changed.

    A dead holder is known by its silence only: this backend cannot ask about processes.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self._leases: dict[Eid, Lease] = {}
        self._changed_s: dict[Eid, float] = {}
        self._writes = 0

    async def read(self, eid: Eid) -> Lease | None:
        """The lease, with its idle time by this backend's clock."""
        await turn()
        return self._now(eid)

    async def acquire(
        self,
        eid: Eid,
        holder: Holder,
        ttl_s: float,
        *,
        free_epoch: int | None = None,
        seen: Lease | None = None,
        force: bool = False,
        state: Data = None,
    ) -> Acquired | Held:
        """Take the lease if it is free; what is looked at is compared when it is written."""
        looked_at = seen or await self.read(eid)
        await turn()
        found = self._now(eid)
        if found is None:
            return Acquired(self._put(Lease(eid, 1, holder, ttl_s, state=state)))
        if looked_at is None or looked_at.token != found.token:
            return Held(found)
        let_go = found.holder is None or (free_epoch is not None and found.epoch <= free_epoch)
        expired = found.idle_s >= found.ttl_s
        if not (let_go or expired or force):
            return Held(found)
        return Acquired(
            self._put(
                replace(
                    found,
                    epoch=found.epoch + 1,
                    holder=holder,
                    ttl_s=ttl_s,
                    state=found.state if state is None else state,
                    deaths=found.deaths + (expired and not let_go and not force),
                )
            )
        )

    async def renew(self, lease: Lease, *, applied: Iterable[str] = (), state: Data = None) -> Lease:
        """Touch the lease; requests are those that stand now, less ``applied``."""
        await turn()
        found, done = self._held(lease), set(applied)
        return self._put(
            replace(
                found,
                requests=tuple(request for request in found.requests if request.id not in done),
                state=found.state if state is None else state,
            )
        )

    async def request(self, eid: Eid, request: LeaseRequest) -> Lease:
        """Add a request, whoever holds the lease."""
        await turn()
        found = self._now(eid) or Lease(eid, 0, None, 0.0)
        if any(known.id == request.id for known in found.requests):
            return found
        return self._put(replace(found, requests=(*found.requests, request)))

    async def release(self, lease: Lease) -> None:
        """Leave the lease without a holder; epoch, requests and state stay."""
        await turn()
        try:
            self._put(replace(self._held(lease), holder=None))
        except LeaseLost:
            return

    async def remove(self, eid: Eid) -> None:
        """Forget the lease."""
        await turn()
        self._leases.pop(eid, None)

    def _now(self, eid: Eid) -> Lease | None:
        found = self._leases.get(eid)
        return None if found is None else replace(found, idle_s=self._world.monotonic_s() - self._changed_s[eid])

    def _held(self, lease: Lease) -> Lease:
        found = self._leases.get(lease.eid)
        if found is None or found.epoch != lease.epoch or found.holder is None:
            raise LeaseLost(f"the lease of {lease.eid} is no longer held under epoch {lease.epoch}")
        return found

    def _put(self, lease: Lease) -> Lease:
        self._writes += 1
        lease = replace(lease, token=str(self._writes), idle_s=0.0)
        self._leases[lease.eid], self._changed_s[lease.eid] = lease, self._world.monotonic_s()
        return lease
