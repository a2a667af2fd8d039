"""Schedules over HTTP: defined, looked at, changed, run and removed; who may not is refused."""

import httpx
import pytest

from flowli import Context, Engine, MemoryBackend, Registry, Site
from flowli_api.app import create_app
from flowli_api.auth.identity import Identity
from flowli_api.auth.static import StaticAuthenticator
from flowli_api.config import ApiConfig

registry = Registry()
NIGHTLY = {
    "id": "nightly",
    "workflow": "tidy",
    "when": {"kind": "cron", "expression": "0 2 * * *", "zone": "Europe/Berlin"},
    "kwargs": {"room": "hall"},
    "overlap": "queue",
}
BEFORE = "0001-01-01T00:00:00+14:00"


@registry.workflow
async def tidy(ctx: Context, room: str) -> str:
    return room


class Desk:
    def __init__(self) -> None:
        self.engine = Engine(MemoryBackend().ports, Site.local("api"), registry=registry)
        grants = {"ann": ["executions:read", "schedules:manage"], "bob": ["executions:read"], "far": ["admin"]}
        people = {
            name: Identity(
                name, capabilities=frozenset(granted), workflows=frozenset({"other"}) if name == "far" else None
            )
            for name, granted in grants.items()
        }
        authenticator = StaticAuthenticator({f"the-token-of-{name}-xxxxxxxx": one for name, one in people.items()})
        limits = ApiConfig(rate_per_s=None, fresh_s=0.0)
        self.app = create_app(self.engine, authenticator=authenticator, config=limits)

    async def ask(self, method: str, path: str, body: object = None, *, who: str = "ann") -> httpx.Response:
        transport = httpx.ASGITransport(self.app, raise_app_exceptions=False)
        headers = {"authorization": f"Bearer the-token-of-{who}-xxxxxxxx"}
        async with httpx.AsyncClient(transport=transport, base_url="http://flowli.test", headers=headers) as client:
            return await client.request(method, f"/v1/schedules{path}", json=body)


@pytest.fixture
async def desk():
    desk = Desk()
    yield desk
    await desk.app.state.service.close()
    await desk.engine.close()


async def test_a_schedule_is_defined_changed_and_removed(desk):
    made = await desk.ask("POST", "", NIGHTLY)
    assert made.status_code == 201
    assert (made.json()["overlap"], made.json()["catch_up"], made.json()["next"][0][14:16]) == ("queue", "last", "00")
    assert (await desk.ask("GET", "")).json()["items"][0]["id"] == "nightly"
    assert len((await desk.ask("GET", "/nightly?slots=3")).json()["next"]) == 3
    changed = await desk.ask("PATCH", "/nightly", {"when": {"kind": "every", "seconds": 60.0}, "catch_up": "all"})
    assert (changed.json()["when"]["seconds"], changed.json()["catch_up"]) == (60, "all")
    assert changed.json()["kwargs"] == {"room": "hall"}
    await desk.ask("PATCH", "/nightly", {"when": {"kind": "every", "seconds": 3.2e9}})
    assert 0 < len((await desk.ask("GET", "/nightly?slots=1000")).json()["next"]) < 100
    more = {"queue": "nights", "priority": 3.0, "timeout_s": 60, "not_after": "2999-01-01T00:00:00+01:00", "args": []}
    full = (await desk.ask("PATCH", "/nightly", more)).json()
    assert (full["queue"], full["priority"], full["not_after"][:10]) == ("nights", 3, "2998-12-31")
    less = (await desk.ask("PATCH", "/nightly", {"queue": None, "not_after": None, "overlap": None})).json()
    assert (less["queue"], less["not_after"], less["priority"], less["overlap"]) == (None, None, 3, "queue")
    paused = (await desk.ask("POST", "/nightly/pause", {"reason": "moving"})).json()
    assert (paused["paused"], paused["next"]) == (True, [])
    assert (await desk.ask("POST", "/nightly/resume", {})).json()["paused"] is False
    assert (await desk.ask("DELETE", "/nightly")).status_code == 204
    assert (await desk.ask("GET", "/nightly")).status_code == 404


