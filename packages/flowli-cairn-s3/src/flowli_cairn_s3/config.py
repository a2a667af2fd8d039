"""Which bucket, and how to talk to it, from a URL or a mapping. Credentials come from the chain of the SDK."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from flowli.cairn.errors import KeyRefused, StoreConfigError
from flowli.cairn.keys import check_key

__all__ = ["S3Config"]

_HOW = "Write for example s3://my-bucket/prefix?region=eu-central-1"
_SECRETS = ("access_key_id", "secret_access_key", "session_token")
_BUCKET = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9._-]{1,253}[a-zA-Z0-9]|arn:aws[a-z-]*:s3:[a-zA-Z0-9:/._-]+", re.ASCII)
_MAX_PREFIX_BYTES = 120
_ADDRESSING = ("auto", "path", "virtual")
_SSE = ("", "AES256", "aws:kms", "aws:kms:dsse")


@dataclass(frozen=True, slots=True)
class S3Config:
    """The settings of a bucket.

    Attributes:
        bucket: its name, or the ARN of an access point.
        prefix: in front of every key; empty, or with a slash at its end.
        region: of the bucket; empty for that of the SDK's own chain. A bucket elsewhere is found by redirection.
        endpoint_url: address of a service that speaks the protocol; empty for Amazon, or ``AWS_ENDPOINT_URL_S3``.
        profile: of the shared credentials file; empty for that of the environment.
        addressing: where the name of the bucket stands in requests: ``auto``, ``path`` or ``virtual``.
        sse: ``AES256``, ``aws:kms`` or ``aws:kms:dsse``; empty for what the bucket does by itself.
        kms_key_id: the key for ``aws:kms``; empty for the account's own.
        storage_class: of new objects; empty for STANDARD.
        request_payer: this account pays for its requests to a bucket of another one.
        conditional_delete: the service evaluates If-Match on DELETE, as Amazon does; without, cairn writes tombstones.
        connections: the most requests at once; as many threads and connections are kept.
        connect_timeout_s: seconds to wait for a connection.
        read_timeout_s: seconds to wait for each part of an answer.
        access_key_id, secret_access_key, session_token: credentials from a mapping only; empty for the SDK's chain.
    """

    bucket: str
    prefix: str = ""
    region: str = ""
    endpoint_url: str = ""
    profile: str = ""
    addressing: str = "auto"
    sse: str = ""
    kms_key_id: str = ""
    storage_class: str = ""
    request_payer: bool = False
    conditional_delete: bool = True
    connections: int = 32
    connect_timeout_s: float = 3.0
    read_timeout_s: float = 8.0
    access_key_id: str = field(default="", repr=False)
    secret_access_key: str = field(default="", repr=False)
    session_token: str = field(default="", repr=False)

    def __post_init__(self) -> None:
        if not _BUCKET.fullmatch(self.bucket):
            raise StoreConfigError(f"{self.bucket!r} cannot be the name of a bucket", _HOW)
        if self.bucket.endswith("--x-s3"):
            raise StoreConfigError(
                f"{self.bucket!r} is a directory bucket, which does not list its keys in order",
                "Use a general purpose bucket",
            )
        _check_prefix(self.prefix)
        _one_of("addressing", self.addressing, _ADDRESSING)
        _one_of("sse", self.sse, _SSE)
        if self.kms_key_id and not self.sse.startswith("aws:kms"):
            raise StoreConfigError("kms_key_id is set and sse is not a KMS kind", "Add sse=aws:kms")
        if self.endpoint_url and urlsplit(self.endpoint_url).scheme not in ("http", "https"):
            raise StoreConfigError(
                f"endpoint_url={self.endpoint_url!r} is not an address", "Begin it with https:// or http://"
            )
        if bool(self.access_key_id) != bool(self.secret_access_key):
            raise StoreConfigError("Only one half of a key pair is set", "Set access_key_id and secret_access_key")

    @property
    def url(self) -> str:
        """The URL that opens the same bucket, without secrets."""
        said = [(one.name, getattr(self, one.name)) for one in fields(self) if one.name not in ("bucket", "prefix")]
        defaults = {one.name: one.default for one in fields(self)}
        query = {name: _text(value) for name, value in said if value != defaults[name] and name not in _SECRETS}
        path, prefix = self.bucket, self.prefix.rstrip("/")
        if prefix and path.startswith("arn:"):  # whose own parts may be joined by slashes
            query = {"prefix": prefix, **query}
        elif prefix:
            path += f"/{quote(prefix)}"
        return f"s3://{path}" + (f"?{urlencode(query, safe=':/')}" if query else "")

    @classmethod
    def from_url(cls, url: str) -> S3Config:
        """Read ``s3://bucket/prefix?region=…&endpoint_url=…``; every setting but the credentials may follow.

        Raises:
            StoreConfigError: the URL has another form.
        """
        scheme, colon, rest = url.partition("://")
        path, _, query = rest.partition("?")
        if scheme != "s3" or not colon:
            raise StoreConfigError(f"{url.partition('?')[0]!r} is not the URL of a bucket", _HOW)
        if "@" in path:
            raise StoreConfigError(
                "A storage URL may not hold credentials, for URLs are logged",
                "Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or use a profile or a role",
            )
        bucket, _, prefix = path.partition("/")
        if bucket.startswith("arn:"):
            bucket, prefix = path, ""
        settings: dict[str, object] = dict(parse_qsl(query, keep_blank_values=True))
        for name in _SECRETS:
            if name in settings:
                raise StoreConfigError(
                    f"A storage URL may not hold {name!r}, for URLs are logged",
                    "Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or use a profile or a role",
                )
        settings.setdefault("prefix", unquote(prefix))
        return cls._made(unquote(bucket), settings)

    @classmethod
    def from_config(cls, config: Mapping[str, object]) -> S3Config:
        """Read ``{"type": "s3", "bucket": …}``, with the settings above by their names.

        Raises:
            StoreConfigError: a setting is unknown, missing or of the wrong type.
        """
        bucket = config.get("bucket")
        if not isinstance(bucket, str):
            raise StoreConfigError("The storage mapping has no 'bucket'", "Add the name of the bucket")
        return cls._made(bucket, {name: value for name, value in config.items() if name not in ("type", "bucket")})

    @classmethod
    def _made(cls, bucket: str, settings: Mapping[str, object]) -> S3Config:
        known = {one.name: type(one.default) for one in fields(cls) if one.name != "bucket"}
        given: dict[str, object] = {}
        for name, value in settings.items():
            if name not in known:
                near = get_close_matches(name, known, 1)
                hint = f"Did you mean {near[0]!r}" if near else f"There are {', '.join(known)}"
                raise StoreConfigError(f"An S3 bucket has no setting {name!r}", hint)
            given[name] = _read(name, value, known[name])
        prefix = str(given.pop("prefix", "")).strip("/")
        return cls(bucket, f"{prefix}/" if prefix else "", **given)  # type: ignore[arg-type]


def _check_prefix(prefix: str) -> None:
    try:
        if prefix:
            check_key(prefix.removesuffix("/"), _MAX_PREFIX_BYTES)
    except KeyRefused as error:
        raise StoreConfigError(f"The prefix of the bucket URL cannot be used: {error.fact}", error.advice) from None


def _one_of(name: str, value: str, values: tuple[str, ...]) -> None:
    if value not in values:
        raise StoreConfigError(f"{name}={value!r} makes no sense", f"Use one of {', '.join(filter(None, values))}")


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else f"{value:g}" if isinstance(value, float) else str(value)


def _read(name: str, value: object, kind: type) -> object:
    """A setting in its own type; text is read as in a URL."""
    if kind is bool and str(value).lower() in ("true", "false"):
        return str(value).lower() == "true"
    if kind is bool:
        raise StoreConfigError(f"{name}={value!r} makes no sense", "Use true or false")
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
