"""Which bucket, and how to talk to it, from a URL or a mapping. Credentials are the application default ones."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from difflib import get_close_matches
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from flowli.cairn.errors import KeyRefused, StoreConfigError
from flowli.cairn.keys import check_key

__all__ = ["GcsConfig"]

_HOW = "Write for example gs://my-bucket/prefix"
_BUCKET = re.compile(r"[a-z0-9][a-z0-9._-]{1,220}[a-z0-9]", re.ASCII)
_MAX_PREFIX_BYTES = 120


@dataclass(frozen=True, slots=True)
class GcsConfig:
    """The settings of a bucket.

    Attributes:
        bucket: its name.
        prefix: in front of every key; empty, or with a slash at its end.
        project: that of the credentials if empty.
        key_file: JSON file of a service account; empty for the application default credentials.
        endpoint_url: address of the service; empty for Google's, or ``STORAGE_EMULATOR_HOST``. Over http nothing is
            sent that proves who asks, so that only an emulator answers.
        user_project: the project that pays for requests to a bucket of another one.
        kms_key_name: the key of Cloud KMS for new objects; empty for what the bucket does by itself.
        storage_class: of new objects; empty for that of the bucket.
        connections: the most requests at once; as many threads and connections are kept.
        connect_timeout_s: seconds to wait for a connection.
        read_timeout_s: seconds to wait for each part of an answer.
    """

    bucket: str
    prefix: str = ""
    project: str = ""
    key_file: str = ""
    endpoint_url: str = ""
    user_project: str = ""
    kms_key_name: str = ""
    storage_class: str = ""
    connections: int = 32
    connect_timeout_s: float = 3.0
    read_timeout_s: float = 8.0

    def __post_init__(self) -> None:
        if not _BUCKET.fullmatch(self.bucket):
            raise StoreConfigError(f"{self.bucket!r} cannot be the name of a bucket", _HOW)
        _check_prefix(self.prefix)
        if self.endpoint_url and urlsplit(self.endpoint_url).scheme not in ("http", "https"):
            raise StoreConfigError(
                f"endpoint_url={self.endpoint_url!r} is not an address", "Begin it with https:// or http://"
            )

    @property
    def url(self) -> str:
        """The URL that opens the same bucket."""
        said = [(one.name, getattr(self, one.name), one.default) for one in fields(self)]
        query = {
            name: f"{value:g}" if isinstance(value, float) else str(value)
            for name, value, default in said
            if name not in ("bucket", "prefix") and value != default
        }
        path = f"{self.bucket}/{quote(self.prefix.rstrip('/'))}" if self.prefix else self.bucket
        return f"gs://{path}" + (f"?{urlencode(query, safe=':/')}" if query else "")

    @classmethod
    def from_url(cls, url: str) -> GcsConfig:
        """Read ``gs://bucket/prefix?project=…``; every setting may follow.

        Raises:
            StoreConfigError: the URL has another form.
        """
        scheme, colon, rest = url.partition("://")
        path, _, query = rest.partition("?")
        if scheme != "gs" or not colon:
            raise StoreConfigError(f"{url.partition('?')[0]!r} is not the URL of a bucket", _HOW)
        if "@" in path:
            raise StoreConfigError(
                "A storage URL may not hold credentials, for URLs are logged", "Name a key_file, or use a role"
            )
        bucket, _, prefix = path.partition("/")
        settings: dict[str, object] = dict(parse_qsl(query, keep_blank_values=True))
        return cls._made(unquote(bucket), {"prefix": unquote(prefix), **settings})

    @classmethod
    def from_config(cls, config: Mapping[str, object]) -> GcsConfig:
        """Read ``{"type": "gs", "bucket": …}``, with the settings above by their names.

        Raises:
            StoreConfigError: a setting is unknown, missing or of the wrong type.
        """
        bucket = config.get("bucket")
        if not isinstance(bucket, str):
            raise StoreConfigError("The storage mapping has no 'bucket'", "Add the name of the bucket")
        return cls._made(bucket, {name: value for name, value in config.items() if name not in ("type", "bucket")})

    @classmethod
    def _made(cls, bucket: str, settings: Mapping[str, object]) -> GcsConfig:
        known = {one.name: type(one.default) for one in fields(cls) if one.name != "bucket"}
        given: dict[str, object] = {}
        for name, value in settings.items():
            if name not in known:
                near = get_close_matches(name, known, 1)
                hint = f"Did you mean {near[0]!r}" if near else f"There are {', '.join(known)}"
                raise StoreConfigError(f"A bucket of Google Cloud Storage has no setting {name!r}", hint)
            given[name] = _read(name, value, known[name])
        prefix = str(given.pop("prefix", "")).strip("/")
        return cls(bucket, f"{prefix}/" if prefix else "", **given)  # type: ignore[arg-type]


def _check_prefix(prefix: str) -> None:
    try:
        if prefix:
            check_key(prefix.removesuffix("/"), _MAX_PREFIX_BYTES)
    except KeyRefused as error:
        raise StoreConfigError(f"The prefix of the bucket URL cannot be used: {error.fact}", error.advice) from None


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
    raise StoreConfigError(f"{name}={value!r} makes no sense", f"Give {wanted}")
