"""What the doctor says of the settings of a bucket: as each service tells them, and where they may not be read."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace

import boto3
import pytest

from flowli.cairn.observe import ObservedRequest, observed
from flowli.cairn.remote.bucket import Describable, Harm, Setting, covers
from flowli.cli.doctor.bucket import bucket
from flowli.cli.doctor.check import Level, Patient, Wishes
from flowli.cli.doctor.render import is_go
from flowli.stores import open_store
from flowli.world import SYSTEM

from .conftest import Gate
from .emulators.answers import always, answer, for_some
from .emulators.proxy import Answer, Asked, Forward
from .emulators.service import BUCKET


async def told(url: str) -> dict[str, list[Setting]]:
    """The settings by their names."""
    store = open_store(url)
    assert isinstance(store, Describable)
    found: dict[str, list[Setting]] = {}
    for one in await store.settings():
        found.setdefault(one.name, []).append(one)
    await store.close()
    return found


def harms(found: dict[str, list[Setting]]) -> dict[str, list[Harm]]:
    return {name: [one.harm for one in some] for name, some in found.items()}


@pytest.mark.parametrize(
    ("rule", "prefix", "hit"),
    [
        ("", "", True),
        ("wf/", "", True),
        ("wf/evidence/", "", True),
        ("logs/wf.exec.", "", True),
        ("reports/", "", False),
        ("wf/probe/", "", False),
        ("flows/", "flows/", True),
        ("flows/wf/dispatch/", "flows/", True),
        ("fl", "flows/", True),
        ("wf/", "flows/", False),
        ("other/", "flows/", False),
        ("flows/wf/probe/", "flows/", False),
    ],
)
def test_a_rule_touches_an_installation_where_their_keys_meet(rule: str, prefix: str, hit: bool):
    assert covers(rule, prefix) is hit


@pytest.fixture
def new_bucket(services) -> Iterator[tuple[object, str, str]]:
    """A bucket of its own on S3: client, name and URL."""
    service = services("s3")
    name = f"set-{SYSTEM.token()}"
    client = boto3.client("s3", endpoint_url=service.origin, region_name="us-east-1")
    client.create_bucket(Bucket=name, ObjectLockEnabledForBucket=True)
    client.put_bucket_versioning(Bucket=name, VersioningConfiguration={"Status": "Suspended"})
    yield client, name, service.url("flows").replace(BUCKET, name)
    client.close()


def rule(prefix: str, **what: object) -> dict[str, object]:
    return {"ID": "clean", "Status": "Enabled", "Filter": {"Prefix": prefix}, **what}


async def test_s3_tells_of_versions_that_nothing_removes(new_bucket):
    client, name, url = new_bucket
    assert harms(await told(url)) == {
        "versioning": [Harm.NONE],
        "lifecycle": [Harm.NONE],
        "public access": [Harm.NONE],
        "retention": [Harm.NONE],
    }
    client.put_bucket_versioning(Bucket=name, VersioningConfiguration={"Status": "Enabled"})
    assert harms(await told(url))["versioning"] == [Harm.COSTS]
    rules = [
        rule("", NoncurrentVersionExpiration={"NoncurrentDays": 1}, Expiration={"ExpiredObjectDeleteMarker": True})
    ]
    client.put_bucket_lifecycle_configuration(Bucket=name, LifecycleConfiguration={"Rules": rules})
    assert harms(await told(url))["versioning"] == [Harm.NONE]
    assert harms(await told(url))["lifecycle"] == [Harm.NONE]


@pytest.mark.parametrize(
    ("what", "harm"),
    [
        (rule("flows/", Expiration={"Days": 30}), Harm.LOSES),
        (rule("other/", Expiration={"Days": 30}), Harm.NONE),
        (rule("", Expiration={"Days": 30}) | {"Status": "Disabled"}, Harm.NONE),
        (rule("", Transitions=[{"Days": 30, "StorageClass": "GLACIER"}]), Harm.LOSES),
        (rule("", Transitions=[{"Days": 30, "StorageClass": "STANDARD_IA"}]), Harm.COSTS),
        (rule("", Expiration={"Days": 1}) | {"Filter": {"Tag": {"Key": "old", "Value": "yes"}}}, Harm.NONE),
    ],
    ids=["ours", "others", "disabled", "archive", "class", "tagged"],
)
async def test_s3_tells_of_rules_that_take_objects_away(new_bucket, what, harm):
    client, name, url = new_bucket
    client.put_bucket_lifecycle_configuration(Bucket=name, LifecycleConfiguration={"Rules": [what]})
    found = await told(url)
    assert harms(found)["lifecycle"] == [harm]
    assert ("'clean'" in found["lifecycle"][0].text) is (harm is not Harm.NONE)


async def test_s3_tells_of_retention(new_bucket):
    client, name, url = new_bucket
    client.put_bucket_versioning(Bucket=name, VersioningConfiguration={"Status": "Enabled"})
    lock = {"ObjectLockEnabled": "Enabled", "Rule": {"DefaultRetention": {"Mode": "GOVERNANCE", "Days": 1}}}
    client.put_object_lock_configuration(Bucket=name, ObjectLockConfiguration=lock)
    assert harms(await told(url))["retention"] == [Harm.COSTS]


async def test_s3_tells_of_a_public_bucket(s3_gate: Gate):
    body = b"<PolicyStatus><IsPublic>true</IsPublic></PolicyStatus>"
    public = always(Answer(200, (("Content-Type", "application/xml"),), body))
    s3_gate.proxy.rule = for_some(lambda asked: "policyStatus" in asked.query, public)
    assert harms(await told(s3_gate.url()))["public access"] == [Harm.COSTS]


GOOGLE_GOOD = {
    "lifecycle": {"rule": [{"action": {"type": "Delete"}, "condition": {"daysSinceNoncurrentTime": 1}}]},
    "versioning": {"enabled": True},
    "iamConfiguration": {"publicAccessPrevention": "enforced"},
}
GOOGLE_BAD = {
    "lifecycle": {
        "rule": [
            {"action": {"type": "Delete"}, "condition": {"age": 30, "matchesPrefix": ["other/"]}},
            {"action": {"type": "Delete"}, "condition": {"age": 30}},
            {"action": {"type": "SetStorageClass", "storageClass": "ARCHIVE"}, "condition": {"age": 30}},
        ]
    },
    "versioning": {"enabled": True},
    "retentionPolicy": {"retentionPeriod": "86400"},
    "softDeletePolicy": {"retentionDurationSeconds": "604800"},
}


@pytest.mark.parametrize("service", ["gs"], indirect=True)
@pytest.mark.parametrize(
    ("settings", "wanted"),
    [
        ({}, {}),
        (GOOGLE_GOOD, {}),
        (
            GOOGLE_BAD,
            {
                "versioning": [Harm.COSTS],
                "lifecycle": [Harm.LOSES, Harm.COSTS],
                "retention": [Harm.LOSES],
                "soft delete": [Harm.COSTS],
            },
        ),
        ({"defaultEventBasedHold": True}, {"retention": [Harm.LOSES]}),
    ],
    ids=["none", "good", "bad", "hold"],
)
async def test_google_tells_all_in_one_request(gate: Gate, settings, wanted):
    body = json.dumps({"name": BUCKET, **settings}).encode()
    gate.proxy.rule = always(Answer(200, (("Content-Type", "application/json"),), body))
    names = ("versioning", "lifecycle", "public access", "retention", "soft delete")
    assert harms(await told(gate.url())) == {name: [Harm.NONE] for name in names} | wanted
    assert len(gate.proxy.asked) == 1


def with_headers(**more: str) -> Callable[[Asked, Forward], Answer]:
    """The answer about a container, with more headers; and an account that keeps for a week what was deleted."""
    added = tuple((f"x-ms-{name.replace('_', '-')}", value) for name, value in more.items())

    def change(asked: Asked, forward: Forward) -> Answer:
        if "restype=service" in asked.query:
            kept = "<DeleteRetentionPolicy><Enabled>true</Enabled><Days>7</Days></DeleteRetentionPolicy>"
            body = f"<StorageServiceProperties>{kept}</StorageServiceProperties>".encode()
            return Answer(200, (("Content-Type", "application/xml"),), body)
        done = forward(asked)
        names = {name for name, _ in added}
        return replace(done, headers=(*(one for one in done.headers if one[0].lower() not in names), *added))

    return change


@pytest.mark.parametrize("service", ["az"], indirect=True)
async def test_azure_tells_of_the_container_and_of_the_account(gate: Gate):
    found = await told(gate.url())
    assert harms(found) == {
        "public access": [Harm.NONE],
        "retention": [Harm.NONE],
        "soft delete": [Harm.NONE],
        "versioning, lifecycle": [Harm.UNKNOWN],
    }
    assert "Only the management API" in found["versioning, lifecycle"][0].text
    gate.proxy.rule = with_headers(blob_public_access="container", has_immutability_policy="true")
    found = await told(gate.url())
    assert harms(found)["public access"] == [Harm.COSTS]
    assert harms(found)["retention"] == [Harm.LOSES]
    assert "7 days longer" in found["soft delete"][0].text


def of_settings(asked: Asked) -> bool:
    """Whether a request asks for settings and not for objects."""
    names = ("versioning", "lifecycle", "policyStatus", "object-lock", "restype=service")
    of_container = "restype=container" in asked.query and "comp=" not in asked.query
    return any(one in asked.query for one in names) or of_container or asked.path.endswith(f"/b/{BUCKET}")


@pytest.mark.parametrize("kind", ["denied", "fault"])
async def test_what_may_not_be_read_is_told_and_is_no_fault(gate: Gate, kind: str):
    gate.proxy.rule = for_some(of_settings, always(answer(gate.service.scheme, kind)))
    requests: list[ObservedRequest] = []
    store = observed(open_store(gate.url()), requests.append)
    found = await bucket(Patient(store, SYSTEM, Wishes(), requests))
    await store.close()
    assert is_go(found)
    assert {one.level for one in found} == {Level.NOT_TRIED}
    text = " ".join(one.text for one in found)
    rights = {
        "s3": "s3:GetBucketVersioning and s3:GetLifecycleConfiguration",
        "az": "Microsoft.Storage/storageAccounts/blobServices/read",
        "gs": "storage.buckets.get",
    }
    assert (f"grant {rights[gate.service.scheme]}" in text) is (kind == "denied")
    assert {name for one in found for name in str(one.data["setting"]).split(", ")} >= {"versioning", "lifecycle"}


async def test_a_rule_that_takes_objects_away_is_a_no_go(new_bucket):
    client, name, url = new_bucket
    rules = {"Rules": [rule("flows/logs/", Expiration={"Days": 30})]}
    client.put_bucket_lifecycle_configuration(Bucket=name, LifecycleConfiguration=rules)
    requests: list[ObservedRequest] = []
    store = observed(open_store(url), requests.append)
    found = await bucket(Patient(store, SYSTEM, Wishes(), requests))
    await store.close()
    assert not is_go(found)
