"""``Corner``: a bucket inside a bucket, under a prefix of its own, which can be cleared."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from flowli.cairn.store import Capabilities, Object, ObjectStore, Page
from flowli.cairn.write import Gone, Lost, Unknown, Won

__all__ = ["Corner"]


class Corner:
    """Keeps every key under a prefix of another store, which stays open when this one is closed.

    Args:
        store: the one inside.
        prefix: ends with a slash.
    """

    def __init__(self, store: ObjectStore, prefix: str) -> None:
        self._store = store
        self._prefix = prefix

    @property
    def url(self) -> str:
        """That of the store inside."""
        return self._store.url

    @property
    def capabilities(self) -> Capabilities:
        """Those of the store inside, with shorter keys."""
        inside = self._store.capabilities
        return replace(inside, max_key_bytes=inside.max_key_bytes - len(self._prefix))

    async def get(self, key: str) -> Object | None:
        """Read a key."""
        return await self._store.get(self._prefix + key)

    async def put(
        self, key: str, data: bytes, *, if_absent: bool = False, if_version: str | None = None
    ) -> Won | Lost | Gone | Unknown:
        """Write a key."""
        return await self._store.put(self._prefix + key, data, if_absent=if_absent, if_version=if_version)

    async def delete(self, key: str, *, if_version: str | None = None) -> Won | Lost | Gone | Unknown:
        """Delete a key."""
        return await self._store.delete(self._prefix + key, if_version=if_version)

    async def delete_many(self, keys: Iterable[str]) -> None:
        """Delete keys."""
        await self._store.delete_many([self._prefix + key for key in keys])

    async def list(
        self, prefix: str, *, after: str | None = None, limit: int | None = None, versions: bool = False
    ) -> Page:
        """One page of the keys here."""
        behind = None if after is None else self._prefix + after
        page = await self._store.list(self._prefix + prefix, after=behind, limit=limit, versions=versions)
        return replace(page, items=tuple(replace(one, key=one.key[len(self._prefix) :]) for one in page.items))

    def fork(self) -> Corner:
        """The same corner of a fork."""
        return Corner(self._store.fork(), self._prefix)

    async def close(self) -> None:
        """Nothing: the store inside belongs to who opened it."""

    async def clear(self) -> int:
        """Delete everything here; returns how many objects that were."""
        count = 0
        while True:
            page = await self.list("")
            if not page.items:
                return count
            size = self.capabilities.delete_many_size
            keys = [one.key for one in page.items]
            for at in range(0, len(keys), size):
                await self.delete_many(keys[at : at + size])
            count += len(keys)
