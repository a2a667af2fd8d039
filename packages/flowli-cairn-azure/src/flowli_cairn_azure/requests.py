"""The requests themselves, each one blocking call of the SDK."""

from __future__ import annotations

import hashlib
from base64 import b64encode
from collections.abc import Sequence
from datetime import datetime
from functools import cached_property
from typing import Any, cast

from azure.core import MatchConditions
from azure.core.exceptions import HttpResponseError, ResourceExistsError, ResourceModifiedError, ResourceNotFoundError
from azure.core.paging import PageIterator
from azure.core.pipeline import PipelineResponse
from azure.storage.blob import BlobProperties, CustomerProvidedEncryptionKey, StandardBlobTier

from flowli.cairn.remote.bucket import Look
from flowli.cairn.remote.clock import age_s, instant
from flowli.cairn.remote.settings import customer_key
from flowli.cairn.store import Listed, Object, Page
from flowli.cairn.write import Gone, Lost, Won
from flowli_cairn_azure.bucket import looks
from flowli_cairn_azure.client import AzureClient
from flowli_cairn_azure.config import AzureConfig

__all__ = ["BATCH", "PAGE", "Requests"]

PAGE = 1000
"""The most keys in one listing; the service would give 5,000."""

BATCH = 256
"""The most keys in one batch of deletes."""

_ABSENT = "BlobNotFound"


class Requests:
    """What is sent to one container. Errors of the SDK come out as they are.

    Args:
        config: of the container.
    """

    def __init__(self, config: AzureConfig) -> None:
        self._config = config
        self._prefix = config.prefix
        self._new: dict[str, Any] = {}
        if config.encryption_scope:
            self._new["encryption_scope"] = config.encryption_scope
        if config.access_tier:
            self._new["standard_blob_tier"] = StandardBlobTier(config.access_tier)

    @cached_property
    def _customer_key(self) -> dict[str, Any]:
        if not self._config.customer_key_file:
            return {}
        key = customer_key(self._config.customer_key_file)
        digest = b64encode(hashlib.sha256(key).digest()).decode()
        return {"cpk": CustomerProvidedEncryptionKey(key_value=b64encode(key).decode(), key_hash=digest)}

    def get(self, client: AzureClient, key: str) -> Object | None:
        """Read a key; None if the service says that it is absent."""
        clock = _Clock()
        blob = client.container.get_blob_client(self._prefix + key)
        try:
            reader = blob.download_blob(raw_response_hook=clock.note, **self._customer_key)
            data = reader.readall()
        except ResourceNotFoundError as error:
            if _code(error) == _ABSENT:
                return None
            raise
        found = reader.properties
        return Object(data, _version(found.etag), age_s(found.last_modified, clock.now))

    def put(
        self, client: AzureClient, key: str, data: bytes, if_absent: bool, if_version: str | None
    ) -> Won | Lost | Gone:
        """Write a key. A condition that fails costs one request more if it named a version."""
        blob = client.container.get_blob_client(self._prefix + key)
        options: dict[str, Any] = {**self._new, **self._customer_key, **_condition(if_version)}
        try:
            done = blob.upload_blob(data, length=len(data), overwrite=not if_absent, **options)
        except ResourceExistsError as error:
            if if_absent and _code(error) == "BlobAlreadyExists":
                return Lost()
            raise
        except ResourceModifiedError as error:
            if _code(error) not in ("ConditionNotMet", "TargetConditionNotMet"):
                raise
            # the same answer for a blob that has changed and for one that is gone
            return Lost() if if_absent or blob.exists(**self._customer_key) else Gone()
        return Won(_version(done["etag"]))

    def delete(self, client: AzureClient, key: str, if_version: str | None) -> Won | Lost | Gone:
        """Delete a key."""
        blob = client.container.get_blob_client(self._prefix + key)
        try:
            blob.delete_blob(**_condition(if_version))
        except ResourceNotFoundError as error:
            if _code(error) != _ABSENT:
                raise
            return Won() if if_version is None else Gone()
        except ResourceModifiedError as error:
            if _code(error) != "ConditionNotMet":
                raise
            return Lost() if blob.exists(**self._customer_key) else Gone()
        return Won()

    def delete_many(self, client: AzureClient, keys: Sequence[str]) -> None:
        """Delete at most ``BATCH`` keys.

        Raises:
            HttpResponseError: for the first key that was refused, though the answer as a whole was good.
        """
        names = [self._prefix + key for key in keys]
        for answer in client.container.delete_blobs(*names, raise_on_any_failure=False):
            if answer.status_code not in (200, 202, 404):
                raise HttpResponseError(f"a delete in a batch was answered with {answer.status_code}", answer)

    def list(self, client: AzureClient, prefix: str, after: str | None, size: int) -> Page:
        """One page of keys with their versions and ages."""
        clock = _Clock()
        # No key lies between "x" and "x ", which is the least that follows it: the offset includes what it names.
        listing = client.container.list_blobs(
            name_starts_with=self._prefix + prefix,
            results_per_page=size,
            start_from=None if after is None else f"{self._prefix}{after} ",
            raw_response_hook=clock.note,
        )
        pages = cast("PageIterator[BlobProperties]", listing.by_page())
        cut = len(self._prefix)
        items: tuple[Listed, ...] = ()
        # The service may give an empty page in the middle of a listing, and one too old for the offset begins before.
        for page in pages:
            found = [(blob.name[cut:], blob) for blob in page]
            items = tuple(
                Listed(key, _version(blob.etag), age_s(blob.last_modified, clock.now))
                for key, blob in found
                if after is None or key > after
            )
            if items:
                break
        return Page(items, bool(pages.continuation_token))

    def looks(self) -> tuple[Look[AzureClient], ...]:
        """The requests that tell the settings of the bucket."""
        return looks(self._config)


class _Clock:
    """The clock of the service when it answered: two of its own instants make an age that no skew can falsify."""

    now: datetime | None = None

    def note(self, answer: PipelineResponse[Any, Any]) -> None:
        self.now = instant(answer.http_response.headers)


def _code(error: HttpResponseError) -> str:
    code = getattr(error, "error_code", None)
    return str(getattr(code, "value", code) or "")


def _condition(version: str | None) -> dict[str, Any]:
    if version is None:
        return {}
    return {"etag": f'"{version}"', "match_condition": MatchConditions.IfNotModified}


def _version(etag: str) -> str:
    # quoted in headers, bare in listings
    return etag.strip('"')
