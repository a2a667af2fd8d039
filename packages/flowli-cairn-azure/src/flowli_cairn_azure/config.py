"""Which container, and how to talk to it, from a URL, a mapping or the environment of the Azure tools."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from flowli.cairn.errors import KeyRefused, StoreConfigError
from flowli.cairn.keys import check_key

__all__ = ["AzureConfig"]

_HOW = "Write for example az://my-container/prefix?account=myaccount"
_SECRETS = ("connection_string", "account_key", "sas_token")
_CONTAINER = re.compile(r"(?!.*--)[a-z0-9][a-z0-9-]{1,61}[a-z0-9]", re.ASCII)
_ACCOUNT = re.compile(r"[a-z0-9]{3,24}", re.ASCII)
_MAX_PREFIX_BYTES = 120


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
        connections: the most requests at once; as many threads and connections are kept.
        connect_timeout_s: seconds to wait for a connection.
        read_timeout_s: seconds to wait for each part of an answer.
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
    connections: int = 32
    connect_timeout_s: float = 3.0
    read_timeout_s: float = 8.0
    connection_string: str = field(default="", repr=False)
    account_key: str = field(default="", repr=False)
    sas_token: str = field(default="", repr=False)

    def __post_init__(self) -> None:
        if not _CONTAINER.fullmatch(self.container):
            raise StoreConfigError(f"{self.container!r} cannot be the name of a container", _HOW)
        _check_prefix(self.prefix)
        if self.account and not _ACCOUNT.fullmatch(self.account):
            raise StoreConfigError(f"{self.account!r} cannot be the name of a storage account", _HOW)
        if self.endpoint_url and urlsplit(self.endpoint_url).scheme not in ("http", "https"):
            raise StoreConfigError(
                f"endpoint_url={self.endpoint_url!r} is not an address", "Begin it with https:// or http://"
            )

    @property
    def url(self) -> str:
        """The URL that opens the same container, without secrets."""
        said = [(one.name, getattr(self, one.name), one.default) for one in fields(self)]
        query = {
            name: f"{value:g}" if isinstance(value, float) else str(value)
            for name, value, default in said
            if name not in ("container", "prefix", *_SECRETS) and value != default
        }
        path = f"{self.container}/{quote(self.prefix.rstrip('/'))}" if self.prefix else self.container
        return f"az://{path}" + (f"?{urlencode(query, safe=':/')}" if query else "")

    @classmethod
    def from_url(cls, url: str) -> AzureConfig:
        """Read ``az://container/prefix?account=…``; every setting but the secrets may follow.

        Raises:
            StoreConfigError: the URL has another form.
        """
        scheme, colon, rest = url.partition("://")
        path, _, query = rest.partition("?")
        if scheme != "az" or not colon:
            raise StoreConfigError(f"{url.partition('?')[0]!r} is not the URL of a container", _HOW)
        container, _, prefix = path.partition("/")
        settings: dict[str, object] = dict(parse_qsl(query, keep_blank_values=True))
        for name in (*_SECRETS, "sig"):
            if name in settings:
                raise StoreConfigError(
                    f"A storage URL may not hold {name!r}, for URLs are logged",
                    "Set AZURE_STORAGE_SAS_TOKEN, AZURE_STORAGE_KEY or AZURE_STORAGE_CONNECTION_STRING",
                )
        return cls._made(unquote(container), {"prefix": unquote(prefix), **settings})

    @classmethod
    def from_config(cls, config: Mapping[str, object]) -> AzureConfig:
        """Read ``{"type": "az", "container": …}``, with the settings above by their names.

        Raises:
            StoreConfigError: a setting is unknown, missing or of the wrong type.
        """
        container = config.get("container")
        if not isinstance(container, str):
            raise StoreConfigError("The storage mapping has no 'container'", "Add the name of the container")
        given = {name: value for name, value in config.items() if name not in ("type", "container")}
        return cls._made(container, given)

    @classmethod
    def _made(cls, container: str, settings: Mapping[str, object]) -> AzureConfig:
        known = {one.name: type(one.default) for one in fields(cls) if one.name != "container"}
        given: dict[str, object] = {}
        for name, value in settings.items():
            if name not in known:
                near = get_close_matches(name, known, 1)
                hint = f"Did you mean {near[0]!r}" if near else f"There are {', '.join(known)}"
                raise StoreConfigError(f"A container of Azure has no setting {name!r}", hint)
            given[name] = _read(name, value, known[name])
        prefix = str(given.pop("prefix", "")).strip("/")
        return cls(container, f"{prefix}/" if prefix else "", **given)  # type: ignore[arg-type]


def _check_prefix(prefix: str) -> None:
    try:
        if prefix:
            check_key(prefix.removesuffix("/"), _MAX_PREFIX_BYTES)
    except KeyRefused as error:
        raise StoreConfigError(f"The prefix of the container URL cannot be used: {error.fact}", error.advice) from None


def _read(name: str, value: object, kind: type) -> object:
    """A setting in its own type; text is read as in a URL."""
    if kind is str and isinstance(value, str):
        return value
    if kind in (int, float) and isinstance(value, str | int | float) and not isinstance(value, bool):
        try:
            number = int(value) if kind is int else float(value)
        except ValueError:
            number = 0
        if 0 < number < 10_000:
            return number
    wanted = "a text" if kind is str else "a number above 0"
    shown = "…" if name in _SECRETS else repr(value)
    raise StoreConfigError(f"{name}={shown} makes no sense", f"Give {wanted}")
