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
from flowli.runtime.hub import Parts
from flowli.runtime.protocols.named_lease import FREE, is_free, pass_on

if TYPE_CHECKING:
    from flowli.runtime.worker.renewal import LeaseGuard, Renewals

__all__ = ["Role", "RoleVerbs"]

_LOST = "the role was lost"
_SPREAD = 60


class Role:
    """One holder in the whole fleet, while the block runs.

    It is renewed beside the event loop, so that a call that blocks the loop does not lose it. When it is lost all the
    same (the process was stopped, the bucket could not be reached), the task in the block is cancelled and the block
    ends with ``LeaseLost``.

    Attributes:
        name: of the role; its stable id, which no change of words may touch.
        display: what people call it.
        epoch: rises with every holder. Give it to whatever the role writes to, which can then refuse who comes late.
    """

    def __init__(
        self, engine: EngineBase, name: str, ttl_s: float, wait_s: float | None, *, parts: Parts, display: str
    ) -> None:
        self._engine = engine
        self._parts = parts
        self._ttl_s = ttl_s
        self._wait_s = wait_s
        self._guard: LeaseGuard | None = None
        self._renewals: Renewals | None = None
        self._cancelled = False
        self.name = name
        self.display = display

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
        self._parts.held -= 1
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
            async with self._parts.trying:
                seen = await ownership.read(eid)
                free = seen is None or await is_free(engine.ports, seen)
                if free and self._parts.held:
                    # those who hold fewer parts come first
                    lag_s = self._ttl_s * min(self._parts.held**2 / _SPREAD, 1 / 3)
                    await world.sleep(
                        lag_s if give_up_s is None else max(0.0, min(lag_s, give_up_s - world.monotonic_s()))
                    )
                    seen = await ownership.read(eid)
                    free = seen is None or await is_free(engine.ports, seen)
                if free:
                    deadline_s = world.boottime_s() + self._ttl_s
                    got = await ownership.acquire(
                        eid, holder, self._ttl_s, seen=seen, force=seen is not None, state=FREE
                    )
                    if isinstance(got, Acquired):
                        self._parts.held += 1
                        return LeaseGuard(world, self._ttl_s, deadline_s, lease=got.lease)
            left_s = self._ttl_s / 3 if give_up_s is None else min(self._ttl_s / 3, give_up_s - world.monotonic_s())
            if left_s <= 0:
                whose = "somebody else" if seen is None or seen.holder is None else seen.holder.id
                raise NotAllowed(f"role '{self.display}' is held by {whose}; wait longer, or leave it to them")
            await world.sleep(left_s)

    async def _release(self, guard: LeaseGuard) -> None:
        engine = self._engine
        await engine.ports.ownership.release(guard.lease)
        left = await engine.ports.ownership.read(guard.lease.eid)
        if left is not None and left.requests and await is_free(engine.ports, left):
            await pass_on(engine.services, left, engine.services.provenance(kind=ActorKind.SYSTEM))


class RoleVerbs(EngineBase):
    """``role``."""

    def role(
        self,
        name: str,
        *,
        part: tuple[int, int] | None = None,
        display: str | None = None,
        ttl_s: float | None = None,
        wait_s: float | None = None,
    ) -> Role:
        """A role that one process of the fleet has at a time, to be used with ``async with``.

        A role that is too much for one process is cut into parts: every process enters all of them at once, each in a
        task of its own, and they spread over the processes, since one that holds fewer comes first.

        Args:
            name: a business key, such as ``mail-out``; ``ctx.lease`` of the same name excludes it. It is the stable id:
                what is kept under it, such as a cursor, stays when the words that people use change.
            part: the i-th of n parts, from 1; the id is then ``{name}-{i}-of-{n}``.
            display: what people call it, such as ``order-shipped-consumer``; a part adds its ``-{i}-of-{n}``; the id if
                None.
            ttl_s: a holder that has not renewed it for so long is taken for dead; ``exec_ttl_s`` if None.
            wait_s: how long entering waits for it; None for ever, 0 not at all.

        Raises:
            InvalidName: the name cannot be used.
            UsageError: there is no such part.
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
        if part is None:
            return Role(self, name, seconds, wait_s, parts=Parts(), display=display or name)
        i, n = part
        if not 1 <= i <= n:
            raise UsageError(f"part is {i} of {n}; parts of a role are numbered from 1 to their number")
        cut = f"-{i}-of-{n}"
        shown = f"{display or name}{cut}"
        return Role(self, f"{name}{cut}", seconds, wait_s, parts=self.hub.parts[name], display=shown)
