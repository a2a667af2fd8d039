"""What one process keeps in mind about its queues. All of it may be lost at any moment without changing a result."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Container

from flowli.adapters.cairndb.known import Cursor, Known
from flowli.adapters.cairndb.limits import Limits
from flowli.adapters.cairndb.task_doc import TaskToken, taking_of
from flowli.cairn.database import Cairn
from flowli.cairn.lease_doc import LeaseDoc
from flowli.domain import keys
from flowli.domain.tasks import TaskLease

__all__ = ["QueueState"]

_HELD = 4096


class QueueState:
    """Shared by the procedures of the queue port.

    Attributes:
        known: tasks as they were last seen.
        limits: settings, slots and rate.
        trying: keys that a dequeue of this process is about to take.
        slotted: keys of held tasks that have a slot.
        promoted: keys of delayed tasks whose ready twin was put.
    """

    def __init__(self, cairn: Cairn) -> None:
        self.documents = cairn.documents
        self.leases = cairn.leases
        self.world = cairn.world
        self.known = Known(cairn.leases, cairn.world)
        self.limits = Limits(cairn.documents, cairn.world)
        self.trying: set[str] = set()
        self.slotted: set[str] = set()
        self.promoted: OrderedDict[str, None] = OrderedDict()
        self._cursors: dict[str, Cursor] = {}
        self._held: OrderedDict[str, LeaseDoc] = OrderedDict()

    def cursor(self, queue: str) -> Cursor:
        """Where this process is in a queue."""
        return self._cursors.setdefault(queue, Cursor())

    def became_ready(self, queue: str, key: str) -> None:
        """A task may be taken from now on, as far as this process did it."""
        self.cursor(queue).back_to(key)

    def hold(self, lease: LeaseDoc) -> None:
        """Keep the document of a task that this process holds."""
        self.known.note(lease)
        self._held[lease.key] = lease
        self._held.move_to_end(lease.key)
        if len(self._held) > _HELD:
            self._held.popitem(last=False)

    @property
    def held(self) -> Container[str]:
        """The keys of tasks that this process holds, as far as it knows."""
        return self._held

    def let_go(self, key: str) -> None:
        """A task is no longer held by this process."""
        self._held.pop(key, None)
        self.known.forget(key)
        self.slotted.discard(key)

    def version(self, lease: TaskLease) -> str:
        """The last version of a held task that this process knows."""
        token = TaskToken.parse(lease.token)
        held = self._held.get(keys.ready(lease.task))
        return held.version if held is not None and taking_of(held) == token.taking else token.version

    async def holding(self, lease: TaskLease, *, fresh: bool = False) -> LeaseDoc | None:
        """The document of a task while it is held under ``lease``; None once it is not.

        One request, unless this process has the document and ``fresh`` is not asked for.
        """
        key, taking = keys.ready(lease.task), TaskToken.parse(lease.token).taking
        held = self._held.get(key)
        if held is not None and not fresh and taking_of(held) == taking:
            return held
        doc = await self.documents.read(key)
        if doc is not None:
            found = self.leases.view(doc)
            if taking_of(found) == taking:
                return found
        self.let_go(key)
        return None

    async def free_slots(self, queue: str, taken: list[str]) -> None:
        """Free the slots of tasks that are about to be let go, if they have any."""
        slotted = [key for key in taken if key in self.slotted]
        if slotted:
            await self.limits.leave(queue, await self.limits.settings(queue), slotted)
