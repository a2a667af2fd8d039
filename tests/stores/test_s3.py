"""What only S3 does: regions, delete markers, headers of encryption and payment, credentials that run out."""

import boto3
import pytest

from flowli.cairn.errors import StoreConfigError, StorePermission
from flowli.cairn.write import Gone, Won
from flowli.stores import open_store
from flowli.world import SYSTEM

from .emulators.answers import answer
from .emulators.proxy import Answer, Asked, Forward
from .emulators.service import BUCKET


def signed_for(asked: Asked) -> list[str]:
    """Access key, day, region and so on from the signature."""
    header = dict(asked.headers)["Authorization"]
    return header.partition("Credential=")[2].partition(",")[0].split("/")


def elsewhere(region: str):
    """The answers of a bucket in another region than that of the request."""
    body = b"<Error><Code>PermanentRedirect</Code><Message>Elsewhere</Message></Error>"

    def rule(asked: Asked, forward: Forward) -> Answer:
        if signed_for(asked)[2] == region:
            return forward(asked)
        return Answer(301, (("Content-Type", "application/xml"), ("x-amz-bucket-region", region)), body)

    return rule


async def test_a_bucket_in_another_region_is_found_by_redirection(s3_gate):
    s3_gate.proxy.rule = elsewhere("eu-west-1")
    store = open_store(s3_gate.url())
    assert isinstance(await store.put("a", b"one", if_absent=True), Won)
    sent = len(s3_gate.proxy.asked)
    assert (await store.get("a")).data == b"one"
    assert len(s3_gate.proxy.asked) == sent + 1, "the region is remembered"
    await store.close()


async def test_a_redirection_that_leads_nowhere_is_a_setting_to_correct(s3_gate):
    s3_gate.proxy.rule = lambda asked, forward: elsewhere("nowhere-1")(asked, lambda _: Answer(301))
    store = open_store(s3_gate.url())
    with pytest.raises(StoreConfigError, match="not in the region asked"):
        await store.get("a")
    await store.close()


async def test_credentials_that_ran_out_are_looked_for_again(s3_gate, monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "old")

    def rule(asked: Asked, forward: Forward) -> Answer:
        return answer("s3", "expired") if signed_for(asked)[0] == "old" else forward(asked)

    store = open_store(s3_gate.url())
    await store.put("a", b"one")
    s3_gate.proxy.rule = rule
    with pytest.raises(StorePermission, match="have expired"):
        await store.get("a")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "new")
    assert (await store.get("a")).data == b"one"
    await store.close()


async def test_a_bucket_with_versions_takes_a_delete_marker_for_an_absent_key(services):
    service = services("s3")
    name = f"versioned-{SYSTEM.token()}"
    client = boto3.client("s3", endpoint_url=service.origin, region_name="us-east-1")
    client.create_bucket(Bucket=name)
    client.put_bucket_versioning(Bucket=name, VersioningConfiguration={"Status": "Enabled"})
    client.close()
    store = open_store(service.url("").replace(BUCKET, name))
    version = (await store.put("a", b"one")).version
    assert isinstance(await store.delete("a", if_version=version), Won)
    assert await store.get("a") is None
    assert (await store.list("")).items == ()
    assert isinstance(await store.put("a", b"two", if_version=version), Gone)
    assert isinstance(await store.put("a", b"three", if_absent=True), Won)
    await store.close()


async def test_settings_travel_with_every_write(s3_gate):
    store = open_store(
        s3_gate.url(sse="aws:kms", kms_key_id="alias/flows", storage_class="STANDARD_IA", request_payer="true")
    )
    assert isinstance(await store.put("a", b"one", if_absent=True), Won)
    headers = {name.lower(): value for name, value in s3_gate.proxy.asked[-1].headers}
    assert headers["x-amz-server-side-encryption"] == "aws:kms"
    assert headers["x-amz-server-side-encryption-aws-kms-key-id"] == "alias/flows"
    assert headers["x-amz-storage-class"] == "STANDARD_IA"
    assert headers["x-amz-request-payer"] == "requester"
    assert "expect" not in headers
    await store.get("a")
    await store.list("")
    await store.delete_many(["a"])
    asked = [{name.lower(): value for name, value in one.headers} for one in s3_gate.proxy.asked]
    assert [one["x-amz-request-payer"] for one in asked] == ["requester"] * 4
    assert "content-md5" in asked[-1]
    await store.close()


async def test_without_conditional_delete_the_store_says_so(s3_gate):
    store = open_store(s3_gate.url(conditional_delete="false"))
    assert not store.capabilities.conditional_delete
    await store.close()
