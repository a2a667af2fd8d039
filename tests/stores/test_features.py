"""What the three services offer beside the contract: customer keys, tiers, locks, tokens, the ways to be let in."""

import base64
import hashlib
import json
from pathlib import Path

import boto3
import pytest

from flowli import CairnBackend, Engine, Site
from flowli.cairn.errors import StoreConfigError, StorePermission
from flowli.cairn.write import Won
from flowli.stores import open_store
from flowli.world import SYSTEM

from . import shop
from .conftest import Gate
from .emulators.answers import answer
from .emulators.azurite import sas_token
from .emulators.proxy import Answer, Asked, Forward
from .emulators.service import BUCKET, PATIENT

KEY = bytes(range(32))
DIGEST = {
    "s3": base64.b64encode(hashlib.md5(KEY, usedforsecurity=False).digest()).decode(),
    "az": base64.b64encode(hashlib.sha256(KEY).digest()).decode(),
    "gs": base64.b64encode(hashlib.sha256(KEY).digest()).decode(),
}


@pytest.fixture
def key_file(tmp_path: Path) -> Path:
    path = tmp_path / "key"
    path.write_bytes(base64.b64encode(KEY) + b"\n")
    return path


def headers(asked: Asked) -> dict[str, str]:
    return {name.lower(): value for name, value in asked.headers}


@pytest.mark.parametrize("service", ["s3", "gs"], indirect=True)
async def test_a_customer_key_travels_with_every_body(gate: Gate, key_file: Path):
    store = open_store(gate.url(customer_key_file=key_file))
    won = await store.put("a", b"one", if_absent=True)
    assert isinstance(won, Won)
    assert isinstance(await store.put("a", b"two", if_version=won.version), Won)
    await store.get("a")
    name = {"s3": "x-amz-server-side-encryption-customer", "gs": "x-goog-encryption"}[gate.service.scheme]
    sent = [headers(one) for one in gate.proxy.asked]
    assert [one[f"{name}-algorithm"] for one in sent] == ["AES256"] * 3
    digest = "key-md5" if gate.service.scheme == "s3" else "key-sha256"
    assert {one[f"{name}-{digest}"] for one in sent} == {DIGEST[gate.service.scheme]}
    await store.close()


@pytest.mark.parametrize("service", ["az"], indirect=True)
async def test_a_customer_key_is_never_sent_in_the_clear(gate: Gate, key_file: Path):
    store = open_store(gate.url(customer_key_file=key_file))
    with pytest.raises(StoreConfigError, match="in the clear"):
        await store.put("a", b"one", if_absent=True)
    assert gate.proxy.asked == []
    await store.close()


@pytest.mark.parametrize("service", ["s3", "gs"], indirect=True)
async def test_a_key_file_that_is_none_is_named_before_any_request(gate: Gate, tmp_path: Path):
    (tmp_path / "short").write_text("c2hvcnQ=")
    for path, sentence in ((tmp_path / "none", "No such file"), (tmp_path / "short", "holds no customer key")):
        store = open_store(gate.url(customer_key_file=path))
        with pytest.raises(StoreConfigError, match=sentence):
            await store.get("a")
        with pytest.raises(StoreConfigError, match=sentence):
            await store.put("a", b"one")
        await store.close()
    assert gate.proxy.asked == []


@pytest.mark.parametrize("service", ["az"], indirect=True)
async def test_a_tier_and_a_scope_travel_with_every_blob(gate: Gate):
    store = open_store(gate.url(access_tier="Cool", encryption_scope="flows"))
    await store.put("a", b"one", if_absent=True)
    sent = headers(gate.proxy.asked[-1])
    assert (sent["x-ms-access-tier"], sent["x-ms-encryption-scope"]) == ("Cool", "flows")
    await store.close()


