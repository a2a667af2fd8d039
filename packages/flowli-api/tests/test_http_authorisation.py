"""Every route against every capability: what is said of a route is what holds."""

import re

import pytest

from flowli_api.app import _ROUTERS
from flowli_api.auth.capabilities import CAPABILITIES
from flowli_api.routes import system
from flowli_api.routing import ANYONE, KNOWN, ApiRoute, ApiRouter

from .conftest import identity, token_of

ALL = sorted(one.replace("{queue}", "agents") for one in CAPABILITIES)
PATHS = {
    "eid": "00000000-0000-7000-8000-000000000000",
    "queue": "agents",
    "name": "ask",
    "scope": "repo",
    "name:path": "x.1.1/log",
}
REFUSED = {401, 403}


def routes(app):
    """Method, path and requirement of every operation of the document."""
    paths = app.openapi()["paths"]
    found = [
        (method.upper(), path, operation.get("x-flowli-requires", ANYONE))
        for path, operations in paths.items()
        for method, operation in operations.items()
    ]
    assert len(found) > 50
    return found


def address(path):
    return re.sub(r"\{([^}]+)\}", lambda found: PATHS.get(found[1], "x"), path)


@pytest.fixture
async def everyone(open_shop):
    """A service with a caller for each capability."""
    return await open_shop(people={one: identity(one, one) for one in ALL})


async def test_every_route_is_open_to_exactly_those_who_hold_what_it_requires(everyone):
    wrong = []
    clients = {one: everyone.client(one) for one in [*ALL, "nobody"]}
    for method, path, needed in routes(everyone.app):
        for one, client in clients.items():
            opened = needed in (ANYONE, KNOWN) or one in (needed.replace("{queue}", "agents"), "admin")
            if opened and path == "/v1/events":
                continue  # a stream does not end; its own tests open it
            status = (await client.request(method, address(path))).status_code
            if (status == 403) is opened or status >= 500:
                wrong.append((method, path, one, status))
    assert wrong == []


async def test_no_route_but_the_public_ones_is_open_without_a_token(shop):
    public = set()
    for method, path, _ in routes(shop.app):
        for name in (None, "stranger"):
            async with shop.client(name) as client:
                answer = await client.request(method, address(path))
            if answer.status_code != 401:
                public.add(path)
            else:
                assert answer.headers["www-authenticate"].startswith("Bearer")
    assert public == {"/v1/config", "/health", "/ready"}


async def test_the_document_tells_of_every_route_what_it_requires(shop):
    told = {(method, path): needed for method, path, needed in routes(shop.app)}
    for module, prefix in [*((one.router, "/v1") for one in _ROUTERS), (system.probes, "")]:
        for route in module.routes:
            assert isinstance(route, ApiRoute)
            for method in route.methods:
                assert told[method, prefix + route.path_format] == route.requires


def test_a_route_that_says_nothing_is_refused():
    with pytest.raises(TypeError, match="does not say what it requires"):

        @ApiRouter().get("/open")
        async def forgotten() -> None: ...


@pytest.mark.parametrize(
    ("action", "needed"),
    [("cancel", "executions:cancel"), ("pause", "executions:operate"), ("retry", "executions:operate")],
)
async def test_a_bulk_action_needs_what_the_action_needs(open_shop, action, needed):
    people = {one: identity(one, one) for one in ("executions:cancel", "executions:operate")}
    shop = await open_shop(people=people)
    for one in people:
        async with shop.client(one) as client:
            answer = await client.post("/v1/bulk", json={"action": action, "eids": [PATHS["eid"]]})
        assert (answer.status_code == 200) is (one == needed)


