"""Roles: what one process of the fleet does at a time."""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import TYPE_CHECKING

from flowli.domain.errors import LeaseLost, NotAllowed, UsageError
from flowli.domain.ids import check_key, role_eid
from flowli.domain.ports import Acquired, Holder
from flowli.domain.provenance import ActorKind
from flowli.runtime.engine.base import EngineBase
from flowli.runtime.protocols.named_lease import FREE, is_free, pass_on

if TYPE_CHECKING:
    from flowli.runtime.worker.renewal import LeaseGuard, Renewals

__all__ = ["Role", "RoleVerbs"]

_LOST = "the role was lost"


class Role:
    """One holder in the whole fleet, while the block runs.

    It is renewed beside the event loop, so that a call that blocks the loop does not lose it. When it is lost all the
    same (the process was stopped, the bucket could not be reached), the task in the block is cancelled and the block
    ends with ``LeaseLost``.

    Attributes:
        name: of the role.
        epoch: rises with every holder. Give it to whatever the role writes to, which can then refuse who comes late.
    """

    def __init__(self, engine: EngineBase, name: str, ttl_s: float, wait_s: float | None) -> None:
        self._engine = engine
        self._ttl_s = ttl_s
        self._wait_s = wait_s
        self._guard: LeaseGuard | None = None
        self._renewals: Renewals | None = None
        self._cancelled = False
        self.name = name

    @property
    def epoch(self) -> int:
        """Under which the role is held."""
        if self._guard is None:
            raise UsageError(f"role '{self.name}' is not held; use it as `async with engine.role(...) as role`")
        return self._guard.epoch

    def check(self) -> None:
        """Call it right before what only the holder may do, with no await between.

        Raises:
            LeaseLost: the role is lost or may be over.
        """
        if self._guard is None:
            raise LeaseLost(f"role '{self.name}' is not held")
        self._guard.check()

    async def __aenter__(self) -> Role:
        from flowli.runtime.worker.renewal import Renewals

        engine, task = self._engine, asyncio.current_task()
        self._guard = guard = await self._acquire()

        def lost() -> None:
            if self._guard is guard and task is not None:
                self._cancelled = True
                task.cancel(_LOST)

        guard.on_lost = lost
        self._renewals = Renewals(engine.ports, engine.world, tick_s=self._ttl_s / 12)
        self._renewals.start()
        self._renewals.watch(guard)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        guard, renewals, task = self._guard, self._renewals, asyncio.current_task()
        assert guard is not None
        assert renewals is not None
        self._guard = None
        renewals.forget(guard)
        await renewals.stop()
        if self._cancelled:
            others = task.uncancel() if task is not None else 0
            if kind is asyncio.CancelledError and others == 0:
                raise LeaseLost(f"role '{self.name}' was taken over, or could not be renewed") from error
        elif not guard.lost:
            await self._release(guard)

    async def _acquire(self) -> LeaseGuard:
        from flowli.runtime.worker.renewal import LeaseGuard

        engine, eid = self._engine, role_eid(self.name)
        ownership, world = engine.ports.ownership, engine.world
        holder = Holder(f"{engine.site.worker_id}/{world.token()}", engine.site)
        give_up_s = None if self._wait_s is None else world.monotonic_s() + self._wait_s
        while True:
            seen = await ownership.read(eid)
            if seen is None or await is_free(engine.ports, seen):
                deadline_s = world.boottime_s() + self._ttl_s
                got = await ownership.acquire(eid, holder, self._ttl_s, seen=seen, force=seen is not None, state=FREE)
                if isinstance(got, Acquired):
                    return LeaseGuard(world, self._ttl_s, deadline_s, lease=got.lease)
            left_s = self._ttl_s / 3 if give_up_s is None else min(self._ttl_s / 3, give_up_s - world.monotonic_s())
            if left_s <= 0:
                whose = "somebody else" if seen is None or seen.holder is None else seen.holder.id
                raise NotAllowed(f"role '{self.name}' is held by {whose}; wait longer, or leave it to them")
            await world.sleep(left_s)

    async def _release(self, guard: LeaseGuard) -> None:
        engine = self._engine
        await engine.ports.ownership.release(guard.lease)
        left = await engine.ports.ownership.read(guard.lease.eid)
        if left is not None and left.requests and await is_free(engine.ports, left):
            await pass_on(engine.services, left, engine.services.provenance(kind=ActorKind.SYSTEM))


class RoleVerbs(EngineBase):
    """``role``."""

    def role(self, name: str, *, ttl_s: float | None = None, wait_s: float | None = None) -> Role:
        """A role that one process of the fleet has at a time, to be used with ``async with``.

        Args:
            name: a business key, such as ``mail-out``; ``ctx.lease`` of the same name excludes it.
            ttl_s: a holder that has not renewed it for so long is taken for dead; ``exec_ttl_s`` if None.
            wait_s: how long entering waits for it; None for ever, 0 not at all.

        Raises:
            InvalidName: the name cannot be used.
            NotAllowed: it was not free in time (on entering).
            LeaseLost: it was lost while the block ran (on leaving).

        Example:
            >>> async with engine.role("mail-out") as role:
            ...     while True:
            ...         role.check()
            ...         await send_next(fence=role.epoch)
        """
        check_key("role", name)
        seconds = self.config.exec_ttl_s if ttl_s is None else ttl_s
        if not seconds > 0:
            raise UsageError(f"ttl_s is {seconds}; it must be positive")
        return Role(self, name, seconds, wait_s)
