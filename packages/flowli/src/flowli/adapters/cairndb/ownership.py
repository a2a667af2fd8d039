"""``Ownership`` over one lease per execution, or per name."""

from __future__ import annotations

from collections.abc import Iterable

from flowli.adapters.cairndb.opened import CairnPort, port_method
from flowli.adapters.cairndb.task_doc import process_body
from flowli.adapters.cairndb.tokens import doc_of, token_of
from flowli.cairn.errors import LeaseGone
from flowli.cairn.lease_doc import LeaseDoc, StateChange, view
from flowli.codec import dump, load
from flowli.domain import keys
from flowli.domain.data import Data
from flowli.domain.errors import LeaseLost
from flowli.domain.ids import Eid
from flowli.domain.ports.ownership import Acquired, Held, Holder, Lease, LeaseRequest

__all__ = ["CairnOwnership"]

_STATE = "value"


class CairnOwnership(CairnPort):
    """Leases. The holder's process is written into them, so that a dead one of this host is taken over at once."""

    @port_method
    async def read(self, eid: Eid) -> Lease | None:
        found = await self._cairn.leases.read(keys.lease(eid))
        return None if found is None else _lease(eid, found)

    @port_method
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
        key, leases = keys.lease(eid), self._cairn.leases
        current = None if seen is None else _lease_doc(seen)
        # without a word from the journal this is most likely the first owner: create first, read only if that is lost
        expect_absent = current is None and free_epoch is None and not force
        if current is None and not expect_absent:
            current = await leases.read(key)
        ended = None
        if current is not None and (force or (free_epoch is not None and current.epoch <= free_epoch)):
            ended = current.epoch
        outcome = await leases.acquire(
            key,
            {**dump(holder), "process": process_body(self._world.process())},
            ttl_s,
            free_epoch=ended,
            seen=current,
            state=_state(state),
            expect_absent=expect_absent or current is None,
        )
        if isinstance(outcome, LeaseDoc):
            self._opened.note_acquired(eid, outcome.epoch)
            return Acquired(_lease(eid, outcome))
        if outcome.doc is None:
            raise LeaseLost(f"the lease of {eid} was removed while it was being taken; read the archive")
        return Held(_lease(eid, outcome.doc))

    @port_method
    async def renew(self, lease: Lease, *, applied: Iterable[str] = (), state: Data = None) -> Lease:
        current = await self._current(lease)
        renewed = await self._cairn.leases.renew(current, drop_requests=frozenset(applied), state=_state(state))
        return _lease(lease.eid, renewed)

    @port_method
    async def request(self, eid: Eid, request: LeaseRequest) -> Lease:
        asked = dump(request)
        left = await self._cairn.leases.request(keys.lease(eid), asked)
        if left is None:
            raise LeaseLost(f"the lease of {eid} was removed while a request was being left; read the archive")
        return _lease(eid, left)

    @port_method
    async def release(self, lease: Lease) -> None:
        try:
            await self._cairn.leases.release(await self._current(lease))
        except LeaseGone:
            return

    @port_method
    async def remove(self, eid: Eid) -> None:
        while (found := await self._cairn.leases.read(keys.lease(eid))) is not None:
            if await self._cairn.leases.remove(found):
                return

    async def _current(self, lease: Lease) -> LeaseDoc:
        """The document behind a lease that the caller holds."""
        current = _lease_doc(lease) or await self._cairn.leases.read(keys.lease(lease.eid))
        if current is None or current.epoch != lease.epoch:
            raise LeaseGone(
                f"The lease of {lease.eid} is no longer of epoch {lease.epoch}", "Stop what was done under it"
            )
        return current


def _state(state: Data) -> StateChange:
    # beside it stays what a newer release put there
    return None if state is None else lambda there: {**there, _STATE: state}


def _lease_doc(lease: Lease) -> LeaseDoc | None:
    doc = doc_of(keys.lease(lease.eid), lease.token)
    return None if doc is None else view(doc, lease.idle_s)


def _lease(eid: Eid, found: LeaseDoc) -> Lease:
    return Lease(
        eid,
        found.epoch,
        None if found.holder is None else load(Holder, found.holder),
        found.ttl_s,
        tuple(load(LeaseRequest, one) for one in found.requests),
        found.state.get(_STATE),
        found.deaths,
        found.idle_s,
        token_of(found.doc),
    )
