"""The requests themselves, each one blocking call of the SDK."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from botocore.exceptions import ClientError

from flowli.cairn.remote.bucket import Look
from flowli.cairn.remote.clock import age_s, instant
from flowli.cairn.remote.settings import customer_key
from flowli.cairn.store import Listed, Object, Page
from flowli.cairn.write import Won
from flowli_cairn_s3.bucket import looks
from flowli_cairn_s3.client import md5_of
from flowli_cairn_s3.config import S3Config

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_s3.literals import ServerSideEncryptionType, StorageClassType
    from mypy_boto3_s3.type_defs import (
        DeleteObjectRequestTypeDef,
        DeleteObjectsRequestTypeDef,
        GetObjectRequestTypeDef,
        ListObjectsV2RequestTypeDef,
        PutObjectRequestTypeDef,
    )

__all__ = ["PAGE", "Requests"]

PAGE = 1000
"""The most keys in one listing and in one batch of deletes."""


class Requests:
    """What is sent to one bucket. Errors of the SDK come out as they are.

    Args:
        config: of the bucket.
    """

    def __init__(self, config: S3Config) -> None:
        self._config = config
        self._bucket = config.bucket
        self._prefix = config.prefix

    @cached_property
    def _customer_key(self) -> bytes:
        return customer_key(self._config.customer_key_file)

    def get(self, client: S3Client, key: str) -> Object | None:
        """Read a key; None if S3 says that it is absent."""
        request: GetObjectRequestTypeDef = {"Bucket": self._bucket, "Key": self._prefix + key}
        if self._config.request_payer:
            request["RequestPayer"] = "requester"
        if self._config.customer_key_file:
            request["SSECustomerAlgorithm"] = "AES256"
            request["SSECustomerKey"] = self._customer_key
        try:
            answer = client.get_object(**request)
        except ClientError as error:
            if error.response.get("Error", {}).get("Code") == "NoSuchKey":
                return None
            raise
        with answer["Body"] as body:
            data = body.read()
        return Object(data, _version(answer["ETag"]), age_s(answer["LastModified"], _now(answer)))

    def put(self, client: S3Client, key: str, data: bytes, if_absent: bool, if_version: str | None) -> Won:
        """Write a key."""
        config = self._config
        request: PutObjectRequestTypeDef = {"Bucket": self._bucket, "Key": self._prefix + key, "Body": data}
        if config.endpoint_url:
            request["ContentMD5"] = md5_of(data)  # no newer checksum is sent there, and a bucket with a lock wants one
        if if_absent:
            request["IfNoneMatch"] = "*"
        if if_version is not None:
            request["IfMatch"] = _etag(if_version)
        if config.sse:
            request["ServerSideEncryption"] = cast("ServerSideEncryptionType", config.sse)
        if config.sse == "aws:kms":
            request["BucketKeyEnabled"] = True  # one request to KMS serves many objects
        if config.kms_key_id:
            request["SSEKMSKeyId"] = config.kms_key_id
        if config.customer_key_file:
            request["SSECustomerAlgorithm"] = "AES256"
            request["SSECustomerKey"] = self._customer_key
        if config.storage_class:
            request["StorageClass"] = cast("StorageClassType", config.storage_class)
        if config.request_payer:
            request["RequestPayer"] = "requester"
        return Won(_version(client.put_object(**request)["ETag"]))

    def delete(self, client: S3Client, key: str, if_version: str | None) -> Won:
        """Delete a key; S3 does not tell whether it was there unless there is a condition."""
        request: DeleteObjectRequestTypeDef = {"Bucket": self._bucket, "Key": self._prefix + key}
        if if_version is not None:
            request["IfMatch"] = _etag(if_version)
        if self._config.request_payer:
            request["RequestPayer"] = "requester"
        client.delete_object(**request)
        return Won()

    def delete_many(self, client: S3Client, keys: Sequence[str]) -> None:
        """Delete at most ``PAGE`` keys.

        Raises:
            ClientError: for the first key that was refused, though the answer as a whole was good.
        """
        request: DeleteObjectsRequestTypeDef = {
            "Bucket": self._bucket,
            "Delete": {"Objects": [{"Key": self._prefix + key} for key in keys], "Quiet": True},
        }
        if self._config.request_payer:
            request["RequestPayer"] = "requester"
        answer = client.delete_objects(**request)
        for refused in answer.get("Errors", ()):
            code = refused.get("Code", "")
            answered: Any = {
                "Error": {"Code": code, "Message": refused.get("Message", "")},
                "ResponseMetadata": {"HTTPStatusCode": 403 if code == "AccessDenied" else 503},
            }
            raise ClientError(answered, "DeleteObjects")

    def list(self, client: S3Client, prefix: str, after: str | None, size: int) -> Page:
        """One page of keys with their versions and ages."""
        request: ListObjectsV2RequestTypeDef = {
            "Bucket": self._bucket,
            "Prefix": self._prefix + prefix,
            "MaxKeys": size,
        }
        if after is not None:
            request["StartAfter"] = self._prefix + after
        if self._config.request_payer:
            request["RequestPayer"] = "requester"
        answer = client.list_objects_v2(**request)
        now, cut = _now(answer), len(self._prefix)
        items = tuple(
            Listed(one.get("Key", "")[cut:], _version(one.get("ETag", "")), age_s(one.get("LastModified"), now))
            for one in answer.get("Contents", ())
        )
        return Page(items, answer["IsTruncated"])

    def looks(self) -> tuple[Look[S3Client], ...]:
        """The requests that tell the settings of the bucket."""
        return looks(self._config)


def _now(answer: Mapping[str, object]) -> datetime | None:
    metadata = answer["ResponseMetadata"]
    return instant(metadata.get("HTTPHeaders", {}), "date") if isinstance(metadata, dict) else None


def _version(etag: str) -> str:
    # some services leave the quotes out in listings
    return etag.strip('"')


def _etag(version: str) -> str:
    return f'"{version}"'
