"""``FilesystemStore``: the contract of ``ObjectStore`` over a folder, one thread hop an operation."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Executor
from typing import TypeVar

from flowli.cairn.errors import StoreUnavailable
from flowli.cairn.keys import check_key, check_prefix
from flowli.cairn.store import Capabilities, Object, Page
from flowli.cairn.write import Gone, Lost, Unknown, Won
from flowli.stores.filesystem.config import FilesystemConfig
from flowli.stores.filesystem.disk import Disk
from flowli.stores.filesystem.start import open_disk
from flowli.world import SYSTEM, World

__all__ = ["FilesystemStore"]

T = TypeVar("T")

_THREADS = 8
_CAPABILITIES = Capabilities(cheap_listing=True, poll_hint_s=0.05)


class FilesystemStore:
    """A bucket in a folder of a local disk, for any number of processes of one host.

    It has no clock of its own: ages are None.

    Args:
        disk: the opened folder.
        config: its settings.
        world: makes the threads.
    """

    def __init__(self, disk: Disk, config: FilesystemConfig, world: World) -> None:
        self._disk = disk
        self._config = config
        self._world = world
        self._pool: Executor | None = None
        self._closed = False

    @classmethod
    def open(cls, config: FilesystemConfig, *, world: World = SYSTEM) -> FilesystemStore:
        """Open the folder, making it if it is missing and may be made.

        Raises:
            StoreError: it cannot be a bucket; the message says why.
        """
        disk = open_disk(config.path, full=config.durability == "full", create=config.create, world=world)
        return cls(disk, config, world)

    @classmethod
    def from_url(cls, url: str, *, world: World = SYSTEM) -> FilesystemStore:
        """Open ``file:./bucket``, ``file:///srv/bucket?durability=os`` and the like.

        Raises:
            StoreConfigError: the URL has another form.
            StoreError: it cannot be a bucket; the message says why.
        """
        return cls.open(FilesystemConfig.from_url(url), world=world)

    @classmethod
    def from_config(cls, config: Mapping[str, object], *, world: World = SYSTEM) -> FilesystemStore:
        """Open ``{"type": "file", "path": …, "durability": "full" | "os", "create": True | False}``.

        Raises:
            StoreConfigError: a setting is unknown, missing or of the wrong type.
            StoreError: it cannot be a bucket; the message says why.
        """
        return cls.open(FilesystemConfig.from_config(config), world=world)

    @property
    def url(self) -> str:
        """The URL with the absolute path."""
        return self._config.url

    @property
    def capabilities(self) -> Capabilities:
        """What this store can do."""
        return _CAPABILITIES

    async def get(self, key: str) -> Object | None:
        """Read a key."""
        check_key(key, _CAPABILITIES.max_key_bytes)
        return await self._run(lambda: self._disk.get(key))

    async def put(
        self, key: str, data: bytes, *, if_absent: bool = False, if_version: str | None = None
    ) -> Won | Lost | Gone | Unknown:
        """Write a key. ``Unknown`` only when a disk fails after the object was in place."""
        check_key(key, _CAPABILITIES.max_key_bytes)
        return await self._run(lambda: self._disk.put(key, data, if_absent, if_version))

    async def delete(self, key: str, *, if_version: str | None = None) -> Won | Lost | Gone | Unknown:
        """Delete a key. ``Unknown`` as in ``put``."""
        check_key(key, _CAPABILITIES.max_key_bytes)
        return await self._run(lambda: self._disk.delete(key, if_version))

    async def delete_many(self, keys: Iterable[str]) -> None:
        """Delete keys without conditions."""
        checked = [check_key(key, _CAPABILITIES.max_key_bytes) for key in keys]
        await self._run(lambda: self._disk.delete_many(checked))

    async def list(
        self, prefix: str, *, after: str | None = None, limit: int | None = None, versions: bool = False
    ) -> Page:
        """One page of keys; versions cost a small read each."""
        check_prefix(prefix, _CAPABILITIES.max_key_bytes)
        size = _CAPABILITIES.page_size if limit is None else min(limit, _CAPABILITIES.page_size)
        return await self._run(lambda: self._disk.list(prefix, after or "", size, versions))

    def fork(self) -> FilesystemStore:
        """The same folder with threads of its own."""
        return FilesystemStore(self._disk, self._config, self._world)

    async def close(self) -> None:
        """Remove folders that were left empty, and end the threads."""
        if self._closed:
            return
        if self._pool is not None:
            await self._run(self._disk.folders.tidy)
            self._pool.shutdown(wait=False)
        self._closed = True

    async def _run(self, call: Callable[[], T]) -> T:
        if self._closed:
            raise StoreUnavailable(f"The store {self.url} is closed", "Open it again")
        if self._pool is None:
            self._pool = self._world.pool("flowli-file", _THREADS)
        return await asyncio.get_running_loop().run_in_executor(self._pool, call)
