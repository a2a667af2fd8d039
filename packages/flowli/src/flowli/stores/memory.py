"""``memory:``: a store in one process. Also the readable model of what every store must do.

``memory:`` is a store of its own each time; ``memory:name`` is one store for all who open that name in this process.
"""

from __future__ import annotations

import threading
from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Mapping

from flowli.cairn.errors import StoreConfigError
from flowli.cairn.keys import check_key, check_prefix
from flowli.cairn.store import Capabilities, Listed, Object, Page
from flowli.cairn.write import Gone, Lost, Unknown, Won
from flowli.world import SYSTEM, World

__all__ = ["MemoryStore"]


class _Shelf:
    """The contents: shared by every fork, and by every opener of one name. Its clock is that of who made it."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.lock = threading.Lock()
        self.keys: list[str] = []
        self.bodies: dict[str, tuple[bytes, str, float]] = {}
        self.writes = 0

    def write(self, key: str, data: bytes) -> Won:
        if key not in self.bodies:
            insort(self.keys, key)
        self.writes += 1
        version = str(self.writes)
        self.bodies[key] = (data, version, self.world.monotonic_s())
        return Won(version)

    def drop(self, key: str) -> None:
        if self.bodies.pop(key, None) is not None:
            del self.keys[bisect_left(self.keys, key)]


_named: dict[str, _Shelf] = {}


class MemoryStore:
    """The whole contract of ``ObjectStore`` over a dict and a sorted list.

    Args:
        name: share the contents with every store of this name in this process; empty for contents of its own.
        world: the clock behind ``age_s``.
        page_size: the most keys of one ``list`` call.
    """

    def __init__(self, name: str = "", *, world: World = SYSTEM, page_size: int = 1000) -> None:
        self.name = name
        self._shelf = _named.setdefault(name, _Shelf(world)) if name else _Shelf(world)
        self._capabilities = Capabilities(cheap_listing=True, poll_hint_s=0.02, page_size=page_size)

    @classmethod
    def from_url(cls, url: str, *, world: World = SYSTEM) -> MemoryStore:
        """Open ``memory:`` or ``memory:name``.

        Raises:
            StoreConfigError: the URL has another form.
        """
        scheme, _, name = url.partition(":")
        if scheme != "memory" or not all(c.isalnum() or c in "-_." for c in name):
            raise StoreConfigError(f"{url!r} is not a memory store", "Write memory: or memory:name")
        return cls(name, world=world)

    @classmethod
    def from_config(cls, config: Mapping[str, object], *, world: World = SYSTEM) -> MemoryStore:
        """Open ``{"type": "memory", "name": ...}``; the name may be left out.

        Raises:
            StoreConfigError: another setting is given.
        """
        unknown = sorted(set(config) - {"type", "name"})
        if unknown:
            raise StoreConfigError(f"A memory store has no setting {unknown[0]!r}", "It takes 'name' only")
        return cls.from_url(f"memory:{config.get('name', '')}", world=world)

    @property
    def url(self) -> str:
        """``memory:`` or ``memory:name``."""
        return f"memory:{self.name}"

    @property
    def capabilities(self) -> Capabilities:
        """What this store can do."""
        return self._capabilities

    async def get(self, key: str) -> Object | None:
        """Read a key; its age is by the clock of the store."""
        check_key(key, self._capabilities.max_key_bytes)
        shelf = self._shelf
        with shelf.lock:
            found = shelf.bodies.get(key)
            return None if found is None else Object(found[0], found[1], shelf.world.monotonic_s() - found[2])

    async def put(
        self, key: str, data: bytes, *, if_absent: bool = False, if_version: str | None = None
    ) -> Won | Lost | Gone | Unknown:
        """Write a key; never ``Unknown`` here."""
        check_key(key, self._capabilities.max_key_bytes)
        shelf = self._shelf
        with shelf.lock:
            found = shelf.bodies.get(key)
            if if_absent and found is not None:
                return Lost()
            if if_version is not None and found is None:
                return Gone()
            if if_version is not None and found is not None and found[1] != if_version:
                return Lost()
            return shelf.write(key, bytes(data))

    async def delete(self, key: str, *, if_version: str | None = None) -> Won | Lost | Gone | Unknown:
        """Delete a key; never ``Unknown`` here."""
        check_key(key, self._capabilities.max_key_bytes)
        shelf = self._shelf
        with shelf.lock:
            found = shelf.bodies.get(key)
            if if_version is not None and found is None:
                return Gone()
            if if_version is not None and found is not None and found[1] != if_version:
                return Lost()
            shelf.drop(key)
            return Won()

    async def delete_many(self, keys: Iterable[str]) -> None:
        """Delete keys without conditions."""
        for key in keys:
            await self.delete(key)

    async def list(
        self, prefix: str, *, after: str | None = None, limit: int | None = None, versions: bool = False
    ) -> Page:
        """One page of keys; versions and ages are always filled."""
        check_prefix(prefix, self._capabilities.max_key_bytes)
        size = self._capabilities.page_size if limit is None else min(limit, self._capabilities.page_size)
        shelf = self._shelf
        with shelf.lock:
            start = bisect_left(shelf.keys, prefix)
            if after is not None:
                start = max(start, bisect_right(shelf.keys, after))
            items: list[Listed] = []
            for key in shelf.keys[start : start + size + 1]:
                if not key.startswith(prefix):
                    break
                _, version, written_s = shelf.bodies[key]
                items.append(Listed(key, version, shelf.world.monotonic_s() - written_s))
        return Page(tuple(items[:size]), len(items) > size)

    def fork(self) -> MemoryStore:
        """Another store over the same contents."""
        other = MemoryStore(world=self._shelf.world, page_size=self._capabilities.page_size)
        other.name = self.name
        other._shelf = self._shelf
        return other

    async def close(self) -> None:
        """Nothing to let go of; the contents of a named store stay."""
