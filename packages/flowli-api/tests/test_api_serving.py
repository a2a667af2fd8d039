"""Serving: over a socket, for one person, by command."""

import httpx
import pytest
from click.testing import CliRunner

from flowli import Engine, MemoryBackend, Site
from flowli.cairn.observe import ObservedRequest, RequestCounts, RequestOutcome
from flowli.domain.errors import UsageError
from flowli_api.auth.keys import ApiKeyAuthenticator
from flowli_api.cli.serve import api
from flowli_api.local import LocalHttp
from flowli_api.serving import Listen

from .conftest import registry
from .served import PATIENCE_S


@pytest.fixture
async def engine():
    async with Engine(MemoryBackend().ports, Site.local("local"), registry=registry) as made:
        yield made


async def test_one_person_is_served_while_the_block_runs(engine):
    async with LocalHttp(engine).serve() as address:
        url, _, token = address.partition("/#token=")
        assert url.startswith("http://127.0.0.1:")
        async with httpx.AsyncClient(base_url=url, timeout=PATIENCE_S) as client:
            assert (await client.get("/v1/me")).status_code == 401
            headers = {"authorization": f"Bearer {token}"}
            assert (await client.get("/v1/me", headers=headers)).json()["capabilities"] == ["admin"]
            assert "server" not in (await client.get("/health")).headers
    async with httpx.AsyncClient(base_url=url, timeout=PATIENCE_S) as client:
        with pytest.raises(httpx.ConnectError):
            await client.get("/health")


async def test_what_the_process_asks_of_the_bucket_is_shown_with_its_price(engine):
    counts = RequestCounts()
    for verb, outcome in (("put", "done"), ("put", "lost"), ("list", "done"), ("get", "absent"), ("delete", "done")):
        counts(ObservedRequest(verb, "a/key", RequestOutcome(outcome), 0.5, sent_bytes=10))
    for storage, dollars in (("s3://bucket/prefix", 0.0000154), ("file:./bucket", None)):
        async with LocalHttp(engine).serve(0, counts, storage) as address:
            url, _, token = address.partition("/#token=")
            async with httpx.AsyncClient(
                base_url=url, headers={"authorization": f"Bearer {token}"}, timeout=PATIENCE_S
            ) as client:
                bill = (await client.get("/v1/stats")).json()["bill"]
                text = (await client.get("/metrics")).text
        assert bill["dollars"] == (None if dollars is None else pytest.approx(dollars, abs=1e-6))
        assert [(one["verb"], one["outcome"], one["requests"]) for one in bill["requests"]] == [
            ("delete", "done", 1),
            ("get", "absent", 1),
            ("list", "done", 1),
            ("put", "done", 1),
            ("put", "lost", 1),
        ]
        assert 'flowli_api_storage_requests_total{verb="put",outcome="lost"} 1' in text
        assert "bucket" not in str(bill)
    async with LocalHttp(engine).serve() as address:
        url, _, token = address.partition("/#token=")
        async with httpx.AsyncClient(
            base_url=url, headers={"authorization": f"Bearer {token}"}, timeout=PATIENCE_S
        ) as client:
            assert (await client.get("/v1/stats")).json()["bill"] is None


async def test_the_engine_offers_it_under_its_name(engine):
    assert isinstance(engine.http, LocalHttp)


async def test_a_port_that_is_taken_is_one_sentence(engine):
    async with LocalHttp(engine).serve() as address:
        port = int(address.partition("/#")[0].rpartition(":")[2])
        with pytest.raises(UsageError, match=f"127.0.0.1:{port} cannot be listened on"):
            async with LocalHttp(engine).serve(port):
                pass


def test_tls_needs_both_files():
    with pytest.raises(UsageError, match="give both files"):
        Listen(certificate="cert.pem")


async def test_the_command_prints_a_key_once_and_a_row_that_knows_it():
    import tomllib

    done = CliRunner().invoke(api, ["new-key", "ci", "--capability", "executions:start", "--workflow", "ask"])
    assert done.exit_code == 0, done.output
    key = next(line for line in done.stderr.splitlines() if line.startswith("key: ")).removeprefix("key: ")
    identity = await ApiKeyAuthenticator.from_settings(tomllib.loads(done.stdout)).authenticate(key)
    assert (identity.subject, identity.workflows) == ("ci", {"ask"})
    refused = CliRunner().invoke(api, ["new-key", "ci", "--capability", "executions:begin"])
    assert "executions:begin" in str(refused.exception)
