"""The control plane: what people do with executions."""

import pytest

ZERO = "00000000-0000-7000-8000-000000000000"


async def test_an_execution_is_started_answered_and_read(shop, http):
    started = await http.post("/v1/executions", json={"workflow": "ask", "kwargs": {"question": "why?"}, "key": "Q-1"})
    assert started.status_code == 201
    eid, seq = started.json()["eid"], started.json()["control_seq"]
    assert started.headers["location"] == f"/v1/executions/{eid}"
    assert started.headers["flowli-control-seq"] == str(seq)
    await shop.work()
    sent = await http.post(f"/v1/executions/{eid}/signals", json={"channel": "answer", "payload": "because"})
    assert sent.json()["message_seq"] == 1
    await shop.work()
    result = await http.get(f"/v1/executions/{eid}/result", params={"wait_s": 30})
    assert result.json()["value"] == "why? because"
    read = (await http.get(f"/v1/executions/{eid}")).json()
    assert (read["status"], read["key"], read["created_by"]["id"]) == ("completed", "Q-1", "root")
    assert read["args"] == {"args": ["why?"], "kwargs": {}}
    assert read["value"] == "why? because"


async def test_the_actor_is_the_caller_of_the_token_and_one_in_a_body_is_refused(shop, http):
    body = {"workflow": "ask", "args": ["?"], "actor": {"kind": "human", "id": "somebody-else"}}
    refused = await http.post("/v1/executions", json=body)
    assert (refused.status_code, refused.json()["code"]) == (422, "invalid")
    eid = await shop.started()
    assert (await http.post(f"/v1/executions/{eid}/pause", json={"actor": "x"})).status_code == 422
    await http.post(f"/v1/executions/{eid}/pause", json={"reason": "wait"})
    acts = (await http.get(f"/v1/executions/{eid}/acts")).json()["items"]
    assert [(act["verb"], act["by"]["id"], act["reason"]) for act in acts] == [("pause", "root", "wait")]


@pytest.mark.parametrize(
    ("path", "field"),
    [
        ("journal", "entries"),
        ("frames", "frames"),
        ("tree", "frames"),
        ("timeline", "moments"),
        ("graph", "nodes"),
        ("explain", "actions"),
    ],
)
async def test_every_view_of_an_execution_shows_something(shop, http, path, field):
    eid = await shop.started()
    found = await http.get(f"/v1/executions/{eid}/{path}")
    assert found.status_code == 200
    assert found.json()[field]


async def test_a_failed_execution_is_retried_replayed_and_forked(shop, http):
    eid = (await http.post("/v1/executions", json={"workflow": "fail", "version": "1", "args": ["s"]})).json()["eid"]
    await shop.work()
    assert (await http.get(f"/v1/executions/{eid}/result")).json()["error"]["type"] == "flowli.domain.errors.StepFailed"
    for verb, body in (("retry", {}), ("replay", {"version": "2"}), ("fork", {"from_fid": "root/broken#1"})):
        made = await http.post(f"/v1/executions/{eid}/{verb}", json=body)
        assert made.status_code == 201, made.text
        origin = (await http.get(f"/v1/executions/{made.json()['eid']}")).json()["origin"]
        assert (origin["verb"], origin["eid"]) == (verb, eid)


async def test_an_execution_is_paused_resumed_cancelled_and_terminated(shop, http):
    eid, other = await shop.started(), await shop.started()
    for verb, status in (("pause", "suspended"), ("resume", "suspended"), ("cancel", "cancelled")):
        assert (await http.post(f"/v1/executions/{eid}/{verb}", json={"reason": verb})).status_code == 202
        await shop.work()
        assert (await http.get(f"/v1/executions/{eid}")).json()["status"] == status
    assert (await http.post(f"/v1/executions/{other}/terminate", json={})).status_code == 200
    assert (await http.get(f"/v1/executions/{other}")).json()["status"] == "cancelled"
    again = await http.post(f"/v1/executions/{other}/pause", json={})
    assert (again.status_code, again.json()["code"]) == (409, "not_allowed")


