"""``S3Store``: the contract of ``ObjectStore`` over a bucket, one request an operation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from flowli.cairn.keys import MAX_KEY_BYTES
from flowli.cairn.remote.dialect import Contact, Dialect
from flowli.cairn.remote.store import RemoteStore
from flowli.cairn.store import Capabilities
from flowli.world import SYSTEM, World
from flowli_cairn_s3 import errors
from flowli_cairn_s3.client import make_client
from flowli_cairn_s3.config import S3Config
from flowli_cairn_s3.requests import PAGE, Requests

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

__all__ = ["S3Store"]


class S3Store(RemoteStore[S3Config, "S3Client"]):
    """A bucket of Amazon S3 or of a service that speaks its protocol.

    A version is the ETag. Ages are by the clock of the service.

    Args:
        config: which bucket, and how.
        world: makes the threads.
        contact: that of the store of which this one is a fork.
    """

    def __init__(self, config: S3Config, *, world: World = SYSTEM, contact: Contact | None = None) -> None:
        capabilities = Capabilities(
            max_key_bytes=MAX_KEY_BYTES,
            delete_many_size=PAGE,
            conditional_delete=config.conditional_delete,
            page_size=PAGE,
        )
        requests = Requests(config)
        super().__init__(config, _DIALECT, requests, capabilities, batch=PAGE, world=world, contact=contact)

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

    def fork(self) -> S3Store:
        """The same bucket with a client and threads of its own."""
        return S3Store(self.config, world=self.world, contact=self.contact)


_DIALECT: Dialect[S3Config, S3Client] = Dialect(
    name="flowli-s3",
    connect=make_client,
    disconnect=lambda client: client.close(),
    answered=errors.answered,
    expired=errors.expired,
    fate=errors.fate,
    refusal=errors.refusal,
    unusable=errors.unusable,
)
