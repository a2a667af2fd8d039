"""Taking tasks from a queue.

1. Keep to the settings: nothing from a paused queue.
2. List one page after this process's own place in the queue. The place goes back to the start every half ttl. A page
   that gives nothing is followed by the next, and the last one by the first, so that "nothing" is true.
3. Choose: tasks never seen before, those that were given back and are due, those that nobody has renewed for their ttl
   or whose holder is certainly dead; last those that changed since they were seen. What others hold costs no request.
4. Read each chosen task. Its own state decides whether it is free. A task with a ``not_before`` whose delayed twin is
   gone was done already; it is deleted unrun.
5. Admit: slots and rate (``limits``). *Crash after it*: a slot whose task nobody holds; who finds no slot clears it.
6. Write the lease into the task, if it is still as it was read. *Crash after it*: the lease runs out.
7. Under a limit, look at the slots again, and give back what has none.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any, cast

from flowli.adapters.cairndb.known import Cursor
from flowli.adapters.cairndb.queue_state import QueueState
from flowli.adapters.cairndb.scan import list_page
from flowli.adapters.cairndb.task_doc import (
    given_back,
    holder_of,
    not_before_of,
    taken_body,
    task_lease,
    task_of,
)
from flowli.cairn.lease_doc import Free, LeaseDoc, why_free
from flowli.cairn.objects import Swapped
from flowli.domain import keys
from flowli.domain.tasks import QueueSettings, TaskLease

__all__ = ["Take"]

_LEAST_PAGE, _LARGEST_PAGE = 32, 1000
_MOST_LOOKS = 32
_DEATHS = (Free.EXPIRED, Free.DEAD)


class Take:
    """One dequeue.

    Args:
        state: of this process.
        settings: of the queue.
    """

    def __init__(
        self, state: QueueState, queue: str, settings: QueueSettings, holder: str, ttl_s: float, limit: int
    ) -> None:
        self._state = state
        self._queue = queue
        self._settings = settings
        self._holder = holder
        self._ttl_s = ttl_s
        self._limit = limit
        self._cursor: Cursor = state.cursor(queue)
        self._taken: dict[str, LeaseDoc] = {}
        self._errors: list[BaseException] = []

    async def run(self) -> list[TaskLease]:
        """Take what can be taken, in the order of the queue."""
        self._cursor.begin(self._state.world.monotonic_s(), self._ttl_s)
        from_start = self._cursor.after is None
        # a place of one's own needs room; a longer page is not dearer
        size = _LARGEST_PAGE if self._cursor.contended else min(max(_LEAST_PAGE, 2 * self._limit), _LARGEST_PAGE)
        while await self._page(size) and not self._taken:
            if self._cursor.after is None:
                if from_start:
                    break
                from_start = True
            size = _LARGEST_PAGE  # nothing in it so far: get over it in few requests
        if self._errors and not self._taken:
            raise self._errors[0]
        return [task_lease(self._taken[key]) for key in sorted(self._taken)]

    async def _page(self, size: int) -> bool:
        """Take from one page and move on; False if a limit allows no more, or a request failed."""
        cursor = self._cursor
        began = cursor.after
        page = await list_page(
            self._state.documents, keys.ready_prefix(self._queue), after=cursor.after, limit=size, versions=True
        )
        versions = {item.key: item.version for item in page.items}
        worth = [
            key
            for key in self._state.known.worth_a_look(page.items, mine=self._state.held)
            if key not in self._state.trying
        ]
        order = cursor.spread(worth, self._holder)
        cursor.after = page.items[-1].key if page.more and page.items else None
        at, size = 0, self._limit
        while at < len(order) and len(self._taken) < self._limit:
            before = len(self._taken)
            batch = order[at : at + size]
            at += len(batch)
            if not await self._try(batch, versions):
                cursor.after = None
                return False
            # a stretch that others hold is walked through with longer and longer steps
            size = size if len(self._taken) > before else min(2 * size, _MOST_LOOKS)
        if len(self._taken) == self._limit:
            # out of order the tasks before those taken are still to be had: stay on this page
            cursor.after = max(self._taken) if order == worth else began
        return True

    async def _try(self, batch: Sequence[str], versions: dict[str, str | None]) -> bool:
        """Take what is free among ``batch``; False if a limit allows no more, or a request failed."""
        state, queue = self._state, self._queue
        state.trying.update(batch)
        try:
            looked = await self._all([self._look(key, versions[key]) for key in batch])
            found = [lease for lease in looked if lease is not None][: self._limit - len(self._taken)]
            free = {lease.key: lease for lease in found}
            admitted = await state.limits.admit(queue, self._settings, list(free))
            taken = await self._all([self._take(free[key]) for key in admitted])
            held = {lease.key: lease for lease in taken if lease is not None}
            confirmed = await state.limits.confirm(queue, self._settings, held)
            for key in held.keys() - confirmed:
                await self._give_back(held[key])
            self._taken |= {key: held[key] for key in confirmed}
            if self._settings.concurrency is not None:
                state.slotted |= confirmed
            return len(admitted) == len(free) and not self._errors
        finally:
            state.trying.difference_update(batch)

    async def _all(self, work: Sequence[Coroutine[Any, Any, LeaseDoc | None]]) -> list[LeaseDoc | None]:
        """Do everything; an error of one does not lose what another has taken."""
        results = await asyncio.gather(*work, return_exceptions=True)
        self._errors += [one for one in results if isinstance(one, BaseException)]
        return [one for one in results if isinstance(one, LeaseDoc)]

    async def _look(self, key: str, version: str | None) -> LeaseDoc | None:
        """Step 4: the task if it is free."""
        state = self._state
        doc = await state.documents.read(key)
        if doc is None:
            state.known.note_gone(key, version)
            self._cursor.count(hit=False)
            return None
        lease = state.leases.view(doc)
        state.known.note(lease)
        not_before = not_before_of(lease)
        if lease.holder is None and not_before is not None and not_before > state.world.now():
            return None
        if why_free(lease, None, state.world) is None:
            if doc.version != version:
                self._cursor.count(hit=False)  # somebody took it after it was listed
            return None
        if cast("dict[str, object]", doc.body["task"]).get("not_before") is not None:
            twin = await state.documents.read(keys.delayed(task_of(doc)))
            if twin is None:
                await state.documents.remove(doc)
                state.known.forget(key)
                return None
        return lease

    async def _take(self, lease: LeaseDoc) -> LeaseDoc | None:
        """Step 6."""
        state = self._state
        died = why_free(lease, None, state.world) in _DEATHS
        holder = holder_of(self._holder, state.world, state.world.token())
        outcome = await state.documents.swap(lease.doc, taken_body(lease, holder, self._ttl_s, died=died))
        self._cursor.count(hit=isinstance(outcome, Swapped))
        if isinstance(outcome, Swapped):
            taken = state.leases.view(outcome.doc)
            state.hold(taken)
            return taken
        if outcome.doc is not None:
            state.known.note(state.leases.view(outcome.doc))
        return None

    async def _give_back(self, lease: LeaseDoc) -> None:
        """Step 7."""
        self._state.let_go(lease.key)
        await self._state.documents.swap(lease.doc, given_back(lease, None, alive=False))
