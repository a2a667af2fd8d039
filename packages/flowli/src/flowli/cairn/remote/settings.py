"""Reading the settings of a store from the query of a URL or from a mapping, and writing them back."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Collection, Mapping, Sequence
from dataclasses import Field, dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from flowli.cairn.errors import KeyRefused, StoreConfigError
from flowli.cairn.keys import check_key

__all__ = ["Form", "check_endpoint", "check_prefix_setting", "customer_key", "one_of"]

_MAX_PREFIX_BYTES = 120
_KEY_BYTES = 32


@dataclass(frozen=True, slots=True)
class Form:
    """How the URL of one kind of store is written.

    Attributes:
        scheme: ``s3``, ``az``, ``gs``.
        place: what the first setting is called: ``bucket``, ``container``.
        owner: completes "a bucket of …": the service in words.
        example: completes "Write for example …".
        fields: the fields of the class of settings, the place first.
        secrets: the settings that a URL may not hold.
        instead: what to do about a secret in a URL.
    """

    scheme: str
    place: str
    owner: str
    example: str
    fields: Sequence[Field[Any]]
    secrets: Collection[str] = ()
    instead: str = ""

    @property
    def how(self) -> str:
        """The advice to write a URL."""
        return f"Write for example {self.example}"

    def split(self, url: str) -> tuple[str, str, dict[str, object]]:
        """The place, the prefix and the other settings of a URL.

        Raises:
            StoreConfigError: it has another form or holds a secret.
        """
        scheme, colon, rest = url.partition("://")
        path, _, query = rest.partition("?")
        if scheme != self.scheme or not colon:
            raise StoreConfigError(f"{url.partition('?')[0]!r} is not the URL of a {self.place}", self.how)
        if "@" in path:
            raise StoreConfigError("A storage URL may not hold credentials, for URLs are logged", self.instead)
        settings: dict[str, object] = dict(parse_qsl(query, keep_blank_values=True))
        for name in self.secrets:
            if name in settings:
                raise StoreConfigError(f"A storage URL may not hold {name!r}, for URLs are logged", self.instead)
        if path.startswith("arn:"):  # whose own parts may be joined by slashes
            return path, str(settings.pop("prefix", "")), settings
        place, _, prefix = path.partition("/")
        return unquote(place), str(settings.pop("prefix", unquote(prefix))), settings

    def place_of(self, config: Mapping[str, object]) -> tuple[str, dict[str, object]]:
        """The place that a mapping names, and its other settings.

        Raises:
            StoreConfigError: it names none.
        """
        place = config.get(self.place)
        if not isinstance(place, str):
            raise StoreConfigError(f"The storage mapping has no {self.place!r}", f"Add the name of the {self.place}")
        return place, {name: value for name, value in config.items() if name not in ("type", self.place)}

    def read(self, settings: Mapping[str, object]) -> dict[str, Any]:
        """The settings in their own types; the prefix with a slash at its end.

        Raises:
            StoreConfigError: one is unknown or makes no sense.
        """
        known = {one.name: type(one.default) for one in self.fields if one.name != self.place}
        given: dict[str, Any] = {}
        for name, value in settings.items():
            if name not in known:
                near = get_close_matches(name, known, 1)
                hint = f"Did you mean {near[0]!r}" if near else f"There are {', '.join(known)}"
                raise StoreConfigError(f"A {self.place} of {self.owner} has no setting {name!r}", hint)
            given[name] = _read(name, value, known[name], secret=name in self.secrets)
        prefix = str(given.get("prefix", "")).strip("/")
        return {**given, "prefix": f"{prefix}/" if prefix else ""}

    def write(self, config: object) -> str:
        """The URL with the settings of ``config`` that are not the default and no secrets."""
        said = {one.name: getattr(config, one.name) for one in self.fields if one.name not in self.secrets}
        path, prefix = str(said.pop(self.place)), str(said.pop("prefix")).rstrip("/")
        defaults = {one.name: one.default for one in self.fields}
        query = {name: _text(value) for name, value in said.items() if value != defaults[name]}
        if prefix and path.startswith("arn:"):
            query = {"prefix": prefix, **query}
        elif prefix:
            path += f"/{quote(prefix)}"
        return f"{self.scheme}://{path}" + (f"?{urlencode(query, safe=':/')}" if query else "")


def check_prefix_setting(place: str, prefix: str) -> None:
    """Refuse a prefix under which no key could be.

    Raises:
        StoreConfigError: the sentence names the rule.
    """
    try:
        if prefix:
            check_key(prefix.removesuffix("/"), _MAX_PREFIX_BYTES)
    except KeyRefused as error:
        raise StoreConfigError(f"The prefix of the {place} URL cannot be used: {error.fact}", error.advice) from None


def check_endpoint(endpoint_url: str) -> None:
    """Refuse an address that is none; empty is fine.

    Raises:
        StoreConfigError: it does not begin as an address does.
    """
    if endpoint_url and urlsplit(endpoint_url).scheme not in ("http", "https"):
        raise StoreConfigError(f"endpoint_url={endpoint_url!r} is not an address", "Begin it with https:// or http://")


def one_of(name: str, value: str, choices: Sequence[str]) -> None:
    """Refuse a value that is not among the choices.

    Raises:
        StoreConfigError: it is not.
    """
    if value not in choices:
        listed = ", ".join(one for one in choices if one)
        raise StoreConfigError(f"{name}={value!r} makes no sense", f"Use one of {listed}")


def customer_key(path: str) -> bytes:
    """The key of 256 bits with which the service encrypts and which it does not keep, from a file that holds base64.

    Raises:
        StoreConfigError: the file cannot be read or holds something else.
    """
    try:
        key = base64.b64decode(Path(path).expanduser().read_bytes().strip(), validate=True)
    except OSError as error:
        raise StoreConfigError(f"The customer key cannot be read: {error.strerror}", f"Check {path}") from None
    except binascii.Error:
        key = b""
    if len(key) != _KEY_BYTES:
        raise StoreConfigError(
            f"The file {path} holds no customer key", "Write 32 random bytes as base64: openssl rand -base64 32"
        )
    return key


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else f"{value:g}" if isinstance(value, float) else str(value)


def _read(name: str, value: object, kind: type, *, secret: bool) -> object:
    """A setting in its own type; text is read as in a URL."""
    shown = "…" if secret else repr(value)
    if kind is bool and str(value).lower() in ("true", "false"):
        return str(value).lower() == "true"
    if kind is bool:
        raise StoreConfigError(f"{name}={shown} makes no sense", "Use true or false")
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
    raise StoreConfigError(f"{name}={shown} makes no sense", f"Give {wanted}")
