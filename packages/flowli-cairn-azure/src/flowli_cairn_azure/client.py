"""Makes a client of the SDK. Requests are tried once: whoever asked knows better whether to ask again."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from os import environ
from typing import Any
from urllib.parse import urlsplit

import requests
from azure.core.credentials import AzureNamedKeyCredential, AzureSasCredential, TokenCredential
from azure.core.pipeline.transport import RequestsTransport
from azure.storage.blob import BlobServiceClient, ContainerClient
from requests.adapters import HTTPAdapter

from flowli.cairn.errors import StoreConfigError
from flowli_cairn_azure.config import AzureConfig

__all__ = ["AzureClient", "make_client"]

# They warn, over many lines, of what is then raised and said in one.
_TALKATIVE = ("azure.core", "azure.identity", "azure.storage")
_API_VERSION = "2026-02-06"  # the first in which a listing can begin after a name


@dataclass(frozen=True, slots=True)
class AzureClient:
    """One client with its connections, for many threads.

    Attributes:
        container: the container.
        account: makes a client of its account, over the same connections.
    """

    container: ContainerClient
    account: Callable[[], BlobServiceClient]
    _session: requests.Session

    def close(self) -> None:
        """Let go of connections."""
        self.container.close()
        self._session.close()


def make_client(config: AzureConfig) -> AzureClient:
    """A client with credentials looked up anew.

    Raises:
        StoreConfigError: no account is named anywhere, or a customer key would be sent in the clear.
    """
    for name in _TALKATIVE:
        logger = logging.getLogger(name)
        if logger.level == logging.NOTSET:  # whoever wants to hear it has said so
            logger.setLevel(logging.ERROR)
    session = requests.Session()
    pool = HTTPAdapter(pool_connections=2, pool_maxsize=config.connections, max_retries=0)
    session.mount("https://", pool)
    session.mount("http://", pool)
    options: dict[str, Any] = {
        "transport": RequestsTransport(
            session=session,
            session_owner=False,
            connection_timeout=config.connect_timeout_s,
            read_timeout=config.read_timeout_s,
        ),
        "retry_total": 0,
        "api_version": _API_VERSION,
    }
    said = config.connection_string or ("" if _names_account(config) else _env("AZURE_STORAGE_CONNECTION_STRING"))
    if said:
        client = ContainerClient.from_connection_string(said, config.container, **options)
        account = partial(BlobServiceClient.from_connection_string, said, **options)
    else:
        address = _address(config)
        credential = _credential(config, address)
        client = ContainerClient(address, config.container, credential=credential, **options)
        account = partial(BlobServiceClient, address, credential=credential, **options)
    if config.customer_key_file and urlsplit(client.url).scheme != "https":
        raise StoreConfigError(
            f"A customer key would be sent in the clear to {config.where}",
            "Give an endpoint_url that begins with https://",
        )
    return AzureClient(client, account, session)


def _names_account(config: AzureConfig) -> bool:
    return bool(config.account or config.endpoint_url)


def _address(config: AzureConfig) -> str:
    account = config.account or _env("AZURE_STORAGE_ACCOUNT")
    if config.endpoint_url:
        return config.endpoint_url
    if not account:
        raise StoreConfigError(
            f"No storage account is named for {config.url}",
            "Add account= to the storage URL, or set AZURE_STORAGE_ACCOUNT or AZURE_STORAGE_CONNECTION_STRING",
        )
    return f"https://{account}.blob.core.windows.net"


def _credential(
    config: AzureConfig, address: str
) -> AzureNamedKeyCredential | AzureSasCredential | TokenCredential | None:
    key = config.account_key or ("" if config.sas_token else _env("AZURE_STORAGE_KEY"))
    if key:
        where = urlsplit(address)
        account = config.account or _env("AZURE_STORAGE_ACCOUNT") or (where.hostname or "").partition(".")[0]
        return AzureNamedKeyCredential(account, key)
    token = config.sas_token or _env("AZURE_STORAGE_SAS_TOKEN")
    if token:
        return AzureSasCredential(token.removeprefix("?"))
    from azure.identity import DefaultAzureCredential  # it is large, and a key or a token needs none of it

    return DefaultAzureCredential()


def _env(name: str) -> str:
    return environ.get(name, "")
