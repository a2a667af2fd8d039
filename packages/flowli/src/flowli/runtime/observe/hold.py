"""``Hold``: the lease of a subscription, with the cursor in its state."""

from __future__ import annotations

import asyncio
from typing import Self

from flowli.domain.data import Data
from flowli.domain.entries import START, Position
from flowli.domain.errors import LeaseLost
from flowli.domain.ids import Eid, role_eid
from flowli.domain.ports import Acquired, Holder, Lease
from flowli.runtime.services import Services

__all__ = ["Hold", "cursor_of", "subscription_eid"]


def subscription_eid(name: str) -> Eid:
    """Under which the lease of a subscription stands."""
    return role_eid(f"subscription:{name}")


def cursor_of(state: Data) -> tuple[Position, int] | None:
    """Where a subscription stands: what to read after, and the last entry behind that it has dealt with; None if it
    was never begun.
    """
    if not isinstance(state, dict) or "commit" not in state:
        return None
    commit, seq, done = (state.get(name) for name in ("commit", "seq", "done"))
    if not (isinstance(commit, int) and isinstance(seq, int) and isinstance(done, int)):
        return None
    return Position(commit, seq), done


class Hold:
    """The lease while this process holds it. Every write of it goes through one lock: the cursor and the renewals."""

    def __init__(self, services: Services, lease: Lease, deadline_s: float) -> None:
        self._services = services
        self._lease = lease
        self._deadline_s = deadline_s
        self._lock = asyncio.Lock()
        position, done = cursor_of(lease.state) or (START, 0)
        self.position = position
        self.done = done

    @classmethod
    async def take(cls, services: Services, name: str, ttl_s: float) -> Self | None:
        """Take the lease; None while another process holds it. Its state stays as it is."""
        ownership, eid = services.ports.ownership, subscription_eid(name)
        seen = await ownership.read(eid)
        holder = Holder(f"{services.site.worker_id}/{services.world.token()[:8]}", services.site)
        deadline_s = services.world.boottime_s() + ttl_s
        got = await ownership.acquire(eid, holder, ttl_s, seen=seen)
        return cls(services, got.lease, deadline_s) if isinstance(got, Acquired) else None

    @property
    def begun(self) -> bool:
        """Whether the subscription has a cursor already."""
        return cursor_of(self._lease.state) is not None

    def check(self) -> None:
        """Call it right before an event is delivered, with no await between.

        Raises:
            LeaseLost: another process may deliver by now.
        """
        if self._services.world.boottime_s() >= self._deadline_s - self._lease.ttl_s / 10:
            raise LeaseLost("the lease of the subscription was not renewed in time")

    async def advance(self, position: Position, done: int) -> None:
        """Make the cursor durable.

        Raises:
            LeaseLost: another process goes on.
        """
        state: Data = {"commit": position.commit, "seq": position.seq, "done": done}
        await self._renew(state)
        self.position, self.done = position, done

    async def keep(self) -> None:
        """Renew the lease until cancelled.

        Raises:
            LeaseLost: another process goes on.
        """
        while True:
            await self._services.world.sleep(self._lease.ttl_s / 3)
            await self._renew(None)

    async def release(self) -> None:
        """Let another process go on at once."""
        async with self._lock:
            await self._services.ports.ownership.release(self._lease)

    async def _renew(self, state: Data) -> None:
        async with self._lock:
            deadline_s = self._services.world.boottime_s() + self._lease.ttl_s
            self._lease = await self._services.ports.ownership.renew(self._lease, state=state)
            self._deadline_s = deadline_s
