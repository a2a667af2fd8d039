"""Leases: one holder at a time, decided by compare-and-swap on one document.

Acquiring and stealing raise the epoch. Requests and state may be changed by anyone and fence nobody. Whoever writes
as the holder compares the epoch after every re-read, before anything else: a newer epoch ends it (it is never
overwritten).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from flowli.cairn.errors import LeaseGone
from flowli.cairn.lease_doc import Free, Held, LeaseDoc, Observations, StateChange, new_state, view, why_free
from flowli.cairn.objects import Created, Doc, Documents, Swapped
from flowli.cairn.values import JSON
from flowli.world import World

__all__ = ["Held", "LeaseDoc", "Leases"]


class Leases:
    """The leases of one bucket, as one process sees them.

    Args:
        documents: where they are.
        world: the clock by which unchanged leases age here when the store has none.
    """

    def __init__(self, documents: Documents, world: World) -> None:
        self._documents = documents
        self._world = world
        self._observations = Observations(world)

    async def read(self, key: str) -> LeaseDoc | None:
        """Read a lease; None if there is none. One request."""
        doc = await self._documents.read(key)
        if doc is None:
            self._observations.forget(key)
            return None
        return self.view(doc)

    def view(self, doc: Doc) -> LeaseDoc:
        """The lease in a document that was read just now."""
        return view(doc, self.observe(doc.key, doc.version, doc.age_s))

    def observe(self, key: str, version: str, age_s: float | None = None) -> float:
        """Note a version seen (in a listing, say) and return for how many seconds it has been unchanged."""
        return self._observations.observe(key, version, age_s)

    async def acquire(
        self,
        key: str,
        holder: Mapping[str, JSON],
        ttl_s: float,
        *,
        free_epoch: int | None = None,
        seen: LeaseDoc | None = None,
        state: StateChange = None,
        create: bool = True,
        expect_absent: bool = False,
    ) -> LeaseDoc | Held:
        """Take the lease if it is free; requests are kept, and the state unless ``state`` is given.

        It is free when it was never held, is released, has the epoch ``free_epoch``, has not been written for its own
        ``ttl_s``, or its holder's process is certainly dead. One write, and one read unless ``seen`` or
        ``expect_absent``.

        Args:
            holder: who takes it; ``process`` holds the fields of the process identity.
            ttl_s: seconds without renewal after which others may take it.
            free_epoch: an epoch that the caller knows to have ended.
            seen: the lease as the caller read it.
            create: make it when there is none; else that is ``Held(None)``.
            expect_absent: try to make it first.

        Returns:
            The lease under its new epoch, or ``Held``.
        """
        if expect_absent and create and seen is None:
            current: LeaseDoc | None = None
        else:
            current = seen if seen is not None else await self.read(key)
        while True:
            if current is None:
                if not create:
                    return Held(None)
                outcome = await self._documents.create(key, _first(holder, ttl_s, state))
                if isinstance(outcome, Created):
                    return self.view(outcome.doc)
                current = self.view(outcome.doc)
                continue
            reason = why_free(current, free_epoch, self._world)
            if reason is None:
                return Held(current)
            taken = await self._swap(current, _taken(current, holder, ttl_s, state, reason))
            if isinstance(taken, LeaseDoc):
                return taken
            # Another write came first. Its epoch and its age count now; the reason found above does not.
            current = taken.doc

    async def renew(
        self,
        lease: LeaseDoc,
        *,
        drop_requests: Collection[str] = (),
        state: StateChange = None,
        deaths: int | None = None,
    ) -> LeaseDoc:
        """Write the lease anew as its holder. Requests that others added meanwhile are kept and returned.

        Args:
            lease: as acquired or renewed last.
            drop_requests: ids of requests that are dealt with.
            state: the new state, or a function that makes it from the present one.
            deaths: set the count of deaths.

        Raises:
            LeaseGone: another holds it by now.
            OutcomeUnknown: it is unknown whether it was renewed; the holder must take itself for fenced.
        """

        def changed(current: LeaseDoc) -> dict[str, JSON]:
            body = _body(current)
            body["requests"] = [one for one in current.requests if one.get("id") not in drop_requests]
            body["state"] = new_state(current, state)
            body["deaths"] = current.deaths if deaths is None else deaths
            return body

        return await self._as_holder(lease, changed)

    async def set_state(self, lease: LeaseDoc, state: StateChange) -> LeaseDoc:
        """Change the state, as anybody; the epoch stays.

        Raises:
            LeaseGone: the epoch is another one by now.
        """

        def changed(current: LeaseDoc) -> dict[str, JSON]:
            return {**_body(current), "state": new_state(current, state)}

        return await self._as_holder(lease, changed, any_holder=True)

    async def release(self, lease: LeaseDoc, *, state: StateChange = None) -> LeaseDoc:
        """Give the lease back; the epoch stays, the requests stay.

        Raises:
            LeaseGone: another holds it by now.
        """

        def changed(current: LeaseDoc) -> dict[str, JSON]:
            return {**_body(current), "holder": None, "state": new_state(current, state)}

        return await self._as_holder(lease, changed)

    async def request(
        self, key: str, request: Mapping[str, JSON], *, seen: LeaseDoc | None = None, create: bool = True
    ) -> LeaseDoc | None:
        """Leave a request for the holder. The same id twice is one request.

        Args:
            request: its ``id`` and whatever the holder needs.
            seen: the lease as the caller read it.
            create: make the lease, with epoch 0, when there is none; else return None then.

        Raises:
            ValueError: the request has no id.
        """
        if not isinstance(request.get("id"), str):
            raise ValueError("A request needs an 'id' of type str")
        current = seen if seen is not None else await self.read(key)
        while True:
            if current is None:
                if not create:
                    return None
                body: dict[str, JSON] = {"epoch": 0, "holder": None, "ttl_s": 0, "state": {}, "deaths": 0}
                outcome = await self._documents.create(key, {**body, "requests": [dict(request)]})
                current = self.view(outcome.doc)
                if isinstance(outcome, Created):
                    return current
            if any(one.get("id") == request["id"] for one in current.requests):
                return current
            written = await self._swap(current, {**_body(current), "requests": [*current.requests, dict(request)]})
            if isinstance(written, LeaseDoc):
                return written
            current = written.doc

    async def remove(self, lease: LeaseDoc) -> bool:
        """Remove the document as it was read. False when it has changed or is gone."""
        removed = await self._documents.remove(lease.doc)
        if removed:
            self._observations.forget(lease.key)
        return removed

    async def _as_holder(
        self, lease: LeaseDoc, change: Callable[[LeaseDoc], dict[str, JSON]], *, any_holder: bool = False
    ) -> LeaseDoc:
        current = lease
        while True:
            written = await self._swap(current, change(current))
            if isinstance(written, LeaseDoc):
                return written
            # The epoch first: the version just read is the new holder's, and writing over it would undo the fence.
            if written.doc is None or written.doc.epoch != lease.epoch:
                raise _gone(lease, written.doc)
            if not any_holder and written.doc.holder != lease.holder:
                raise _gone(lease, written.doc)
            current = written.doc

    async def _swap(self, lease: LeaseDoc, body: dict[str, JSON]) -> LeaseDoc | Held:
        outcome = await self._documents.swap(lease.doc, body)
        if isinstance(outcome, Swapped):
            return self.view(outcome.doc)
        return Held(None if outcome.doc is None else self.view(outcome.doc))


def _body(lease: LeaseDoc) -> dict[str, JSON]:
    return dict(lease.doc.body)


def _first(holder: Mapping[str, JSON], ttl_s: float, state: StateChange) -> dict[str, JSON]:
    made = state({}) if callable(state) else state or {}
    return {"epoch": 1, "holder": dict(holder), "ttl_s": ttl_s, "requests": [], "state": dict(made), "deaths": 0}


def _taken(
    lease: LeaseDoc, holder: Mapping[str, JSON], ttl_s: float, state: StateChange, reason: Free
) -> dict[str, JSON]:
    died = reason in (Free.EXPIRED, Free.DEAD)
    return {
        **_body(lease),
        "epoch": lease.epoch + 1,
        "holder": dict(holder),
        "ttl_s": ttl_s,
        "requests": list(lease.requests),
        "state": new_state(lease, state),
        "deaths": lease.deaths + died,
    }


def _gone(lease: LeaseDoc, current: LeaseDoc | None) -> LeaseGone:
    if current is None:
        fact = f"The lease {lease.key!r} of epoch {lease.epoch} was removed"
    elif current.epoch != lease.epoch:
        fact = f"The lease {lease.key!r} of epoch {lease.epoch} was taken under epoch {current.epoch}"
    else:
        fact = f"The lease {lease.key!r} of epoch {lease.epoch} was released"
    return LeaseGone(fact, "Stop what was done under it; write nothing more")
