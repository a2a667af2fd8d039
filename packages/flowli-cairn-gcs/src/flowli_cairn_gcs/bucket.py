"""What Google tells of the settings of a bucket, in one request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from flowli.cairn.remote.bucket import Harm, Look, Setting, covers
from flowli_cairn_gcs.client import GcsClient
from flowli_cairn_gcs.config import GcsConfig

__all__ = ["looks"]

_NONCURRENT = ("daysSinceNoncurrentTime", "noncurrentTimeBefore", "numNewerVersions", "numberOfNewerVersions")


def looks(config: GcsConfig) -> tuple[Look[GcsClient], ...]:
    """The request that tells the settings of a bucket."""
    names = "versioning, lifecycle, public access, retention, soft delete"
    return (Look(names, "storage.buckets.get", partial(_told, config)),)


def _told(config: GcsConfig, client: GcsClient) -> Sequence[Setting]:
    bucket = client.bucket
    bucket.reload(timeout=(config.connect_timeout_s, config.read_timeout_s), retry=None)
    rules = [one for one in bucket.lifecycle_rules if _applies(one, config.prefix)]
    return (
        _versions(bool(bucket.versioning_enabled), rules),
        *_judged(rules),
        _public(bucket.iam_configuration.public_access_prevention),
        _retention(bucket.retention_period, bool(bucket.default_event_based_hold)),
        _soft_delete(bucket.soft_delete_policy.retention_duration_seconds),
    )


def _versions(on: bool, rules: Sequence[Mapping[str, object]]) -> Setting:
    if not on:
        return Setting("versioning", "It is off. Nothing is kept of what is replaced or removed.")
    if any(_deletes(one) and not _live(one) for one in rules):
        return Setting("versioning", "It is on, and a lifecycle rule removes noncurrent objects.")
    return Setting(
        "versioning",
        "It is on, and nothing removes noncurrent objects: every lease ever renewed is kept and paid for. "
        "Add a lifecycle rule that removes them after a day.",
        Harm.COSTS,
    )


def _judged(rules: Sequence[Mapping[str, object]]) -> list[Setting]:
    told: list[Setting] = []
    for rule in rules:
        if not _live(rule):
            continue
        if _deletes(rule):
            text = "A rule deletes what flowli keeps. Limit it to other keys than those under wf/ and logs/."
            told.append(Setting("lifecycle", text, Harm.LOSES))
        elif _part(rule, "action").get("type") == "SetStorageClass":
            text = "A rule moves objects to another storage class. Most live too short for that to save anything."
            told.append(Setting("lifecycle", text, Harm.COSTS))
    return told or [Setting("lifecycle", "No rule deletes what flowli keeps.")]


def _public(prevention: str | None) -> Setting:
    if prevention == "enforced":
        return Setting("public access", "It is prevented.")
    text = "Public access is not prevented by the bucket itself. Whether anybody has it stands in its IAM policy."
    return Setting("public access", text)


def _retention(seconds: int | None, held: bool) -> Setting:
    if seconds or held:
        text = "Leases and tasks are replaced and removed all the time, which a retention policy or a hold forbids."
        return Setting("retention", f"{text} Use a bucket without.", Harm.LOSES)
    return Setting("retention", "No object is kept from removal by default.")


def _soft_delete(seconds: int | None) -> Setting:
    if seconds:
        text = f"What was replaced or removed is kept and paid for {seconds / 86_400:g} days longer. Switch it off."
        return Setting("soft delete", text, Harm.COSTS)
    return Setting("soft delete", "It is off.")


def _applies(rule: Mapping[str, object], prefix: str) -> bool:
    prefixes = _part(rule, "condition").get("matchesPrefix")
    return not isinstance(prefixes, list) or any(covers(str(one), prefix) for one in prefixes)


def _deletes(rule: Mapping[str, object]) -> bool:
    return _part(rule, "action").get("type") == "Delete"


def _live(rule: Mapping[str, object]) -> bool:
    """Whether a rule is for objects that were not replaced, too."""
    condition = _part(rule, "condition")
    return condition.get("isLive") is not False and not any(condition.get(name) for name in _NONCURRENT)


def _part(rule: Mapping[str, object], name: str) -> Mapping[str, object]:
    part = rule.get(name)
    return part if isinstance(part, Mapping) else {}