async def test_a_caller_of_some_workflows_does_not_see_the_others(shop):
    mine, theirs = await shop.started("ask"), await shop.started("fail", "s")
    async with shop.client("asker") as client:
        assert [row["eid"] for row in (await client.get("/v1/executions")).json()["items"]] == [mine]
        assert (await client.get("/v1/executions/counts")).json()["counts"]["suspended"] == 1
        assert {one["name"] for one in (await client.get("/v1/workflows")).json()["items"]} == {"ask"}
        assert (await client.get(f"/v1/executions/{mine}")).status_code == 200
        for path in ("", "/journal", "/frames", "/tree", "/timeline", "/graph", "/explain", "/children", "/acts"):
            assert (await client.get(f"/v1/executions/{theirs}{path}")).json()["code"] == "unknown_execution"
        for path in ("/archive", "/evidence", "/logs", "/result", "/published/x", "/events", "/frames/events"):
            assert (await client.get(f"/v1/executions/{theirs}{path}")).json()["code"] == "unknown_execution"
        for verb in ("cancel", "terminate", "pause", "resume", "retry", "replay", "erase"):
            answer = await client.post(f"/v1/executions/{theirs}/{verb}", json={})
            assert answer.json()["code"] == "unknown_execution"
        assert (await client.post("/v1/executions", json={"workflow": "fail", "args": ["x"]})).status_code == 404
        assert (await client.post("/v1/broadcasts", json={"channel": "c"})).json()["code"] == "forbidden"
        await shop.engine.start("fail", "s")
        await shop.engine.start("ask", "?")
        tasks = (await client.get("/v1/queues/default/tasks")).json()["items"]
        assert [task["payload"]["workflow"] for task in tasks] == ["ask"]
        assert sum((await client.get("/v1/stats")).json()["counts"].values()) == 2


async def test_every_id_of_a_batch_is_authorised_on_its_own(shop):
    mine, theirs = await shop.started("ask"), await shop.started("ask", "theirs")
    other = await shop.started("delegating", "x")
    body = {"action": "cancel", "eids": [mine, other, theirs], "dry_run": False}
    async with shop.client("asker") as client:
        items = (await client.post("/v1/bulk", json=body)).json()["items"]
        filtered = (await client.post("/v1/bulk", json={"action": "cancel", "filter": {}})).json()["items"]
    assert [item["outcome"] for item in items] == ["done", "refused", "done"]
    assert {item["eid"] for item in filtered} == {mine, theirs}
    await shop.work()
    async with shop.client() as client:
        assert (await client.get(f"/v1/executions/{other}")).json()["status"] == "suspended"


async def test_values_are_for_those_who_may_read_them(shop, http):
    await http.post("/v1/executions", json={"workflow": "fail", "version": "1", "args": ["the-secret"]})
    eid = (await http.post("/v1/executions", json={"workflow": "ask", "args": ["the-secret"]})).json()["eid"]
    await shop.work()
    await http.post(f"/v1/executions/{eid}/signals", json={"channel": "answer", "payload": "the-secret"})
    await shop.work()
    async with shop.client("reader") as client:
        for row in (await client.get("/v1/executions")).json()["items"]:
            for path in ("", "/journal", "/frames", "/tree", "/timeline", "/graph", "/explain"):
                answer = await client.get(f"/v1/executions/{row['eid']}{path}")
                assert answer.status_code == 200
                assert "the-secret" not in answer.text, path
                assert "Traceback" not in answer.text, path
        assert (await client.get(f"/v1/executions/{eid}")).json()["values_hidden"] is True
        assert (await client.get(f"/v1/executions/{eid}/result")).status_code == 403
    assert "the-secret" in (await http.get(f"/v1/executions/{eid}/journal")).text


async def test_a_token_that_expires_is_no_token(open_shop):
    from dataclasses import replace

    from flowli import Timestamp

    late = replace(identity("late", "admin"), expires_at=Timestamp(1))
    shop = await open_shop(people={"late": late})
    async with shop.client("late") as client:
        assert (await client.get("/v1/me")).json()["code"] == "unauthenticated"


async def test_schemes_and_odd_headers_are_refused(shop):
    token = token_of("root")
    async with shop.client(None) as client:
        for header in (
            token,
            f"Basic {token}",
            "Bearer",
            "Bearer ",
            f"Bearer {token}x",
            f"Bearer {token} x",
            "Bearer \xff",
        ):
            answer = await client.get("/v1/me", headers={"authorization": header.encode("latin-1")})
            assert answer.status_code == 401, header
        assert (await client.get("/v1/me", headers={"authorization": f"bearer  {token}"})).status_code == 200
