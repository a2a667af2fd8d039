"""Taking an execution from its owner: how ``terminate`` and ``migrate`` come to append to its journal.

1. to 4. as in ``ask``: the owner may do by itself what is asked, which is the gentle way.
5. Take the lease as soon as it is free: never held, released by the journal, expired. While it is held, wait for the
   owner up to ``grace_s``; then take it although it is held. The new epoch fences the owner at its next append.
   *Crash after it*: an execution with an owner that has vanished, with the request still in its lease: the next owner
   applies it.
6. Read the journal's tail and append there, under the new epoch. A commit of a lower epoch that landed first is read
   and the append is made after it; one of a higher epoch means that somebody else took the execution: start again at
   5.
7. What follows the entry is the caller's: twins, the record, wake-ups. *Crash before it*: the sweeper posts the twins;
   the RESUME of step 3 is still there, and the worker that takes it finds the entry and does the rest.
8. Withdraw the RESUME of step 3 and clear the request from the lease, unless the execution has ended; both have nothing
   left to say. *Crash before it*: the RESUME is acked unread, the next owner clears the request.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from flowli.domain.entries import ExecutionStarted, JournalBody, JournalEntry
from flowli.domain.errors import LeaseLost, OutcomeUnknown
from flowli.domain.ports import Acquired, Appended, Holder, Lease, LeaseRequest, Overtaken
from flowli.domain.provenance import Provenance
from flowli.runtime.protocols.ask import ask, request_task
from flowli.runtime.protocols.standing import Standing
from flowli.runtime.services import Services

__all__ = ["Taken", "Taker"]

_FIRST_LOOK_S, _LAST_LOOK_S = 0.05, 1.0


@dataclass(frozen=True, slots=True)
class Taken:
    """What has become of the execution.

    Attributes:
        standing: the execution with the entries that answer the request.
        appended: the entries that this process appended; empty if somebody else did it.
        lease: under which it did.
    """

    standing: Standing
    appended: tuple[JournalEntry, ...] = ()
    lease: Lease | None = None


@dataclass(frozen=True, slots=True)
class Taker:
    """Takes executions for an operator.

    Attributes:
        ttl_s: of the lease while this process holds it, in seconds.
        grace_s: how long an owner is given to do it by itself.
    """

    services: Services
    holder: Holder
    ttl_s: float
    grace_s: float

    async def apply(
        self, standing: Standing, request: LeaseRequest, bodies: Callable[[Standing, int], Sequence[JournalBody]]
    ) -> Taken:
        """See to it that ``request`` is journaled, by the owner or by this process (steps 2 to 6).

        Args:
            bodies: what to append, from where the execution stands and the epoch under which it is appended.
        """
        asked = await ask(self.services.ports, self.services.hub, standing.execution, request)
        deadline_s = self.services.world.monotonic_s() + self.grace_s
        look_s = _FIRST_LOOK_S
        while True:
            lease = await self._acquire(standing, force=self.services.world.monotonic_s() >= deadline_s)
            standing = await standing.refreshed(self.services.ports)
            taken = Taken(standing) if _answered(standing, request) else None
            if taken is None and lease is not None:
                taken = await self._append(standing, asked.request, lease, bodies)
            if taken is not None:
                return taken
            await self.services.hub.wait_end(standing.execution.eid, look_s)
            look_s = min(2 * look_s, _LAST_LOOK_S)

    async def withdraw(self, taken: Taken, request: str) -> None:
        """Step 8, when all that follows the entry is done."""
        ports, execution = self.services.ports, taken.standing.execution
        lease = await ports.ownership.read(execution.eid)
        for left in lease.requests if lease is not None else ():
            if left.id == request:
                await ports.queue.withdraw(request_task(execution, left))
        if taken.lease is not None and not taken.standing.ended:
            with contextlib.suppress(LeaseLost):  # then the next owner clears it
                await ports.ownership.renew(taken.lease, applied=[request])

    async def _acquire(self, standing: Standing, *, force: bool) -> Lease | None:
        got = await self.services.ports.ownership.acquire(
            standing.execution.eid, self.holder, self.ttl_s, free_epoch=standing.fold.released_epoch, force=force
        )
        return got.lease if isinstance(got, Acquired) else None

    async def _append(
        self,
        standing: Standing,
        request: LeaseRequest,
        lease: Lease,
        bodies: Callable[[Standing, int], Sequence[JournalBody]],
    ) -> Taken | None:
        """Append under ``lease``; None if somebody else has taken the execution."""
        eid = standing.execution.eid
        while True:
            by = replace(
                request.by, site=request.by.site.at_epoch(lease.epoch), at=max(self.services.world.now(), standing.at)
            )
            entries = [_entry(body, by) for body in bodies(standing, lease.epoch)]
            try:
                result = await self.services.ports.journal.append(
                    eid, entries, after=standing.position, epoch=lease.epoch, writer=self.holder.id
                )
            except OutcomeUnknown:
                standing = await standing.refreshed(self.services.ports)
                if _answered(standing, request):
                    return Taken(standing, standing.entries[-len(entries) :], lease)
                raise
            match result:
                case Appended(position):
                    first = standing.fold.seq + 1
                    numbered = tuple(replace(entry, seq=first + n) for n, entry in enumerate(entries))
                    return Taken(standing.extended(numbered, position), numbered, lease)
                case Overtaken(epoch, others, position):
                    standing = standing.extended(others, position)
                    if _answered(standing, request):
                        return Taken(standing)
                    if epoch > lease.epoch:
                        return None


def _entry(body: JournalBody, by: Provenance) -> JournalEntry:
    if isinstance(body, ExecutionStarted):
        by = replace(by, at=body.execution.created_at)
    return JournalEntry(body, by)


def _answered(standing: Standing, request: LeaseRequest) -> bool:
    return standing.ended or request.id in standing.fold.applied
