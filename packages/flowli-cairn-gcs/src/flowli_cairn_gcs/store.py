"""``GcsStore``: the contract of ``ObjectStore`` over a bucket of Google Cloud Storage."""

from __future__ import annotations

from collections.abc import Mapping

from flowli.cairn.keys import MAX_KEY_BYTES
from flowli.cairn.remote.dialect import Contact, Dialect
from flowli.cairn.remote.store import RemoteStore
from flowli.cairn.store import Capabilities
from flowli.world import SYSTEM, World
from flowli_cairn_gcs import errors
from flowli_cairn_gcs.client import GcsClient, make_client
from flowli_cairn_gcs.config import GcsConfig
from flowli_cairn_gcs.requests import PAGE, Requests

__all__ = ["GcsStore"]

_BATCH = 100


class GcsStore(RemoteStore[GcsConfig, GcsClient]):
    """A bucket of Google Cloud Storage.

    A version is the generation of the object. Ages are by the clock of the service. An operation is one request; a
    swap that fails takes one more, to tell a changed key from a missing one. Many keys are deleted each in a request
    of its own.

    Args:
        config: which bucket, and how.
        world: makes the threads.
        contact: that of the store of which this one is a fork.
    """

    def __init__(self, config: GcsConfig, *, world: World = SYSTEM, contact: Contact | None = None) -> None:
        capabilities = Capabilities(
            max_key_bytes=MAX_KEY_BYTES,
            delete_many_size=_BATCH,
            per_key_write_interval_s=1.0,
            page_size=PAGE,
        )
        requests = Requests(config)
        super().__init__(config, _DIALECT, requests, capabilities, batch=1, world=world, contact=contact)

    @classmethod
    def from_url(cls, url: str, *, world: World = SYSTEM) -> GcsStore:
        """Open ``gs://bucket/prefix``.

        Raises:
            StoreConfigError: the URL has another form.
        """
        return cls(GcsConfig.from_url(url), world=world)

    @classmethod
    def from_config(cls, config: Mapping[str, object], *, world: World = SYSTEM) -> GcsStore:
        """Open ``{"type": "gs", "bucket": …}``.

        Raises:
            StoreConfigError: a setting is unknown, missing or of the wrong type.
        """
        return cls(GcsConfig.from_config(config), world=world)

    def fork(self) -> GcsStore:
        """The same bucket with a client and threads of its own."""
        return GcsStore(self.config, world=self.world, contact=self.contact)


_DIALECT: Dialect[GcsConfig, GcsClient] = Dialect(
    name="flowli-gcs",
    connect=make_client,
    disconnect=GcsClient.close,
    answered=errors.answered,
    expired=errors.expired,
    fate=errors.fate,
    refusal=errors.refusal,
    unusable=errors.unusable,
)
