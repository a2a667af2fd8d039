"""``RemoteStore``: the operations of ``ObjectStore`` over the requests of an SDK that blocks."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Generic, TypeVar

from flowli.cairn.errors import StoreError, StorePermission
from flowli.cairn.keys import check_key, check_prefix
from flowli.cairn.remote.bucket import Harm, Look, Setting
from flowli.cairn.remote.calls import Calls
from flowli.cairn.remote.dialect import Config, Contact, Dialect, Requests, Result
from flowli.cairn.store import Capabilities, Object, Page
from flowli.cairn.write import Gone, Lost, Won
from flowli.world import World

__all__ = ["RemoteStore"]

C = TypeVar("C")
S = TypeVar("S", bound=Config)


class RemoteStore(Generic[S, C]):
    """The part of a store that is the same for every SDK; a store adds its constructors and ``fork``.

    Args:
        config: which place, and how.
        dialect: of the SDK.
        requests: to that place.
        capabilities: what the service can do.
        batch: how many keys one call of ``requests.delete_many`` takes.
        world: makes the threads.
        contact: that of the store of which this one is a fork.
    """

    def __init__(
        self,
        config: S,
        dialect: Dialect[S, C],
        requests: Requests[C],
        capabilities: Capabilities,
        *,
        batch: int,
        world: World,
        contact: Contact | None,
    ) -> None:
        self.config = config
        self.world = world
        self.contact = contact or Contact()
        self._calls = Calls(dialect, config, world, self.contact)
        self._requests = requests
        self._capabilities = capabilities
        self._batch = batch

    @property
    def url(self) -> str:
        """The URL that opens it, without secrets."""
        return self.config.url

    @property
    def capabilities(self) -> Capabilities:
        """What this store can do."""
        return self._capabilities

    async def get(self, key: str) -> Object | None:
        """Read a key."""
        check_key(key)
        return await self._calls.read("get", lambda client: self._requests.get(client, key))

    async def put(self, key: str, data: bytes, *, if_absent: bool = False, if_version: str | None = None) -> Result:
        """Write a key."""
        check_key(key)

        def work(client: C) -> Won | Lost | Gone:
            return self._requests.put(client, key, data, if_absent, if_version)

        return await self._calls.write("put", work)

    async def delete(self, key: str, *, if_version: str | None = None) -> Result:
        """Delete a key."""
        check_key(key)
        return await self._calls.write("delete", lambda client: self._requests.delete(client, key, if_version))

    async def delete_many(self, keys: Iterable[str]) -> None:
        """Delete keys without conditions, a batch in a request, as many at once as there are connections."""
        checked = [check_key(key) for key in keys]
        batches = [checked[at : at + self._batch] for at in range(0, len(checked), self._batch)]
        works = [partial(self._requests.delete_many, keys=batch) for batch in batches]
        await asyncio.gather(*(self._calls.read("delete_many", work) for work in works))

    async def list(
        self, prefix: str, *, after: str | None = None, limit: int | None = None, versions: bool = False
    ) -> Page:
        """One page of keys; versions and ages are always filled."""
        check_prefix(prefix)
        page = self._capabilities.page_size
        size = page if limit is None else min(limit, page)
        return await self._calls.read("list", lambda client: self._requests.list(client, prefix, after, size))

    async def settings(self) -> tuple[Setting, ...]:
        """The settings of the bucket, also those that could not be read."""
        told = await asyncio.gather(*(self._look(one) for one in self._requests.looks()))
        return tuple(setting for some in told for setting in some)

    async def _look(self, look: Look[C]) -> Sequence[Setting]:
        try:
            return await self._calls.read("look at settings", look.ask)
        except StorePermission:
            text = (
                f"It may not be read with these credentials. No process needs that; for the doctor grant {look.right}."
            )
        except StoreError as error:
            text = f"It could not be read: {error.fact}."
        return [Setting(look.name, text, Harm.UNKNOWN)]

    async def close(self) -> None:
        """Let requests under way end, then let go of connections and threads."""
        await self._calls.close()
