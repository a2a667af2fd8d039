"""``Ownership``: a row per lease. A method is one transaction: nothing changes between its look and its write."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace

from flowli.domain.data import Data
from flowli.domain.errors import LeaseLost
from flowli.domain.ids import Eid
from flowli.domain.ports import Acquired, Held, Holder, Lease, LeaseRequest
from flowli_backend_sqlite.bodies import pack, unpack
from flowli_backend_sqlite.database import Database


class SqliteOwnership:
    """Leases. The holder's process stands beside them, so that a dead one is taken over at once."""

    def __init__(self, database: Database) -> None:
        self._db = database

    async def read(self, eid: Eid) -> Lease | None:
        """The lease, with its idle time."""
        found = await self._db.read(lambda db: self._found(db, eid))
        return found and found[0]

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
        """Take the lease if it is free."""
        me = self._db.process()

        def work(db: sqlite3.Connection) -> Acquired | Held:
            found = self._found(db, eid)
            if found is None:
                return Acquired(self._put(db, Lease(eid, 1, holder, ttl_s, state=state), me))
            old, expired = found
            if seen is not None and seen.token != old.token:
                return Held(old)
            let_go = old.holder is None or old.epoch <= (free_epoch or 0)
            if not (let_go or expired or force):
                return Held(old)
            deaths = old.deaths + (expired and not let_go and not force)
            kept = old.state if state is None else state
            new = Lease(eid, old.epoch + 1, holder, ttl_s, old.requests, kept, deaths)
            return Acquired(self._put(db, new, me))

        return await self._db.write(work)

    async def renew(self, lease: Lease, *, applied: Iterable[str] = (), state: Data = None) -> Lease:
        """Touch the lease; requests are those that stand now, less ``applied``."""
        done = set(applied)

        def work(db: sqlite3.Connection) -> Lease:
            old = self._held(db, lease)
            left = tuple(request for request in old.requests if request.id not in done)
            return self._put(db, replace(old, requests=left, state=old.state if state is None else state))

        return await self._db.write(work)

    async def request(self, eid: Eid, request: LeaseRequest) -> Lease:
        """Add a request, whoever holds the lease."""

        def work(db: sqlite3.Connection) -> Lease:
            found = self._found(db, eid)
            old = Lease(eid, 0, None, 0.0) if found is None else found[0]
            known = any(one.id == request.id for one in old.requests)
            return old if known else self._put(db, replace(old, requests=(*old.requests, request)))

        return await self._db.write(work)

    async def release(self, lease: Lease) -> None:
        """Leave the lease without a holder; epoch, requests and state stay."""
        with suppress(LeaseLost):
            await self._db.write(lambda db: self._put(db, replace(self._held(db, lease), holder=None)))

    async def remove(self, eid: Eid) -> None:
        """Delete the lease."""
        await self._db.write(lambda db: db.execute("DELETE FROM leases WHERE eid = ?", (str(eid),)))

    def _found(self, db: sqlite3.Connection, eid: Eid) -> tuple[Lease, bool] | None:
        """The lease, and whether it has expired."""
        row = db.execute("SELECT token, changed_s, process, body FROM leases WHERE eid = ?", (str(eid),)).fetchone()
        if row is None:
            return None
        token, changed_s, process, body = row
        idle_s = self._db.now_s() - changed_s  # below 0: the host was started anew since
        lease = replace(unpack(Lease, body), token=token, idle_s=max(idle_s, 0.0))
        return lease, not 0 <= idle_s < lease.ttl_s or self._db.is_dead(process)

    def _held(self, db: sqlite3.Connection, lease: Lease) -> Lease:
        found = self._found(db, lease.eid)
        if found is None or found[0].epoch != lease.epoch or found[0].holder is None:
            raise LeaseLost(f"the lease of {lease.eid} is no longer held under epoch {lease.epoch}")
        return found[0]

    def _put(self, db: sqlite3.Connection, lease: Lease, process: str | None = None) -> Lease:
        """Write the lease; without ``process``, whose it is stays as it was: a request changes the lease of another."""
        lease = replace(lease, token=self._db.world.token(), idle_s=0.0)
        db.execute(
            "INSERT INTO leases VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET token = excluded.token, "
            "changed_s = excluded.changed_s, process = coalesce(excluded.process, process), body = excluded.body",
            (str(lease.eid), lease.token, self._db.now_s(), process, pack(replace(lease, token=""))),
        )
        return lease
