"""Makes a client of the SDK. Requests are tried once: whoever asked knows better whether to ask again."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from os import environ
from typing import Any, Protocol

import google.auth
from google.auth.credentials import AnonymousCredentials, Credentials
from google.auth.transport.requests import AuthorizedSession
from google.cloud import storage  # type: ignore[import-untyped]
from google.oauth2.service_account import Credentials as KeyFile
from requests import Response
from requests.adapters import HTTPAdapter

from flowli.cairn.remote.clock import instant
from flowli_cairn_gcs.config import GcsConfig

__all__ = ["Blob", "Bucket", "GcsClient", "Headers", "Listing", "make_client"]

_SCOPES = ("https://www.googleapis.com/auth/devstorage.read_write",)


class Blob(Protocol):
    """What is used of an object of the SDK."""

    name: str
    generation: int | str | None
    time_created: datetime | None
    storage_class: str | None

    def download_as_bytes(self, **options: Any) -> bytes:
        """Read the body, and the generation with it."""

    def upload_from_string(self, data: bytes, **options: Any) -> None:
        """Write the body, and learn the generation."""

    def exists(self, **options: Any) -> bool:
        """Whether it is there now."""

    def delete(self, **options: Any) -> None:
        """Delete it."""


class SoftDelete(Protocol):
    """How long what was removed is kept."""

    retention_duration_seconds: int | None


class IamConfiguration(Protocol):
    """Who may be let in at all."""

    public_access_prevention: str | None


class Bucket(Protocol):
    """What is used of a bucket of the SDK. The settings are those of the last ``reload``."""

    versioning_enabled: bool | None
    retention_period: int | None
    default_event_based_hold: bool | None
    soft_delete_policy: SoftDelete
    iam_configuration: IamConfiguration
    lifecycle_rules: Iterable[Mapping[str, object]]

    def reload(self, **options: Any) -> None:
        """Read its settings."""

    def blob(self, name: str, **options: Any) -> Blob:
        """An object by its name; no request."""


class Listing(Protocol):
    """A listing of the SDK, page by page."""

    pages: Iterator[Iterator[Blob]]
    next_page_token: str | None


class Headers(threading.local):
    """The instants in the last answer to this thread, which the SDK does not hand out.

    Attributes:
        now: the clock of the service when it answered.
        written: when the object in the answer was written.
    """

    now: datetime | None = None
    written: datetime | None = None

    def note(self, answer: Response, *_: object, **__: object) -> None:
        """Remember those of an answer."""
        self.now = instant(answer.headers)
        self.written = instant(answer.headers, "Last-Modified")


@dataclass(frozen=True, slots=True)
class GcsClient:
    """One client with its connections, for many threads.

    Attributes:
        bucket: the bucket.
        headers: of the last answer to the calling thread.
    """

    bucket: Bucket
    headers: Headers
    _client: Any
    _session: Any

    def list_blobs(self, **options: Any) -> Listing:
        """A listing that has not begun."""
        listing: Listing = self._client.list_blobs(self.bucket, **options)
        return listing

    def close(self) -> None:
        """Let go of connections."""
        self._session.close()


def make_client(config: GcsConfig) -> GcsClient:
    """A client with credentials looked up anew.

    A request is sent again in one case only: the service answered 401, did nothing, and the token was renewed.
    """
    credentials, project = _credentials(config)
    session = AuthorizedSession(credentials)  # type: ignore[no-untyped-call]
    pool = HTTPAdapter(pool_connections=2, pool_maxsize=config.connections, max_retries=0)
    session.mount("https://", pool)
    session.mount("http://", pool)
    headers = Headers()
    session.hooks["response"].append(headers.note)
    client: Any = storage.Client(
        project=config.project or project or "none",
        credentials=credentials,
        client_options={"api_endpoint": config.endpoint_url} if config.endpoint_url else None,
        _http=session,
    )
    # Newer releases look up the bucket in threads of their own after each absent key, to label traces. Nobody here
    # reads those labels, and such a look-up costs as much as the read did.
    client._bucket_metadata_cache = None
    bucket: Bucket = client.bucket(config.bucket, user_project=config.user_project or None)
    return GcsClient(bucket, headers, client, session)


def _credentials(config: GcsConfig) -> tuple[Credentials, str | None]:
    address = config.endpoint_url or environ.get("STORAGE_EMULATOR_HOST", "")
    if address and not address.startswith("https://"):
        return AnonymousCredentials(), None  # type: ignore[no-untyped-call]
    if config.key_file:
        read: KeyFile = KeyFile.from_service_account_file(  # type: ignore[no-untyped-call]
            config.key_file, scopes=_SCOPES
        )
        return read, read.project_id
    found: tuple[Credentials, str | None] = google.auth.default(scopes=_SCOPES)
    return found
