"""Which bucket, and how to talk to it, from a URL or a mapping. Credentials are the application default ones."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache

from flowli.cairn.errors import StoreConfigError
from flowli.cairn.remote.settings import Form, check_endpoint, check_prefix_setting

__all__ = ["GcsConfig"]

_EXAMPLE = "gs://my-bucket/prefix"
_HOW = f"Write for example {_EXAMPLE}"
_BUCKET = re.compile(r"[a-z0-9][a-z0-9._-]{1,220}[a-z0-9]", re.ASCII)


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
        customer_key_file: holds 32 bytes as base64, with which the service encrypts and which it does not keep.
        storage_class: of new objects; empty for that of the bucket.
        connections: the most requests at once; as many threads and connections are kept.
        connect_timeout_s: seconds to wait for a connection.
        read_timeout_s: seconds to wait for each part of an answer.
        first_timeout_s: seconds in which the service must have answered for the first time, credentials looked up.
    """

    bucket: str
    prefix: str = ""
    project: str = ""
    key_file: str = ""
    endpoint_url: str = ""
    user_project: str = ""
    kms_key_name: str = ""
    customer_key_file: str = ""
    storage_class: str = ""
    connections: int = 32
    connect_timeout_s: float = 3.0
    read_timeout_s: float = 8.0
    first_timeout_s: float = 8.0

    def __post_init__(self) -> None:
        if not _BUCKET.fullmatch(self.bucket):
            raise StoreConfigError(f"{self.bucket!r} cannot be the name of a bucket", _HOW)
        check_prefix_setting("bucket", self.prefix)
        check_endpoint(self.endpoint_url)
        if self.customer_key_file and self.kms_key_name:
            raise StoreConfigError("Both kms_key_name and customer_key_file are set", "Leave one of them out")

    @property
    def url(self) -> str:
        """The URL that opens the same bucket."""
        return _form().write(self)

    @property
    def where(self) -> str:
        """The service and the bucket in words."""
        return f"gs://{self.bucket}" + (f" at {self.endpoint_url}" if self.endpoint_url else "")

    @classmethod
    def from_url(cls, url: str) -> GcsConfig:
        """Read ``gs://bucket/prefix?project=…``; every setting may follow.

        Raises:
            StoreConfigError: the URL has another form.
        """
        bucket, prefix, settings = _form().split(url)
        return cls(bucket, **_form().read({"prefix": prefix, **settings}))

    @classmethod
    def from_config(cls, config: Mapping[str, object]) -> GcsConfig:
        """Read ``{"type": "gs", "bucket": …}``, with the settings above by their names.

        Raises:
            StoreConfigError: a setting is unknown, missing or of the wrong type.
        """
        bucket, settings = _form().place_of(config)
        return cls(bucket, **_form().read(settings))


@cache
def _form() -> Form:
    return Form(
        scheme="gs",
        place="bucket",
        owner="Google Cloud Storage",
        example=_EXAMPLE,
        fields=fields(GcsConfig),
        instead="Name a key_file, or use a role",
    )
