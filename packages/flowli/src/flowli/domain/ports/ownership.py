"""``Ownership``: one owner per execution, and any other lease that has a name."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Protocol

from flowli.domain.data import Data
from flowli.domain.ids import Eid
from flowli.domain.provenance import Provenance, Site

__all__ = ["Acquired", "Held", "Holder", "Lease", "LeaseRequest", "Ownership"]


@dataclass(frozen=True, slots=True)
class Holder:
    """Who holds a lease: ``id`` decides (two acquires by one id are two owners, the epoch tells them apart)."""

    id: str
    site: Site


@dataclass(frozen=True, slots=True)
class LeaseRequest:
    """A wish left for the owner: it survives acquire and steal and is cleared only after its entry is durable.

    Attributes:
        id: a request is applied once.
        verb: ``wake``, ``cancel``, ``pause``, ``unpause``, ``terminate``, ``migrate``.
        by: who asked.
        reason: why, for people.
        data: what the verb needs: ``{"version": ...}``, ``{"cause": ...}``.
    """

    id: str
    verb: str
    by: Provenance
    reason: str = ""
    data: dict[str, Data] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Lease:
    """A lease as it was last seen.

    Attributes:
        epoch: rises with every acquire; 0 for a lease that only carries requests so far.
        holder: None while nobody holds it.
        ttl_s: how long after its last change it expires.
        state: a small document of the holder (named leases).
        deaths: how often it was taken from a holder that vanished; not by force.
        idle_s: how long it has certainly been unchanged, by the store's clock or this process's own monotonic one.
        token: opaque; names this state of the lease to the backend.
    """

    eid: Eid
    epoch: int
    holder: Holder | None
    ttl_s: float
    requests: tuple[LeaseRequest, ...] = ()
    state: Data = None
    deaths: int = 0
    idle_s: float = 0.0
    token: str = ""


@dataclass(frozen=True, slots=True)
class Acquired:
    """The lease is held by the caller, under a new epoch."""

    lease: Lease


@dataclass(frozen=True, slots=True)
class Held:
    """Somebody else holds the lease, or it changed while it was being taken."""

    lease: Lease


class Ownership(Protocol):
    """Leases. Fencing does not rest on clocks: whoever writes under a lease carries its epoch.

    Concurrency: of any number of acquires that saw one state at most one is ``Acquired``. Epochs of one lease only
    rise. Failure: a holder that cannot renew treats the lease as lost at its own deadline.
    """

    async def read(self, eid: Eid) -> Lease | None:
        """The lease as it stands; None if there never was one."""

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
        """Take the lease if it is free, and raise its epoch by one. Requests stay in it.

        Free is: absent; epoch 0; released; of an epoch not above ``free_epoch`` (the journal says that it ended);
        unchanged for its own ``ttl_s`` or longer; or held by a process of this host that is certainly dead.

        Args:
            seen: the state the caller looked at; saves a read.
            force: take it although it is held (terminate and migrate, after their grace).
            state: replaces the state of the lease, unless None.
        """

    async def renew(self, lease: Lease, *, applied: Iterable[str] = (), state: Data = None) -> Lease:
        """Show that the holder lives; returns the lease with the requests that came meanwhile.

        Args:
            applied: ids of requests whose entries are durable; they are removed.
            state: replaces the state of the lease, unless None.

        Raises:
            LeaseLost: another epoch is there. It is compared before anything is written.
        """

    async def request(self, eid: Eid, request: LeaseRequest) -> Lease:
        """Leave a request; one with the same id is left once. Creates the lease with epoch 0 if absent. Fences
        nobody.
        """

    async def release(self, lease: Lease) -> None:
        """Let a named lease go (an execution's lease is released by its journal). No error if it was lost."""

    async def remove(self, eid: Eid) -> None:
        """Delete the lease of an execution that has ended and is archived."""
