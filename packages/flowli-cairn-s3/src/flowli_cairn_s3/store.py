"""``S3Store``: the contract of ``ObjectStore`` over a bucket, one request an operation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from flowli.cairn.keys import MAX_KEY_BYTES, check_key, check_prefix
from flowli.cairn.store import Capabilities, Object, Page
from flowli.cairn.write import Gone, Lost, Unknown, Won
from flowli.world import SYSTEM, World
from flowli_cairn_s3.calls import Calls, Contact
from flowli_cairn_s3.config import S3Config
from flowli_cairn_s3.requests import PAGE, Requests

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

__all__ = ["S3Store"]


class S3Store:
    """A bucket of Amazon S3 or of a service that speaks its protocol.

    A version is the ETag. Ages are by the clock of the service.

    Args:
        config: which bucket, and how.
        world: makes the threads.
        contact: that of the store of which this one is a fork.
    """

    def __init__(self, config: S3Config, *, world: World = SYSTEM, contact: Contact | None = None) -> None:
        self._config = config
        self._world = world
        self._calls = Calls(config, world, contact or Contact())
        self._requests = Requests(config)
        self._capabilities = Capabilities(
            max_key_bytes=MAX_KEY_BYTES,
            delete_many_size=PAGE,
            conditional_delete=config.conditional_delete,
            page_size=PAGE,
        )

    @classmethod
    def from_url(cls, url: str, *, world: World = SYSTEM) -> S3Store:
        """Open ``s3://bucket/prefix?region=…``.

        Raises:
            StoreConfigError: the URL has another form.
        """
        return cls(S3Config.from_url(url), world=world)

    @classmethod
    def from_config(cls, config: Mapping[str, object], *, world: World = SYSTEM) -> S3Store:
        """Open ``{"type": "s3", "bucket": …}``.

        Raises:
            StoreConfigError: a setting is unknown, missing or of the wrong type.
        """
        return cls(S3Config.from_config(config), world=world)

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

        def work(client: S3Client) -> Won:
            return self._requests.put(client, key, data, if_absent, if_version)

        return await self._calls.write("put", work)

    async def delete(self, key: str, *, if_version: str | None = None) -> Won | Lost | Gone | Unknown:
        """Delete a key."""
        check_key(key)
        return await self._calls.write("delete", lambda client: self._requests.delete(client, key, if_version))

    async def delete_many(self, keys: Iterable[str]) -> None:
        """Delete keys without conditions, a thousand in a request."""
        checked = [check_key(key) for key in keys]
        for at in range(0, len(checked), PAGE):
            work = partial(self._requests.delete_many, keys=checked[at : at + PAGE])
            await self._calls.read("delete_many", work)

    async def list(
        self, prefix: str, *, after: str | None = None, limit: int | None = None, versions: bool = False
    ) -> Page:
        """One page of keys; versions and ages are always filled."""
        check_prefix(prefix)
        size = PAGE if limit is None else min(limit, PAGE)
        return await self._calls.read("list", lambda client: self._requests.list(client, prefix, after, size))

    def fork(self) -> S3Store:
        """The same bucket with a client and threads of its own."""
        return S3Store(self._config, world=self._world, contact=self._calls.contact)

    async def close(self) -> None:
        """Let requests under way end, then let go of connections and threads."""
        await self._calls.close()
