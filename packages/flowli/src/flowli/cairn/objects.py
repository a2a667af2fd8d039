"""Documents: JSON bodies under one key each, created once and changed by compare-and-swap only.

Where a store has no conditional delete, ``remove`` swaps the body for a tombstone: it reads as absent, and creating
over it is a swap. Plain bytes (``create_bytes``) are for names that are written once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial

from flowli.cairn.document import (
    HISTORY,
    PASSED,
    TOMBSTONE,
    Changed,
    Created,
    Doc,
    Exists,
    Raw,
    Swapped,
    decode,
    encode,
    is_tombstone,
    raw,
)
from flowli.cairn.errors import NotStorable
from flowli.cairn.keys import MAX_KEY_BYTES, check_key, check_prefix
from flowli.cairn.settle import Judge, Settled, persist, settle
from flowli.cairn.store import Object, ObjectStore, Page
from flowli.cairn.values import JSON
from flowli.cairn.verdict import Mine, by_bytes, by_write_id, created, removed, replaced, swapped
from flowli.cairn.write import Gone, Won
from flowli.world import World

__all__ = ["Changed", "Created", "Doc", "Documents", "Exists", "Raw", "Swapped"]


class Documents:
    """Documents and create-only bytes over one store.

    Every method waits out a throttled or unreachable store for about ten seconds and then raises its error; a write
    that may have been applied and cannot be settled raises ``OutcomeUnknown``. Bad keys raise ``KeyRefused`` before
    any request.

    Attributes:
        store: where the objects are.
        world: clock and chance.
    """

    def __init__(self, store: ObjectStore, world: World) -> None:
        self.store = store
        self.world = world
        self._limit = min(MAX_KEY_BYTES, store.capabilities.max_key_bytes)

    async def read(self, key: str) -> Doc | None:
        """Read a document; None if there is none. One request.

        Raises:
            StoreDamaged: what is there is no document.
            FormatTooNew: a newer release wrote it.
        """
        found = await self._get(key)
        return None if found is None else decode(key, found)

    async def create(self, key: str, body: Mapping[str, JSON]) -> Created[Doc] | Exists[Doc]:
        """Create a document. One request when it is new, one more when another is there.

        A request whose answer was lost may still be under way when this returns. If the object is removed before it
        lands, it lands and makes the object again: who finds one must be able to tell that it is a leftover.

        Raises:
            NotStorable: ``body`` has no JSON form, or uses the field ``v`` or ``write_ids``.
        """
        write_id = self.world.token()
        there = await self._create(key, encode(body, (write_id,)), by_write_id(key, write_id))
        if isinstance(there, Won):
            return Created(Doc(key, dict(body), there.version, None, (write_id,)))
        return Exists(decode(key, there))

    async def swap(self, doc: Doc, body: Mapping[str, JSON]) -> Swapped[Doc] | Changed[Doc]:
        """Replace ``doc``, as it was read, by ``body``. One request when it is unchanged, one more when not.

        Raises:
            NotStorable: as in ``create``.
        """
        write_id = self.world.token()
        history = (*doc.write_ids, write_id)[-HISTORY:]
        data = encode(body, history)
        if doc.version == PASSED:
            return Changed(await self.read(doc.key))
        settled = await self._put_over(
            doc.key, data, doc.version, swapped(doc.key, doc.version, doc.write_ids, write_id)
        )
        if isinstance(settled.result, Won):
            return Swapped(Doc(doc.key, dict(body), settled.result.version, None, history))
        seen = await self._now(doc.key, settled)
        return Changed(None if seen is None else decode(doc.key, seen))

    async def remove(self, doc: Doc | Raw) -> bool:
        """Remove the object as it was read. False when it has changed or is gone already.

        After an answer was lost, an absent object counts as removed by this call.
        """
        key, version = doc.key, doc.version
        if version == PASSED:
            return False
        if self.store.capabilities.conditional_delete:
            check_key(key, self._limit)
            settled = await settle(
                self.store, self.world, key, lambda: self.store.delete(key, if_version=version), removed(version)
            )
        else:
            stone = TOMBSTONE + self.world.token().encode()
            settled = await self._put_over(key, stone, version, replaced(by_bytes(stone), version))
        return isinstance(settled.result, Won)

    async def read_bytes(self, key: str) -> Raw | None:
        """Read an object of plain bytes; None if there is none. One request."""
        found = await self._get(key)
        return None if found is None else raw(key, found)

    async def create_bytes(self, key: str, data: bytes) -> Created[Raw] | Exists[Raw]:
        """Create an object of plain bytes. After an answer was lost, equal bytes count as created by this call."""
        there = await self._create(key, data, by_bytes(data))
        return Created(Raw(key, data, there.version)) if isinstance(there, Won) else Exists(raw(key, there))

    async def swap_bytes(self, old: Raw, data: bytes) -> Swapped[Raw] | Changed[Raw]:
        """Replace an object of plain bytes. ``data`` must differ from every body that the key ever had.

        Raises:
            NotStorable: the bytes are those that are there.
        """
        if data == old.data:
            raise NotStorable(f"{old.key!r} would be replaced by the same bytes", "Put something into it that is new")
        settled = await self._put_over(old.key, data, old.version, replaced(by_bytes(data), old.version))
        if isinstance(settled.result, Won):
            return Swapped(Raw(old.key, data, settled.result.version))
        seen = await self._now(old.key, settled)
        return Changed(None if seen is None else raw(old.key, seen))

    async def list(
        self, prefix: str, *, after: str | None = None, limit: int | None = None, versions: bool = False
    ) -> Page:
        """One page of keys, as ``ObjectStore.list``; without conditional delete it shows removed ones too."""
        check_prefix(prefix, self._limit)
        return await persist(self.world, lambda: self.store.list(prefix, after=after, limit=limit, versions=versions))

    async def delete_many(self, keys: Iterable[str]) -> None:
        """Delete keys without conditions, in as few requests as the store allows. For what nobody writes any more."""
        checked = [check_key(key, self._limit) for key in keys]
        size = self.store.capabilities.delete_many_size
        for at in range(0, len(checked), size):
            await persist(self.world, partial(self.store.delete_many, checked[at : at + size]))

    async def _get(self, key: str) -> Object | None:
        check_key(key, self._limit)
        found = await persist(self.world, lambda: self.store.get(key))
        return None if found is None or is_tombstone(found) else found

    async def _now(self, key: str, settled: Settled) -> Object | None:
        """The object that made a write fail."""
        if isinstance(settled.result, Gone):
            return None
        if not settled.looked:
            return await self._get(key)
        return None if settled.seen is None or is_tombstone(settled.seen) else settled.seen

    async def _put_over(self, key: str, data: bytes, version: str, judge: Judge) -> Settled:
        check_key(key, self._limit)
        return await settle(self.store, self.world, key, lambda: self.store.put(key, data, if_version=version), judge)

    async def _create(self, key: str, data: bytes, mine: Mine) -> Won | Object:
        """The win, or the object that is there."""
        check_key(key, self._limit)
        while True:
            settled = await settle(
                self.store, self.world, key, lambda: self.store.put(key, data, if_absent=True), created(mine)
            )
            if isinstance(settled.result, Won):
                return settled.result
            seen = settled.seen
            if not settled.looked:
                seen = await persist(self.world, lambda: self.store.get(key))
            if seen is None:
                continue  # removed between the two requests: the name is free again
            if not is_tombstone(seen):
                return seen
            over = await self._put_over(key, data, seen.version, replaced(mine, seen.version))
            if isinstance(over.result, Won):
                return over.result
