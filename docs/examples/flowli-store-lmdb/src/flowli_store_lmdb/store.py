"""The store. LMDB blocks, so each call is one hop into a thread and one transaction there."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TypeAlias, TypeVar

import lmdb

from flowli.cairn.keys import check_key, check_prefix
from flowli.cairn.store import Capabilities, Object, Page
from flowli.cairn.write import Gone, Lost, Unknown, Won
from flowli.world import World
from flowli_store_lmdb import environment
from flowli_store_lmdb.conditions import refused_by
from flowli_store_lmdb.config import LmdbConfig
from flowli_store_lmdb.errors import translated
from flowli_store_lmdb.listing import page_of
from flowli_store_lmdb.records import Record, pack, split, unpack

T = TypeVar("T")
Verdict: TypeAlias = Won | Lost | Gone | Unknown


class LmdbStore:
    """A bucket in one LMDB file. It has one writer at a time, in all processes: so conditions hold when it writes."""

    def __init__(self, config: LmdbConfig, *, world: World) -> None:
        self._config, self._world = config, world
        self._env = environment.acquire(config)
        self._threads = world.pool("flowli-lmdb", 8)

    @classmethod
    def from_url(cls, url: str, *, world: World) -> LmdbStore:
        """Open ``lmdb:PATH``."""
        return cls(LmdbConfig.parse(url), world=world)

    @classmethod
    def from_config(cls, config: Mapping[str, object], *, world: World) -> LmdbStore:
        """Open ``{"type": "lmdb", "path": …}``."""
        return cls(LmdbConfig.of(config), world=world)

    @property
    def url(self) -> str:
        return f"lmdb:{self._config.path}"

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(cheap_listing=True, poll_hint_s=0.05)

    async def get(self, key: str) -> Object | None:
        head, tail = split(check_key(key))

        def work() -> Object | None:
            with self._env.begin() as txn:
                found = unpack(txn.get(head)).get(tail)
            return None if found is None else Object(found.data, found.version)

        return await self._aside(work)

    async def put(self, key: str, data: bytes, *, if_absent: bool = False, if_version: str | None = None) -> Verdict:
        return await self._change(check_key(key), bytes(data), if_absent, if_version)

    async def delete(self, key: str, *, if_version: str | None = None) -> Verdict:
        return await self._change(check_key(key), None, False, if_version)

    async def delete_many(self, keys: Iterable[str]) -> None:
        for key in keys:
            await self.delete(key)

    async def list(
        self, prefix: str, *, after: str | None = None, limit: int | None = None, versions: bool = False
    ) -> Page:
        size = min(limit or self.capabilities.page_size, self.capabilities.page_size)
        return await self._aside(partial(page_of, self._env, check_prefix(prefix), after or "", size))

    def fork(self) -> LmdbStore:
        return LmdbStore(self._config, world=self._world)

    async def close(self) -> None:
        self._threads.shutdown()
        environment.release(self._config)

    async def _change(self, key: str, data: bytes | None, if_absent: bool, if_version: str | None) -> Verdict:
        """Write a body, or remove the key, if the condition holds."""
        head, tail = split(key)

        def work() -> Verdict:
            txn = self._env.begin(write=True)
            try:
                records = unpack(txn.get(head))
                refused = refused_by(records.get(tail), if_absent, if_version)
                if refused is not None:
                    txn.abort()
                    return refused
                verdict = Won() if data is None else Won(self._world.token())
                records.pop(tail, None)
                if data is not None:
                    records[tail] = Record(tail, verdict.version, data)
                txn.put(head, pack(records.values())) if records else txn.delete(head)
            except BaseException:
                txn.abort()
                raise
            try:
                txn.commit()
            except lmdb.Error as error:  # it may or may not be on disk: that is never Lost
                return Unknown(str(error))
            return verdict

        return await self._aside(work)

    async def _aside(self, work: Callable[[], T]) -> T:
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, work)
        except lmdb.Error as error:
            raise translated(self._config.path, error) from error
