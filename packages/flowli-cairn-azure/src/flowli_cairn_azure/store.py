"""``AzureStore``: the contract of ``ObjectStore`` over a container of Azure Blob Storage."""

from __future__ import annotations

from collections.abc import Mapping

from flowli.cairn.keys import MAX_KEY_BYTES
from flowli.cairn.remote.dialect import Contact, Dialect
from flowli.cairn.remote.store import RemoteStore
from flowli.cairn.store import Capabilities
from flowli.world import SYSTEM, World
from flowli_cairn_azure import errors
from flowli_cairn_azure.client import AzureClient, make_client
from flowli_cairn_azure.config import AzureConfig
from flowli_cairn_azure.requests import BATCH, PAGE, Requests

__all__ = ["AzureStore"]


class AzureStore(RemoteStore[AzureConfig, AzureClient]):
    """A container of Azure Blob Storage.

    A version is the ETag. Ages are by the clock of the service. An operation is one request; a
    swap that fails takes one more, to tell a changed key from a missing one.

    Args:
        config: which container, and how.
        world: makes the threads.
        contact: that of the store of which this one is a fork.
    """

    def __init__(self, config: AzureConfig, *, world: World = SYSTEM, contact: Contact | None = None) -> None:
        capabilities = Capabilities(
            max_key_bytes=MAX_KEY_BYTES,
            delete_many_size=BATCH,
            page_size=PAGE,
        )
        requests = Requests(config)
        super().__init__(config, _DIALECT, requests, capabilities, batch=BATCH, world=world, contact=contact)

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

    def fork(self) -> AzureStore:
        """The same container with a client and threads of its own."""
        return AzureStore(self.config, world=self.world, contact=self.contact)


_DIALECT: Dialect[AzureConfig, AzureClient] = Dialect(
    name="flowli-azure",
    connect=make_client,
    disconnect=AzureClient.close,
    answered=errors.answered,
    expired=errors.expired,
    fate=errors.fate,
    refusal=errors.refusal,
    unusable=errors.unusable,
)
