"""``Cairn``: the database made of one bucket."""

from __future__ import annotations

from collections import OrderedDict
from weakref import WeakValueDictionary

from flowli.cairn.boundary import Boundary, LogBoundary
from flowli.cairn.claim import Claims
from flowli.cairn.layout import ensure_layout
from flowli.cairn.lease import Leases
from flowli.cairn.log import RETIRE_GRACE_S, Log
from flowli.cairn.objects import Documents
from flowli.cairn.store import ObjectStore
from flowli.world import World

__all__ = ["Cairn"]

_KEPT_LOGS = 1024


class Cairn:
    """Documents, claims, leases and logs over one store, for one event loop.

    Args:
        store: where everything is; the cairn closes it.
        world: clock, chance and identity of this process.
        retire_grace_s: how long trimmed commits stay before they may be deleted.

    Attributes:
        store, world: as given.
        documents: conditional objects.
        claims: decisions with one winner.
        leases: ownership.
    """

    def __init__(self, store: ObjectStore, world: World, *, retire_grace_s: float = RETIRE_GRACE_S) -> None:
        self.store = store
        self.world = world
        self.retire_grace_s = retire_grace_s
        self.documents = Documents(store, world)
        self.claims = Claims(self.documents)
        self.leases = Leases(self.documents, world)
        # Every log in use is one object per name, or group commit would race itself; the recent ones keep their tails.
        self._logs: WeakValueDictionary[str, Log] = WeakValueDictionary()
        self._recent: OrderedDict[str, Log] = OrderedDict()

    def log(
        self,
        name: str,
        *,
        trimmable: bool = False,
        boundary: Boundary | None = None,
        linger_s: float = 0.0,
        max_linger_s: float = 2.0,
    ) -> Log:
        """The log of that name; the same object while it is in use. The settings count when it is made.

        Args:
            name: for example ``wf`` or ``wf.ch.orders``.
            trimmable: keep its boundary beside it (``Log.trim``).
            boundary: where its boundary is told instead.
            linger_s: how long ``append_next`` gathers; doubles with each lost commit up to ``max_linger_s``.
        """
        log = self._logs.get(name)
        if log is None:
            if boundary is None and trimmable:
                boundary = LogBoundary(self.documents, name)
            log = Log(
                self.documents,
                name,
                self.world,
                boundary=boundary,
                linger_s=linger_s,
                max_linger_s=max_linger_s,
                retire_grace_s=self.retire_grace_s,
            )
            self._logs[name] = log
        self._recent[name] = log
        self._recent.move_to_end(name)
        if len(self._recent) > _KEPT_LOGS:
            self._recent.popitem(last=False)
        return log

    async def ensure_layout(self) -> None:
        """Check the layout of the bucket, and mark a new one.

        Raises:
            LayoutTooNew: a newer release laid it out.
        """
        await ensure_layout(self.documents)

    def fork(self) -> Cairn:
        """The same bucket for another thread's event loop."""
        return Cairn(self.store.fork(), self.world, retire_grace_s=self.retire_grace_s)

    async def close(self) -> None:
        """Close the store."""
        await self.store.close()
