"""The requests themselves, each one blocking call of the SDK."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from google.api_core.exceptions import NotFound, PreconditionFailed

from flowli.cairn.remote.bucket import Look
from flowli.cairn.remote.clock import age_s
from flowli.cairn.remote.settings import customer_key
from flowli.cairn.store import Listed, Object, Page
from flowli.cairn.write import Gone, Lost, Won
from flowli_cairn_gcs.bucket import looks
from flowli_cairn_gcs.client import Blob, GcsClient
from flowli_cairn_gcs.config import GcsConfig

__all__ = ["PAGE", "Requests", "is_missing_bucket"]

PAGE = 1000
"""The most keys in one listing."""

_FIELDS = "items(name,generation,timeCreated),nextPageToken"


class Requests:
    """What is sent to one bucket. Errors of the SDK come out as they are.

    Args:
        config: of the bucket.
    """

    def __init__(self, config: GcsConfig) -> None:
        self._config = config
        self._prefix = config.prefix
        self._timeout = (config.connect_timeout_s, config.read_timeout_s)

    def get(self, client: GcsClient, key: str) -> Object | None:
        """Read a key; None if the service says that it is absent."""
        blob = self._blob(client, key)
        try:
            data = blob.download_as_bytes(raw_download=True, timeout=self._timeout, retry=None)
        except NotFound as error:
            if is_missing_bucket(error):
                raise
            return None
        return Object(data, str(blob.generation), age_s(client.headers.written, client.headers.now))

    def put(
        self, client: GcsClient, key: str, data: bytes, if_absent: bool, if_version: str | None
    ) -> Won | Lost | Gone:
        """Write a key. A condition that fails costs one request more if it named a version."""
        blob = self._blob(client, key)
        if self._config.storage_class:
            blob.storage_class = self._config.storage_class
        wanted = 0 if if_absent else None if if_version is None else _generation(if_version)
        try:
            blob.upload_from_string(
                data,
                content_type="application/octet-stream",
                if_generation_match=wanted,
                timeout=self._timeout,
                retry=None,
            )
        except PreconditionFailed:
            # the same answer for a key that has changed and for one that is gone
            return Lost() if if_absent or self._exists(client, key) else Gone()
        return Won(str(blob.generation))

    def delete(self, client: GcsClient, key: str, if_version: str | None) -> Won | Lost | Gone:
        """Delete a key."""
        wanted = None if if_version is None else _generation(if_version)
        try:
            self._blob(client, key).delete(if_generation_match=wanted, timeout=self._timeout, retry=None)
        except NotFound as error:
            if is_missing_bucket(error):
                raise
            return Won() if if_version is None else Gone()
        except PreconditionFailed:
            return Lost() if self._exists(client, key) else Gone()
        return Won()

    def delete_many(self, client: GcsClient, keys: Sequence[str]) -> None:
        """Delete keys, each in a request of its own."""
        for key in keys:
            self.delete(client, key, None)

    def list(self, client: GcsClient, prefix: str, after: str | None, size: int) -> Page:
        """One page of keys with their versions and ages."""
        # No key lies between "x" and "x ", which is the least that follows it: the offset includes what it names.
        start = None if after is None else f"{self._prefix}{after} "
        token: str | None = None
        cut = len(self._prefix)
        while True:
            listing = client.list_blobs(
                prefix=self._prefix + prefix,
                start_offset=start,
                page_size=size,
                page_token=token,
                fields=_FIELDS,
                timeout=self._timeout,
                retry=None,
            )
            blobs = list(next(listing.pages, iter(())))
            token = listing.next_page_token
            now = client.headers.now
            if blobs or token is None:  # the service may give an empty page in the middle of a listing
                items = (Listed(one.name[cut:], str(one.generation), age_s(one.time_created, now)) for one in blobs)
                return Page(tuple(items), token is not None)

    def looks(self) -> tuple[Look[GcsClient], ...]:
        """The requests that tell the settings of the bucket."""
        return looks(self._config)

    def _blob(self, client: GcsClient, key: str) -> Blob:
        kms = self._config.kms_key_name or None
        return client.bucket.blob(self._prefix + key, kms_key_name=kms, encryption_key=self._customer_key)

    @cached_property
    def _customer_key(self) -> bytes | None:
        return customer_key(self._config.customer_key_file) if self._config.customer_key_file else None

    def _exists(self, client: GcsClient, key: str) -> bool:
        return self._blob(client, key).exists(timeout=self._timeout, retry=None)


def is_missing_bucket(error: NotFound) -> bool:
    """Whether it is the bucket that is not found, and not an object in it."""
    return "bucket does not exist" in str(error)


def _generation(version: str) -> int:
    # Versions of another store are no generations. 1 was never given to any object, so that the condition fails.
    return int(version) if version.isdecimal() else 1
