"""A store that grants some rights only, as the policy of a cloud does and no emulator."""

from __future__ import annotations

from collections.abc import Iterable

from flowli.cairn.errors import StorePermission
from flowli.cairn.store import Object, ObjectStore, Page
from flowli.cairn.write import Gone, Lost, Unknown, Won
from flowli.testing.stores import CountingStore

__all__ = ["GuardedStore"]


class GuardedStore(CountingStore):
    """Refuses what is not granted, and records the rest.

    Args:
        store: the one inside.
        granted: some of ``list``, ``get``, ``create``, ``replace`` and ``delete``.

    Attributes:
        used: the rights that were asked for, granted or not.
    """

    def __init__(self, store: ObjectStore, granted: Iterable[str]) -> None:
        super().__init__(store)
        self.granted = frozenset(granted)
        self.used: set[str] = set()

    async def get(self, key: str) -> Object | None:
        """Read a key."""
        self._ask("get")
        return await super().get(key)

    async def put(
        self, key: str, data: bytes, *, if_absent: bool = False, if_version: str | None = None
    ) -> Won | Lost | Gone | Unknown:
        """Write a key: one that is there is replaced."""
        creates = if_absent or (if_version is None and await self.store.get(key) is None)
        self._ask("create" if creates else "replace")
        return await super().put(key, data, if_absent=if_absent, if_version=if_version)

    async def delete(self, key: str, *, if_version: str | None = None) -> Won | Lost | Gone | Unknown:
        """Delete a key."""
        self._ask("delete")
        return await super().delete(key, if_version=if_version)

    async def delete_many(self, keys: Iterable[str]) -> None:
        """Delete keys."""
        self._ask("delete")
        await super().delete_many(keys)

    async def list(
        self, prefix: str, *, after: str | None = None, limit: int | None = None, versions: bool = False
    ) -> Page:
        """List a page."""
        self._ask("list")
        return await super().list(prefix, after=after, limit=limit, versions=versions)

    def fork(self) -> GuardedStore:
        """A wrapped fork with the same rights and the same record."""
        other = GuardedStore(self.store.fork(), self.granted)
        other.requests, other.used = self.requests, self.used
        return other

    def _ask(self, right: str) -> None:
        self.used.add(right)
        if right not in self.granted:
            raise StorePermission(f"The bucket does not allow a {right}", f"Grant {right}")
