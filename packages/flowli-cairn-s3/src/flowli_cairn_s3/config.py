"""Which bucket, and how to talk to it, from a URL or a mapping. Credentials come from the chain of the SDK."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cache

from flowli.cairn.errors import StoreConfigError
from flowli.cairn.remote.settings import Form, check_endpoint, check_prefix_setting, one_of

__all__ = ["S3Config"]

_EXAMPLE = "s3://my-bucket/prefix?region=eu-central-1"
_HOW = f"Write for example {_EXAMPLE}"
_BUCKET = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9._-]{1,253}[a-zA-Z0-9]|arn:aws[a-z-]*:s3:[a-zA-Z0-9:/._-]+", re.ASCII)
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
        customer_key_file: holds 32 bytes as base64, with which S3 encrypts and which it does not keep (SSE-C).
        storage_class: of new objects; empty for STANDARD.
        request_payer: this account pays for its requests to a bucket of another one.
        conditional_delete: the service evaluates If-Match on DELETE, as Amazon does; without, cairn writes tombstones.
        connections: the most requests at once; as many threads and connections are kept.
        connect_timeout_s: seconds to wait for a connection.
        read_timeout_s: seconds to wait for each part of an answer.
        first_timeout_s: seconds in which the service must have answered for the first time, credentials looked up.
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
    customer_key_file: str = ""
    storage_class: str = ""
    request_payer: bool = False
    conditional_delete: bool = True
    connections: int = 32
    connect_timeout_s: float = 3.0
    read_timeout_s: float = 8.0
    first_timeout_s: float = 8.0
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
        check_prefix_setting("bucket", self.prefix)
        one_of("addressing", self.addressing, _ADDRESSING)
        one_of("sse", self.sse, _SSE)
        if self.kms_key_id and not self.sse.startswith("aws:kms"):
            raise StoreConfigError("kms_key_id is set and sse is not a KMS kind", "Add sse=aws:kms")
        check_endpoint(self.endpoint_url)
        if self.customer_key_file and self.sse:
            raise StoreConfigError("Both sse and customer_key_file are set", "Leave one of them out")
        if bool(self.access_key_id) != bool(self.secret_access_key):
            raise StoreConfigError("Only one half of a key pair is set", "Set access_key_id and secret_access_key")

    @property
    def url(self) -> str:
        """The URL that opens the same bucket, without secrets."""
        return _form().write(self)

    @property
    def where(self) -> str:
        """The service and the bucket in words."""
        return f"s3://{self.bucket}" + (f" at {self.endpoint_url}" if self.endpoint_url else "")

    @classmethod
    def from_url(cls, url: str) -> S3Config:
        """Read ``s3://bucket/prefix?region=…&endpoint_url=…``; every setting but the credentials may follow.

        Raises:
            StoreConfigError: the URL has another form.
        """
        bucket, prefix, settings = _form().split(url)
        return cls(bucket, **_form().read({"prefix": prefix, **settings}))

    @classmethod
    def from_config(cls, config: Mapping[str, object]) -> S3Config:
        """Read ``{"type": "s3", "bucket": …}``, with the settings above by their names.

        Raises:
            StoreConfigError: a setting is unknown, missing or of the wrong type.
        """
        bucket, settings = _form().place_of(config)
        return cls(bucket, **_form().read(settings))


@cache
def _form() -> Form:
    return Form(
        scheme="s3",
        place="bucket",
        owner="S3",
        example=_EXAMPLE,
        fields=fields(S3Config),
        secrets=("access_key_id", "secret_access_key", "session_token"),
        instead="Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or use a profile or a role",
    )
