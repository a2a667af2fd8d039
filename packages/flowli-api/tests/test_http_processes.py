"""Several processes on one bucket, shutting down, logs. K42, K43, K45."""

import asyncio
import json
import sys

import httpx
import pytest
import structlog

from flowli import CairnBackend, Engine, MemoryBackend, Site, WorkflowProjection
from flowli_api.app import create_app
from flowli_api.auth.static import StaticAuthenticator
from flowli_api.config import ApiConfig

from .conftest import PEOPLE, registry, token_of
from .served import PATIENCE_S, bucket_in, serving


async def test_what_one_process_writes_another_reads_by_its_sequence_k45(open_shop):
    """K45: read your own writes at any process; lists, cursors and ETags go on there."""
    backend = MemoryBackend()
    slow = ApiConfig(rate_per_s=None, fresh_s=3600.0)
    here, there = await open_shop(slow, backend), await open_shop(slow, backend)
    async with here.client() as writer, there.client() as reader:
        assert (await reader.get("/v1/executions")).json()["items"] == []
        started = (await writer.post("/v1/executions", json={"workflow": "ask", "args": ["?"]})).json()
        assert (await reader.get("/v1/executions")).json()["items"] == []  # this process may be behind by an hour
        after = {"flowli-after": str(started["control_seq"])}
        rows = (await reader.get("/v1/executions", headers=after)).json()["items"]
        assert [row["eid"] for row in rows] == [started["eid"]]
        second = (await writer.post("/v1/executions", json={"workflow": "ask", "args": ["?"]})).json()
        page = await writer.get("/v1/executions?limit=1", headers={"flowli-after": str(second["control_seq"])})
        cursor = page.json()["next_cursor"]
        rest = await reader.get(f"/v1/executions?limit=1&cursor={cursor}", headers=after)
        assert [row["eid"] for row in rest.json()["items"]] == [started["eid"]]
        one = await writer.get(f"/v1/executions/{started['eid']}/journal")
        same = await reader.get(
            f"/v1/executions/{started['eid']}/journal", headers={"if-none-match": one.headers["etag"]}
        )
        assert (same.status_code, same.content) == (304, b"")


async def test_a_sequence_that_nobody_has_written_is_told_after_a_while(open_shop):
    shop = await open_shop(ApiConfig(rate_per_s=None, max_wait_s=0.01))
    async with shop.client() as client:
        answer = await client.get("/v1/executions", headers={"flowli-after": "12345"})
        assert (answer.status_code, answer.json()["code"], answer.headers["retry-after"]) == (409, "behind", "1")
        for wrong in ("-1", "x", "1.5", "9" * 30):
            assert (await client.get("/v1/executions", headers={"flowli-after": wrong})).status_code == 422


async def test_an_etag_changes_with_the_content_only(shop, http):
    eid = await shop.started()
    first = await http.get(f"/v1/executions/{eid}")
    for known in (first.headers["etag"], f"W/{first.headers['etag']}", f'"x", {first.headers["etag"]}', "*"):
        assert (await http.get(f"/v1/executions/{eid}", headers={"if-none-match": known})).status_code == 304
    await http.post(f"/v1/executions/{eid}/pause", json={})
    await shop.work()
    changed = await http.get(f"/v1/executions/{eid}", headers={"if-none-match": first.headers["etag"]})
    assert changed.status_code == 200
    assert changed.headers["etag"] != first.headers["etag"]


@pytest.mark.parametrize("verb", ["cancel", "pause", "terminate"])
async def test_the_same_write_with_the_same_key_is_done_once(shop, http, verb):
    eid = await shop.started()
    key = {"idempotency-key": "once"}
    for _ in range(3):
        assert (await http.post(f"/v1/executions/{eid}/{verb}", json={"reason": "r"}, headers=key)).is_success or verb
    other = await http.post(f"/v1/executions/{eid}/{verb}", json={"reason": "another"}, headers=key)
    assert (other.status_code, other.json()["code"]) in ((409, "conflict"), (409, "not_allowed"))


async def test_keys_make_starts_and_messages_once_only_and_two_callers_never_share_one(open_shop):
    from .conftest import identity

    shop = await open_shop(people={"second": identity("second", "admin")})
    body, key = {"workflow": "ask", "args": ["?"]}, {"idempotency-key": "k"}
    async with shop.client() as mine, shop.client("second") as theirs:
        eids = [(await mine.post("/v1/executions", json=body, headers=key)).json()["eid"] for _ in range(2)]
        assert len(set(eids)) == 1
        assert (await theirs.post("/v1/executions", json=body, headers=key)).json()["eid"] != eids[0]
        other = await mine.post("/v1/executions", json={**body, "args": ["!"]}, headers=key)
        assert other.json()["code"] == "conflict"
        await shop.work()
        path = f"/v1/executions/{eids[0]}/signals"
        sent = [(await mine.post(path, json={"channel": "c", "payload": 1}, headers=key)).json() for _ in range(2)]
        assert [one["message_seq"] for one in sent] == [1, 1]
        assert (await mine.post(path, json={"channel": "c", "payload": 2}, headers=key)).json()["code"] == "conflict"
        assert (await theirs.post(path, json={"channel": "c", "payload": 2}, headers=key)).json()["message_seq"] == 2


