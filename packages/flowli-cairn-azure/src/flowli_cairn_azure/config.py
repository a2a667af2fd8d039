"""Which container, and how to talk to it, from a URL, a mapping or the environment of the Azure tools."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cache

from flowli.cairn.errors import StoreConfigError
from flowli.cairn.remote.settings import Form, check_endpoint, check_prefix_setting, one_of

__all__ = ["AzureConfig"]

_EXAMPLE = "az://my-container/prefix?account=myaccount"
_HOW = f"Write for example {_EXAMPLE}"
_CONTAINER = re.compile(r"(?!.*--)[a-z0-9][a-z0-9-]{1,61}[a-z0-9]", re.ASCII)
_TIERS = ("", "Hot", "Cool", "Cold")
_ACCOUNT = re.compile(r"[a-z0-9]{3,24}", re.ASCII)


@dataclass(frozen=True, slots=True)
class AzureConfig:
    """The settings of a container.

    Attributes:
        container: its name.
        prefix: in front of every key; empty, or with a slash at its end.
        account: name of the storage account; empty for that of ``endpoint_url``, of the connection string or of
            ``AZURE_STORAGE_ACCOUNT``.
        endpoint_url: address of the account; empty for ``https://{account}.blob.core.windows.net``.
        encryption_scope: for new blobs; empty for that of the container.
        customer_key_file: holds 32 bytes as base64, with which the service encrypts and which it does not keep.
        access_tier: of new blobs: ``Hot``, ``Cool`` or ``Cold``; empty for that of the account.
        connections: the most requests at once; as many threads and connections are kept.
        connect_timeout_s: seconds to wait for a connection.
        read_timeout_s: seconds to wait for each part of an answer.
        first_timeout_s: seconds in which the service must have answered for the first time, credentials looked up.
        connection_string: from a mapping only; empty for ``AZURE_STORAGE_CONNECTION_STRING``.
        account_key: from a mapping only; empty for ``AZURE_STORAGE_KEY``.
        sas_token: from a mapping only; empty for ``AZURE_STORAGE_SAS_TOKEN``. Without any of the three, the default
            credential of Azure Identity is used.
    """

    container: str
    prefix: str = ""
    account: str = ""
    endpoint_url: str = ""
    encryption_scope: str = ""
    customer_key_file: str = ""
    access_tier: str = ""
    connections: int = 32
    connect_timeout_s: float = 3.0
    read_timeout_s: float = 8.0
    first_timeout_s: float = 8.0
    connection_string: str = field(default="", repr=False)
    account_key: str = field(default="", repr=False)
    sas_token: str = field(default="", repr=False)

    def __post_init__(self) -> None:
        if not _CONTAINER.fullmatch(self.container):
            raise StoreConfigError(
                f"{self.container!r} cannot be the name of a container", f"Write for example {_EXAMPLE}"
            )
        check_prefix_setting("container", self.prefix)
        if self.account and not _ACCOUNT.fullmatch(self.account):
            raise StoreConfigError(
                f"{self.account!r} cannot be the name of a storage account", f"Write for example {_EXAMPLE}"
            )
        one_of("access_tier", self.access_tier, _TIERS)
        check_endpoint(self.endpoint_url)
        if self.customer_key_file and self.encryption_scope:
            raise StoreConfigError("Both encryption_scope and customer_key_file are set", "Leave one of them out")

    @property
    def url(self) -> str:
        """The URL that opens the same container, without secrets."""
        return _form().write(self)

    @property
    def where(self) -> str:
        """The service and the container in words."""
        at = self.endpoint_url or (f"account {self.account}" if self.account else "")
        return f"az://{self.container}" + (f" at {at}" if at else "")

    @classmethod
    def from_url(cls, url: str) -> AzureConfig:
        """Read ``az://container/prefix?account=…``; every setting but the secrets may follow.

        Raises:
            StoreConfigError: the URL has another form.
        """
        container, prefix, settings = _form().split(url)
        return cls(container, **_form().read({"prefix": prefix, **settings}))

    @classmethod
    def from_config(cls, config: Mapping[str, object]) -> AzureConfig:
        """Read ``{"type": "az", "container": …}``, with the settings above by their names.

        Raises:
            StoreConfigError: a setting is unknown, missing or of the wrong type.
        """
        container, settings = _form().place_of(config)
        return cls(container, **_form().read(settings))


@cache
def _form() -> Form:
    return Form(
        scheme="az",
        place="container",
        owner="Azure",
        example=_EXAMPLE,
        fields=fields(AzureConfig),
        secrets=("connection_string", "account_key", "sas_token", "sig"),
        instead="Set AZURE_STORAGE_SAS_TOKEN, AZURE_STORAGE_KEY or AZURE_STORAGE_CONNECTION_STRING",
    )