async def test_executions_are_started_by_hand_by_ticks_and_for_the_past(desk):
    await desk.ask("POST", "", NIGHTLY)
    first, again = [(await desk.ask("POST", "/nightly/run", {"key": "k"})).json()["eid"] for _ in range(2)]
    assert first == again
    tick = await desk.ask("POST", "/nightly/tick", {"slot": "2026-03-28T02:00:00+01:00"})
    past = {"start": "2026-03-28T00:00:00Z", "end": "2026-03-29T12:00:00Z"}
    dry = await desk.ask("POST", "/nightly/backfill", {**past, "dry_run": True})
    assert [one["eid"] for one in dry.json()["items"]] == [None, None]
    filled = await desk.ask("POST", "/nightly/backfill", past)
    assert filled.json()["items"][0] == {"slot": "2026-03-28T01:00:00.000000Z", "eid": tick.json()["eid"]}


@pytest.mark.parametrize(
    ("who", "method", "path", "body", "status", "told"),
    [
        ("bob", "POST", "", NIGHTLY, 403, "schedules:manage"),
        ("far", "POST", "", {**NIGHTLY, "id": "mine"}, 403, "tidy"),
        ("far", "POST", "/nightly/run", {}, 404, "no schedule"),
        ("ann", "POST", "", NIGHTLY, 409, "already"),
        ("ann", "POST", "", {**NIGHTLY, "id": "x", "when": {"kind": "moon"}}, 422, "moon"),
        ("ann", "POST", "", {**NIGHTLY, "id": "x", "overlap": "sometimes"}, 422, "cancel_previous"),
        ("ann", "POST", "", {**NIGHTLY, "id": "x", "when": {}}, 422, ""),
        ("ann", "POST", "", {**NIGHTLY, "id": "x", "when": {"kind": "every", "seconds": 1e300}}, 422, "seconds"),
        ("ann", "POST", "", {**NIGHTLY, "id": "x", "when": {"kind": "every", "seconds": "a"}}, 422, ""),
        ("ann", "POST", "", {**NIGHTLY, "id": "x", "when": {"kind": "every", "seconds": [1]}}, 422, ""),
        ("ann", "POST", "", {**NIGHTLY, "id": "x", "when": {"kind": "at", "instants": ["x"]}}, 422, ""),
        ("ann", "POST", "", {**NIGHTLY, "id": "x", "when": {"kind": "at", "instants": 3}}, 422, ""),
        ("ann", "POST", "", {**NIGHTLY, "id": "x", "when": {"kind": "cron", "expression": 5}}, 422, ""),
        (
            "ann",
            "POST",
            "",
            {**NIGHTLY, "id": "x", "when": {"kind": "cron", "expression": "0 2 * * *", "zone": 5}},
            422,
            "",
        ),
        ("ann", "POST", "", {**NIGHTLY, "id": "x", "when": {"kind": "cron", "expression": "x" * 5000}}, 422, ""),
        ("ann", "POST", "", {**NIGHTLY, "id": "x", "jitter_s": 1e300}, 422, "jitter_s"),
        ("ann", "PATCH", "/nightly", {"when": {"kind": "every", "seconds": 1e300}}, 422, "seconds"),
        ("ann", "PATCH", "/nightly", {"when": {"kind": "every", "seconds": 60, "since": BEFORE}}, 422, "calendar"),
        ("ann", "PATCH", "/nightly", {"when": {"kind": "at", "instants": [BEFORE]}}, 422, "calendar"),
        ("ann", "POST", "", {**NIGHTLY, "id": "../x"}, 422, ""),
        ("ann", "POST", "/nightly/tick", {"slot": "2026-03-28T05:00:00Z"}, 422, "no slot"),
        ("ann", "POST", "/nightly/tick", {}, 422, "slot"),
        ("ann", "POST", "/nightyl/pause", {}, 404, "no schedule"),
    ],
)
async def test_what_may_not_be_and_what_makes_no_sense_is_refused(desk, who, method, path, body, status, told):
    await desk.ask("POST", "", NIGHTLY)
    refused = await desk.ask(method, path, body, who=who)
    assert refused.status_code == status
    assert told in refused.text


async def test_who_sees_other_workflows_only_is_shown_none(desk):
    await desk.ask("POST", "", NIGHTLY)
    assert (await desk.ask("GET", "", who="far")).json() == {"items": []}
    assert len((await desk.ask("GET", "", who="bob")).json()["items"]) == 1