async def test_lists_filter_page_and_go_on_by_cursor(shop, http):
    eids = [await shop.started() for _ in range(3)]
    first = (await http.get("/v1/executions", params={"limit": 2, "workflow": "ask"})).json()
    rest = await http.get("/v1/executions", params={"limit": 2, "workflow": "ask", "cursor": first["next_cursor"]})
    assert [row["eid"] for row in first["items"] + rest.json()["items"]] == eids[::-1]
    assert rest.json()["next_cursor"] is None
    other = await http.get("/v1/executions", params={"workflow": "fail", "cursor": first["next_cursor"]})
    assert (other.status_code, other.json()["code"]) == (404, "unknown_cursor")
    assert (await http.get("/v1/executions", params={"status": "failed"})).json()["items"] == []
    assert (await http.get("/v1/executions/counts")).json()["counts"]["suspended"] == 3


async def test_the_catalog_tells_the_schema_of_arguments(http):
    found = {one["version"]: one for one in (await http.get("/v1/workflows/ask")).json()["items"]}
    schema = found["1"]["arguments"]
    assert schema["properties"]["question"]["type"] == "string"
    assert schema["required"] == ["question"]
    assert schema["properties"]["patience_s"]["default"] == 3600.0
    assert (await http.get("/v1/workflows/asq")).json()["code"] == "unknown_workflow"


async def test_queues_are_paused_limited_and_listed(shop, http):
    assert (await http.post("/v1/queues/default/pause", json={"reason": "maintenance"})).status_code == 200
    await http.put("/v1/queues/default/limits", json={"concurrency": 3})
    await http.post("/v1/executions", json={"workflow": "ask", "args": ["?"]})
    queue = (await http.get("/v1/queues/default")).json()
    assert (queue["settings"]["paused"], queue["settings"]["concurrency"], queue["tasks"]) == ("maintenance", 3, 1)
    assert [one["kind"] for one in (await http.get("/v1/queues/default/tasks")).json()["items"]] == ["START"]
    await http.post("/v1/queues/default/resume", json={})
    assert (await http.get("/v1/queues/default")).json()["settings"]["paused"] is None
    assert (await http.post("/v1/queues/default/pause", json={"reason": ""})).status_code == 422


async def test_bulk_actions_are_tried_dry_first(shop, http):
    eids = [await shop.started() for _ in range(2)]
    dry = (await http.post("/v1/bulk", json={"action": "cancel", "filter": {"workflow": "ask"}})).json()
    assert {item["outcome"] for item in dry["items"]} == {"would"}
    await shop.work()
    assert (await http.get(f"/v1/executions/{eids[0]}")).json()["status"] == "suspended"
    done = await http.post("/v1/bulk", json={"action": "cancel", "eids": [*eids, ZERO], "dry_run": False})
    assert [item["outcome"] for item in done.json()["items"]] == ["done", "done", "refused"]
    await shop.work()
    again = await http.post("/v1/bulk", json={"action": "cancel", "eids": eids, "dry_run": False})
    assert [item["outcome"] for item in again.json()["items"]] == ["skipped", "skipped"]


async def test_unknown_things_are_404_with_a_problem(http):
    for path in (f"executions/{ZERO}", f"executions/{ZERO}/journal", f"executions/{ZERO}/explain", "nothing"):
        found = await http.get(f"/v1/{path}")
        assert found.status_code == 404
        assert found.headers["content-type"] == "application/problem+json"
        assert found.json()["request_id"] == found.headers["x-request-id"]


async def test_probes_answer(http):
    assert (await http.get("/health")).json()["status"] == "ok"
    assert (await http.get("/ready")).json()["status"] == "ready"
    assert 'flowli_executions{status="running"} 0' in (await http.get("/metrics")).text
