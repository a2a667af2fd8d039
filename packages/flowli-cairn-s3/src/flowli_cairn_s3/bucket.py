"""What S3 tells of the settings of a bucket, in up to four requests, each with a right of its own."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

from flowli.cairn.remote.bucket import Harm, Look, Setting, covers
from flowli_cairn_s3.config import S3Config

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_s3.type_defs import LifecycleRuleOutputTypeDef

__all__ = ["looks"]

_UNREADABLE = frozenset({"GLACIER", "DEEP_ARCHIVE"})
_OFF = "Nothing is kept of what is replaced or removed."


def looks(config: S3Config) -> tuple[Look[S3Client], ...]:
    """The requests that tell the settings of a bucket."""
    return (
        Look(
            "versioning, lifecycle",
            "s3:GetBucketVersioning and s3:GetLifecycleConfiguration",
            partial(_versions_and_rules, config),
        ),
        Look("public access", "s3:GetBucketPolicyStatus", partial(_public, config)),
        Look("retention", "s3:GetBucketObjectLockConfiguration", partial(_lock, config)),
    )


def _versions_and_rules(config: S3Config, client: S3Client) -> Sequence[Setting]:
    versioned = client.get_bucket_versioning(Bucket=config.bucket).get("Status") == "Enabled"
    try:
        rules = client.get_bucket_lifecycle_configuration(Bucket=config.bucket).get("Rules", [])
    except ClientError as error:
        if not _says(error, "NoSuchLifecycleConfiguration"):
            raise
        rules = []
    ours = [one for one in rules if one.get("Status") == "Enabled" and _applies(one, config.prefix)]
    if not versioned:
        kept = Setting("versioning", f"It is off. {_OFF}")
    elif any("NoncurrentVersionExpiration" in one for one in ours):
        kept = Setting("versioning", "It is on, and a lifecycle rule removes noncurrent versions.")
    else:
        kept = Setting(
            "versioning",
            "It is on, and nothing removes noncurrent versions: every lease ever renewed is kept and paid for. "
            "Add a lifecycle rule that removes them after a day.",
            Harm.COSTS,
        )
    return (kept, *_judged(ours))


def _judged(rules: Sequence[LifecycleRuleOutputTypeDef]) -> list[Setting]:
    told: list[Setting] = []
    for rule in rules:
        named = f"The rule {rule.get('ID', 'without a name')!r}"
        if {"Days", "Date"} & set(rule.get("Expiration", {})):
            text = f"{named} deletes what flowli keeps. Limit it to other keys than those under wf/ and logs/."
            told.append(Setting("lifecycle", text, Harm.LOSES))
        elif any(one.get("StorageClass") in _UNREADABLE for one in rule.get("Transitions", [])):
            text = f"{named} archives what flowli must read. Limit it to other keys than those under wf/ and logs/."
            told.append(Setting("lifecycle", text, Harm.LOSES))
        elif rule.get("Transitions"):
            text = f"{named} moves objects to another storage class. Most live too short for that to save anything."
            told.append(Setting("lifecycle", text, Harm.COSTS))
    return told or [Setting("lifecycle", "No rule deletes or archives what flowli keeps.")]


def _applies(rule: LifecycleRuleOutputTypeDef, prefix: str) -> bool:
    limits = rule.get("Filter", {})
    both = limits.get("And", {})
    if "Tag" in limits or both.get("Tags"):
        return False  # flowli's objects have none
    return covers(rule.get("Prefix") or limits.get("Prefix") or both.get("Prefix") or "", prefix)


def _public(config: S3Config, client: S3Client) -> Sequence[Setting]:
    try:
        status = client.get_bucket_policy_status(Bucket=config.bucket).get("PolicyStatus", {})
    except ClientError as error:
        if not _says(error, "NoSuchBucketPolicy"):
            raise
        status = {}
    if status.get("IsPublic"):
        text = "Anybody may read the bucket: every input and result. Block public access."
        return [Setting("public access", text, Harm.COSTS)]
    return [Setting("public access", "No policy makes the bucket public.")]


def _lock(config: S3Config, client: S3Client) -> Sequence[Setting]:
    try:
        lock = client.get_object_lock_configuration(Bucket=config.bucket).get("ObjectLockConfiguration", {})
    except ClientError as error:
        if not _says(error, "ObjectLockConfigurationNotFoundError"):
            raise
        lock = {}
    if "DefaultRetention" in lock.get("Rule", {}):
        text = "Object Lock keeps every version for its retention, and there are many. Use a bucket without."
        return [Setting("retention", text, Harm.COSTS)]
    return [Setting("retention", "No version is kept from removal by default.")]


def _says(error: ClientError, code: str) -> bool:
    return error.response.get("Error", {}).get("Code") == code
