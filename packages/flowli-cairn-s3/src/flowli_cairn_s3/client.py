"""Makes a client of the SDK. Requests are tried once: whoever asked knows better whether to ask again."""

from __future__ import annotations

import base64
import hashlib
from typing import TYPE_CHECKING, Literal, cast

import boto3
from botocore.awsrequest import AWSRequest
from botocore.config import Config

from flowli_cairn_s3.config import S3Config

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

__all__ = ["make_client", "md5_of"]

_Addressing = Literal["auto", "path", "virtual"]


def make_client(config: S3Config) -> S3Client:
    """A client with a session of its own, so that credentials are looked up anew. It may be used by many threads.

    A request is sent again in one case only: S3 answered that the bucket is in another region, and did nothing.
    """
    session = boto3.session.Session(
        aws_access_key_id=config.access_key_id or None,
        aws_secret_access_key=config.secret_access_key or None,
        aws_session_token=config.session_token or None,
        region_name=config.region or None,
        profile_name=config.profile or None,
    )
    # Services other than Amazon's often know neither the newer checksums nor their trailers.
    checksums: Literal["when_supported", "when_required"] = "when_required" if config.endpoint_url else "when_supported"
    client: S3Client = session.client(
        "s3",
        endpoint_url=config.endpoint_url or None,
        config=Config(
            retries={"mode": "standard", "total_max_attempts": 1},
            max_pool_connections=config.connections,
            connect_timeout=config.connect_timeout_s,
            read_timeout=config.read_timeout_s,
            tcp_keepalive=True,
            request_checksum_calculation=checksums,
            response_checksum_validation=checksums,
            s3={"addressing_style": cast(_Addressing, config.addressing)},
        ),
    )
    client.meta.events.register("request-created.s3.PutObject", _drop_expect)
    if config.endpoint_url:
        client.meta.events.register("before-call.s3.DeleteObjects", _add_md5)
    return client


def _drop_expect(request: AWSRequest, **_: object) -> None:
    """Asking whether the body may be sent costs a round trip more; bodies are small here."""
    if "Expect" in request.headers:
        del request.headers["Expect"]


def _add_md5(params: dict[str, object], **_: object) -> None:
    """Older services want this header with a batch of deletes."""
    body, headers = params.get("body"), params.get("headers")
    if isinstance(body, bytes) and isinstance(headers, dict):
        headers["Content-MD5"] = md5_of(body)


def md5_of(body: bytes) -> str:
    """The digest of a body as its header tells it."""
    return base64.b64encode(hashlib.md5(body, usedforsecurity=False).digest()).decode()