@pytest.mark.parametrize("service", ["az"], indirect=True)
async def test_a_sas_token_that_ran_out_is_looked_for_again(gate: Gate, monkeypatch):
    monkeypatch.delenv("AZURE_STORAGE_KEY")
    monkeypatch.setenv("AZURE_STORAGE_SAS_TOKEN", f"{sas_token()}&old=1")

    def rule(asked: Asked, forward: Forward) -> Answer:
        return answer("az", "expired") if "old=1" in asked.query else forward(asked)

    store = open_store(gate.url())
    assert isinstance(await store.put("a", b"one"), Won)
    gate.proxy.rule = rule
    with pytest.raises(StorePermission, match="have expired"):
        await store.get("a")
    monkeypatch.setenv("AZURE_STORAGE_SAS_TOKEN", sas_token())
    assert (await store.get("a")).data == b"one"
    await store.close()


@pytest.mark.parametrize("service", ["az"], indirect=True)
async def test_a_connection_string_opens_a_container(service, monkeypatch):
    account, key = service.credentials["AZURE_STORAGE_ACCOUNT"], service.credentials["AZURE_STORAGE_KEY"]
    address = f"BlobEndpoint={service.origin}/{account};AccountName={account};AccountKey={key}"
    for name in ("AZURE_STORAGE_ACCOUNT", "AZURE_STORAGE_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", address)
    store = open_store(f"az://{BUCKET}/{SYSTEM.token()}?{PATIENT}")
    assert isinstance(await store.put("a", b"one", if_absent=True), Won)
    await store.close()


@pytest.mark.parametrize("service", ["gs"], indirect=True)
async def test_the_host_of_an_emulator_may_stand_in_the_environment(service, monkeypatch):
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", service.origin)
    store = open_store(f"gs://{BUCKET}/{SYSTEM.token()}?{PATIENT}")
    assert isinstance(await store.put("a", b"one", if_absent=True), Won)
    await store.close()


async def test_a_bucket_with_object_lock_works_and_keeps_every_version(services):
    service = services("s3")
    name = f"locked-{SYSTEM.token()}"
    client = boto3.client("s3", endpoint_url=service.origin, region_name="us-east-1")
    client.create_bucket(Bucket=name, ObjectLockEnabledForBucket=True)
    rule = {"DefaultRetention": {"Mode": "COMPLIANCE", "Days": 1}}
    client.put_object_lock_configuration(
        Bucket=name, ObjectLockConfiguration={"ObjectLockEnabled": "Enabled", "Rule": rule}
    )
    async with CairnBackend.open(service.url("").replace(BUCKET, name)) as backend:
        engine = Engine(backend.ports, Site.local("w"), registry=shop.registry)
        eid = await engine.start(shop.fulfil, "a", 2)
        await engine.worker().run_until_idle()
        assert await engine.result(eid, timeout=300) == ["a-1", "a-2"]
        await engine.close()
    there = client.list_object_versions(Bucket=name)
    assert len(there["DeleteMarkers"]) >= 1
    assert len(there["Versions"]) > len({one["Key"] for one in there["Versions"]})
    client.close()


async def test_a_held_object_is_an_error_of_its_own(gate: Gate):
    """Retention policies, legal holds and locks of the three services, in their own words."""
    told = {
        "s3": (403, "AccessDenied", "Access Denied because object protected by object lock."),
        "az": (409, "BlobImmutableDueToPolicy", "This operation is not permitted as the blob is immutable."),
        "gs": (403, "forbidden", "Object is subject to bucket's retention policy and cannot be deleted"),
    }
    status, code, text = told[gate.service.scheme]
    body = f"<Error><Code>{code}</Code><Message>{text}</Message></Error>".encode()
    kind: tuple[tuple[str, str], ...] = (("Content-Type", "application/xml"), ("x-ms-error-code", code))
    if gate.service.scheme == "gs":
        body = json.dumps({"error": {"code": status, "message": text, "errors": [{"reason": code}]}}).encode()
        kind = (("Content-Type", "application/json"),)
    gate.proxy.rule = lambda asked, forward: Answer(status, kind, body)
    store = open_store(gate.url())
    with pytest.raises(StorePermission) as caught:
        await store.delete("a")
    wanted = {"s3": "object lock", "az": "may not be changed", "gs": "retention"}
    assert wanted[gate.service.scheme] in str(caught.value)
    await store.close()
