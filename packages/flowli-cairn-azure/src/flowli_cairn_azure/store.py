"""``AzureStore``: the contract of ``ObjectStore`` over a container of Azure Blob Storage."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial

from flowli.cairn.keys import MAX_KEY_BYTES, check_key, check_prefix
from flowli.cairn.store import Capabilities, Object, Page
from flowli.cairn.write import Gone, Lost, Unknown, Won
from flowli.world import SYSTEM, World
from flowli_cairn_azure.calls import Calls, Contact
from flowli_cairn_azure.client import AzureClient
from flowli_cairn_azure.config import AzureConfig
from flowli_cairn_azure.requests import BATCH, PAGE, Requests

__all__ = ["AzureStore"]


class AzureStore:
    """A container of Azure Blob Storage.

    A version is the ETag. Ages are by the clock of the service. An operation is one request; a
    swap that fails takes one more, to tell a changed key from a missing one.

    Args:
        config: which container, and how.
        world: makes the threads.
        contact: that of the store of which this one is a fork.
    """

    def __init__(self, config: AzureConfig, *, world: World = SYSTEM, contact: Contact | None = None) -> None:
        self._config = config
        self._world = world
        self._calls = Calls(config, world, contact or Contact())
        self._requests = Requests(config)
        self._capabilities = Capabilities(
            max_key_bytes=MAX_KEY_BYTES,
            delete_many_size=BATCH,
            page_size=PAGE,
        )

    @classmethod
    def from_url(cls, url: str, *, world: World = SYSTEM) -> AzureStore:
        """Open ``az://container/prefix?account=…``.

        Raises:
            StoreConfigError: the URL has another form.
        """
        return cls(AzureConfig.from_url(url), world=world)

    @classmethod
    def from_config(cls, config: Mapping[str, object], *, world: World = SYSTEM) -> AzureStore:
        """Open ``{"type": "az", "container": …}``.

        Raises:
            StoreConfigError: a setting is unknown, missing or of the wrong type.
        """
        return cls(AzureConfig.from_config(config), world=world)

    @property
    def url(self) -> str:
        """The URL that opens it, without secrets."""
        return self._config.url

    @property
    def capabilities(self) -> Capabilities:
        """What this store can do."""
        return self._capabilities

    async def get(self, key: str) -> Object | None:
        """Read a key."""
        check_key(key)
        return await self._calls.read("get", lambda client: self._requests.get(client, key))

    async def put(
        self, key: str, data: bytes, *, if_absent: bool = False, if_version: str | None = None
    ) -> Won | Lost | Gone | Unknown:
        """Write a key."""
        check_key(key)

        def work(client: AzureClient) -> Won | Lost | Gone:
            return self._requests.put(client, key, data, if_absent, if_version)

        return await self._calls.write("put", work)

    async def delete(self, key: str, *, if_version: str | None = None) -> Won | Lost | Gone | Unknown:
        """Delete a key."""
        check_key(key)
        return await self._calls.write("delete", lambda client: self._requests.delete(client, key, if_version))

    async def delete_many(self, keys: Iterable[str]) -> None:
        """Delete keys without conditions, 256 in a request."""
        checked = [check_key(key) for key in keys]
        for at in range(0, len(checked), BATCH):
            work = partial(self._requests.delete_many, keys=checked[at : at + BATCH])
            await self._calls.read("delete_many", work)

    async def list(
        self, prefix: str, *, after: str | None = None, limit: int | None = None, versions: bool = False
    ) -> Page:
        """One page of keys; versions and ages are always filled."""
        check_prefix(prefix)
        size = PAGE if limit is None else min(limit, PAGE)
        return await self._calls.read("list", lambda client: self._requests.list(client, prefix, after, size))

    def fork(self) -> AzureStore:
        """The same container with a client and threads of its own."""
        return AzureStore(self._config, world=self._world, contact=self._calls.contact)

    async def close(self) -> None:
        """Let requests under way end, then let go of connections and threads."""
        await self._calls.close()
