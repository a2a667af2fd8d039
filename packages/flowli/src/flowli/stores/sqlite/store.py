"""``SqliteStore``: the contract of ``ObjectStore`` over one SQLite file.

Writes that come while another waits for the disk share the next transaction (group commit). Reads are answered on the
event loop itself: a look into the page cache of this host is shorter than handing it to a thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from concurrent.futures import Executor
from typing import TypeAlias

from flowli.cairn.errors import StoreError, StoreUnavailable
from flowli.cairn.keys import check_key, check_prefix
from flowli.cairn.store import Capabilities, Object, Page
from flowli.cairn.write import Gone, Lost, Unknown, Won
from flowli.stores.sqlite.config import SqliteConfig
from flowli.stores.sqlite.file import BucketFile, Drop, Outcome, Write
from flowli.world import SYSTEM, World

__all__ = ["SqliteStore"]

_CAPABILITIES = Capabilities(cheap_listing=True, poll_hint_s=0.05)
_BATCH_BYTES = 16 * 2**20
_Batch: TypeAlias = list[tuple[Write | Drop, asyncio.Future[Outcome]]]


class SqliteStore:
    """A bucket in one SQLite file of a local disk, for any number of processes of one host.

    It has no clock of its own: ages are None.

    Args:
        config: where the file is.
        world: makes the thread that writes.

    Raises:
        StoreError: the file cannot be a bucket; the message says why.
    """

    def __init__(self, config: SqliteConfig, *, world: World = SYSTEM) -> None:
        self._config = config
        self._world = world
        self._file = BucketFile(config)
        self._pool: Executor | None = None
        self._waiting: _Batch = []
        self._writing: asyncio.Task[None] | None = None
        self._closed = False

    @classmethod
    def from_url(cls, url: str, *, world: World = SYSTEM) -> SqliteStore:
        """Open ``sqlite:./bucket.db``, ``sqlite:///srv/bucket.db?durability=os`` and the like.

        Raises:
            StoreConfigError: the URL has another form.
            StoreError: the file cannot be a bucket; the message says why.
        """
        return cls(SqliteConfig.from_url(url), world=world)

    @classmethod
    def from_config(cls, config: Mapping[str, object], *, world: World = SYSTEM) -> SqliteStore:
        """Open ``{"type": "sqlite", "path": …, "durability": "full" | "os", "create": True | False}``.

        Raises:
            StoreConfigError: a setting is unknown, missing or of the wrong type.
            StoreError: the file cannot be a bucket; the message says why.
        """
        return cls(SqliteConfig.from_config(config), world=world)

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
        self._check_open()
        return self._file.get(key)

    async def put(
        self, key: str, data: bytes, *, if_absent: bool = False, if_version: str | None = None
    ) -> Won | Lost | Gone | Unknown:
        """Write a key. ``Unknown`` only when the disk fails while the transaction is brought to it."""
        check_key(key, _CAPABILITIES.max_key_bytes)
        return await self._write(Write(key, bytes(data), if_absent, if_version))

    async def delete(self, key: str, *, if_version: str | None = None) -> Won | Lost | Gone | Unknown:
        """Delete a key. ``Unknown`` as in ``put``."""
        check_key(key, _CAPABILITIES.max_key_bytes)
        return await self._write(Drop((key,), if_version))

    async def delete_many(self, keys: Iterable[str]) -> None:
        """Delete keys without conditions, all in one transaction."""
        checked = tuple(check_key(key, _CAPABILITIES.max_key_bytes) for key in keys)
        outcome = await self._write(Drop(checked)) if checked else Won()
        if isinstance(outcome, Unknown):
            raise StoreUnavailable(f"Deleting {len(checked)} objects was not finished: {outcome.cause}", "Try again")

    async def list(
        self, prefix: str, *, after: str | None = None, limit: int | None = None, versions: bool = False
    ) -> Page:
        """One page of keys; versions are always filled."""
        check_prefix(prefix, _CAPABILITIES.max_key_bytes)
        self._check_open()
        size = _CAPABILITIES.page_size if limit is None else min(limit, _CAPABILITIES.page_size)
        return self._file.list(prefix, after or "", size)

    def fork(self) -> SqliteStore:
        """The same file with connections and a thread of its own."""
        return SqliteStore(self._config, world=self._world)

    async def close(self) -> None:
        """Finish the writes under way and close the file."""
        if self._closed:
            return
        self._closed = True
        if self._writing is not None:
            await asyncio.wait([self._writing])
        if self._pool is not None:
            self._pool.shutdown(wait=True)
        self._file.close()

    async def _write(self, work: Write | Drop) -> Outcome:
        self._check_open()
        loop = asyncio.get_running_loop()
        done: asyncio.Future[Outcome] = loop.create_future()
        self._waiting.append((work, done))
        if self._writing is None:
            self._writing = loop.create_task(self._drain())
        return await done

    async def _drain(self) -> None:
        """Batch after batch until nothing waits. A caller that is cancelled leaves its write to take place."""
        loop = asyncio.get_running_loop()
        if self._pool is None:
            self._pool = self._world.pool("flowli-sqlite", 1)
        try:
            while self._waiting:
                batch = self._take()
                try:
                    outcomes = await loop.run_in_executor(self._pool, self._file.apply, [work for work, _ in batch])
                except Exception as error:
                    told = error if isinstance(error, StoreError) else StoreUnavailable(f"{self.url} failed: {error!r}")
                    for _, done in batch:
                        if not done.done():
                            done.set_exception(told)
                    continue
                for (_, done), outcome in zip(batch, outcomes, strict=True):
                    if not done.done():
                        done.set_result(outcome)
        finally:
            self._writing = None

    def _take(self) -> _Batch:
        """All that waits, up to a size that one transaction takes with ease; at least one."""
        size = count = 0
        for work, _ in self._waiting:
            size += len(work.data) if isinstance(work, Write) else 0
            if count and size > _BATCH_BYTES:
                break
            count += 1
        batch, self._waiting = self._waiting[:count], self._waiting[count:]
        return batch

    def _check_open(self) -> None:
        if self._closed:
            raise StoreUnavailable(f"The store {self.url} is closed", "Open it again")