async def test_every_write_leaves_an_entry_with_its_actor(shop, http):
    eid = await shop.started()
    for path, body in (
        ("signals", {"channel": "c"}),
        ("updates", {"name": "u", "timeout_s": 0.01}),
        ("pause", {}),
        ("resume", {}),
        ("migrate", {"version": "1"}),
        ("cancel", {}),
        ("terminate", {}),
        ("replay", {}),
        ("erase", {}),
    ):
        answer = await http.post(f"/v1/executions/{eid}/{path}", json=body)
        assert answer.is_success, (path, answer.text)
    acts = (await http.get(f"/v1/executions/{eid}/acts")).json()["items"]
    verbs = ["signal", "update", "pause", "resume", "migrate", "cancel", "terminate", "replay", "erase"]
    assert [act["verb"] for act in acts] == verbs
    assert {act["by"]["id"] for act in acts} == {"root"}


async def test_lines_of_a_request_carry_its_id_and_nothing_stays_bound_k43(shop, capsys):
    """K43: HTTP request ids in logs, none of another request's."""
    import flowli.log

    flowli.log.configure(json=True, stream=sys.stdout)
    eids = [await shop.started() for _ in range(2)]

    async def pause(eid, name):
        async with shop.client() as client:
            return await client.post(f"/v1/executions/{eid}/pause", json={}, headers={"x-request-id": name})

    await asyncio.gather(pause(eids[0], "request-a"), pause(eids[1], "request-b"))
    structlog.get_logger("after").info("unbound")
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines() if line.startswith("{")]
    writes = {line["eid"]: line["request_id"] for line in lines if line["event"] == "write"}
    assert writes == {eids[0]: "request-a", eids[1]: "request-b"}
    assert "request_id" not in next(line for line in lines if line["event"] == "unbound")


async def test_an_id_that_could_forge_a_line_is_not_taken_over(http):
    for wrong in ("short", "with space and\ttab", "x" * 100, "a;b;c;d;e;f"):
        assert (await http.get("/health", headers={"x-request-id": wrong})).headers["x-request-id"] != wrong
    assert (await http.get("/health", headers={"x-request-id": "trace-0123"})).headers["x-request-id"] == "trace-0123"


async def test_a_projection_file_is_kept_by_whoever_gave_it(tmp_path):
    async with (
        CairnBackend.open("memory:") as backend,
        Engine(backend.ports, Site.local("api"), registry=registry) as engine,
    ):
        projection = WorkflowProjection(str(tmp_path / "lists.db"), backend.ports.control)
        known = StaticAuthenticator({token_of("root"): PEOPLE["root"]})
        app = create_app(engine, projection=projection, authenticator=known)
        headers = {"authorization": f"Bearer {token_of('root')}"}
        async with httpx.AsyncClient(
            transport=httpx.ASGITransport(app), base_url="http://x", headers=headers
        ) as client:
            eid = (await client.post("/v1/executions", json={"workflow": "ask", "args": ["?"]})).json()["eid"]
            assert (await client.get("/v1/executions")).json()["items"][0]["eid"] == eid
        await app.state.service.close()
        assert (await projection.executions()).rows
        await projection.close()


async def test_a_process_with_open_streams_ends_when_it_is_told_to_k42(tmp_path):
    """K42: three event streams and a long poll do not hold it; its exit code is 0."""
    async with asyncio.timeout(PATIENCE_S), serving(tmp_path, bucket_in(tmp_path)) as service:
        http, sent = service.http, asyncio.Event()

        async def trace(event, info):
            if event.endswith("send_request_body.complete"):
                sent.set()

        polling = asyncio.ensure_future(
            http.post("/v1/queues/agents/dequeue", json={"wait_s": 25}, extensions={"trace": trace})
        )
        begun = [asyncio.Event() for _ in range(3)]
        streams = [asyncio.ensure_future(read(http, one)) for one in begun]
        for one in (*begun, sent):
            await one.wait()
        assert (await http.get("/ready")).status_code == 200  # whatever was sent before has been taken up by now
        assert await service.end() == 0
        assert (await polling).json() == {"items": []}
        assert all("retry: " in text for text in await asyncio.gather(*streams))


async def read(client, begun):
    text = ""
    async with client.stream("GET", "/v1/events") as answer:
        async for piece in answer.aiter_text():
            text += piece
            if "place" in text:
                begun.set()
    return text
