"""``Timers`` over one document per timer, whose key sorts by its due time."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

from flowli.adapters.cairndb.opened import CairnPort, Opened, port_method
from flowli.adapters.cairndb.scan import list_keys, list_page, read_all
from flowli.cairn.objects import Doc
from flowli.codec import dump, load
from flowli.domain import keys
from flowli.domain.timers import Timer
from flowli.timestamp import Timestamp

__all__ = ["CairnTimers"]

_REMEMBERED = 2048
_FIRST_PAGE = 16


class CairnTimers(CairnPort):
    """Timers."""

    def __init__(self, opened: Opened) -> None:
        super().__init__(opened)
        # documents seen here, so that cancelling one costs no read; a timer never changes, it is only there or not
        self._seen: OrderedDict[str, Doc] = OrderedDict()

    @port_method
    async def set(self, timer: Timer) -> None:
        outcome = await self._documents.create(keys.timer(timer), dump(timer))
        self._remember(outcome.doc)

    @port_method
    async def due(self, now: Timestamp, *, limit: int = 1000) -> Sequence[Timer]:
        found: list[str] = []
        after: str | None = None
        # where a listing is cheap, what is not due is hardly looked at; elsewhere a request costs the same for any size
        size = _FIRST_PAGE if self._store.capabilities.cheap_listing else limit
        while len(found) < limit:
            page = await list_page(self._documents, keys.TIMERS, after=after, limit=min(limit - len(found), size))
            due = [item.key for item in page.items if keys.timer_instant(item.key) <= now]
            found.extend(due)
            if len(due) < len(page.items) or not page.more or not due:
                break
            after, size = due[-1], size * 4
        return await self._read(found)

    @port_method
    async def cancel(self, timer: Timer) -> bool:
        key = keys.timer(timer)
        doc = self._seen.pop(key, None)
        if doc is not None and await self._documents.remove(doc):
            return True
        doc = await self._documents.read(key)
        return doc is not None and await self._documents.remove(doc)

    @port_method
    async def pending(self, *, limit: int = 1000) -> Sequence[Timer]:
        return await self._read(await list_keys(self._documents, keys.TIMERS, limit))

    async def _read(self, found: Sequence[str]) -> list[Timer]:
        timers: list[Timer] = []
        for doc in await read_all(self._documents, found):
            self._remember(doc)
            timers.append(load(Timer, doc.body))
        return timers

    def _remember(self, doc: Doc) -> None:
        self._seen[doc.key] = doc
        self._seen.move_to_end(doc.key)
        if len(self._seen) > _REMEMBERED:
            self._seen.popitem(last=False)
