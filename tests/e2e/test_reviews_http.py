"""Reviews over HTTP: K37 with clients on a barrier."""

import asyncio

import httpx
import pytest

from flowli import Context, Engine, EngineConfig, MemoryBackend, Registry, Site
from flowli_api.app import create_app
from flowli_api.auth.identity import Identity
from flowli_api.auth.static import StaticAuthenticator
from flowli_api.config import ApiConfig
from flowli_patterns.public import review

registry = Registry()
acted: list[str] = []


def act(verdict: str) -> str:
    acted.append(verdict)
    return verdict


@registry.workflow(queue="desk")
async def gate(ctx: Context) -> str:
    decision = await review(ctx, "go?", deciders=["ann", "bob", "eve"])
    return await ctx.step(act, decision.verdict)


@registry.workflow(queue="desk")
async def group_gate(ctx: Context) -> str:
    decision = await review(ctx, "go?", deciders=["group:finance"])
    return await ctx.step(act, decision.verdict)


class Desk:
    def __init__(self) -> None:
        config = EngineConfig(hold_s=0.0)
        self.engine = Engine(MemoryBackend().ports, Site.local("api"), registry=registry, config=config)
        self.worker = self.engine.worker(["desk"])
        grants = {
            "ann": ["reviews:read", "reviews:decide:desk"],
            "bob": ["reviews:decide:*"],
            "eve": ["reviews:read", "reviews:decide:other"],
            "mallory": ["reviews:read", "reviews:decide:desk"],
            "far": ["admin"],
        }
        groups = {"ann": frozenset({"finance", "board"}), "bob": frozenset({"sales"})}
        people = {
            name: Identity(
                name,
                capabilities=frozenset(granted),
                workflows=frozenset({"other"}) if name == "far" else None,
                groups=groups.get(name, frozenset()),
            )
            for name, granted in grants.items()
        }
        authenticator = StaticAuthenticator({f"the-token-of-{name}-xxxxxxxx": one for name, one in people.items()})
        limits = ApiConfig(rate_per_s=None, fresh_s=0.0)
        self.app = create_app(self.engine, authenticator=authenticator, config=limits)

    async def opened(self, workflow: str = "gate") -> str:
        """The address of the review of a new execution."""
        eid = await self.engine.start(workflow)
        await self.worker.run_until_idle()
        return f"/v1/reviews/{eid}/review-1"

    async def ask(self, who: str, method: str, path: str, body: object = None) -> httpx.Response:
        transport = httpx.ASGITransport(self.app, raise_app_exceptions=False)
        headers = {"authorization": f"Bearer the-token-of-{who}-xxxxxxxx"}
        async with httpx.AsyncClient(transport=transport, base_url="http://flowli.test", headers=headers) as client:
            return await client.request(method, path, json=body)


@pytest.fixture
async def desk():
    acted.clear()
    desk = Desk()
    yield desk
    await desk.worker.drain()
    await desk.app.state.service.close()
    await desk.engine.close()


async def test_a_review_is_listed_shown_and_decided(desk):
    path = await desk.opened()
    (item,) = (await desk.ask("ann", "GET", "/v1/reviews?mine=true")).json()["items"]
    assert (item["subject"], item["status"], item["deciders"]) == ("go?", "open", ["ann", "bob", "eve"])
    assert (await desk.ask("ann", "GET", path)).json() == item
    done = await desk.ask("ann", "POST", f"{path}/decision", {"verdict": "approve", "comment": "fine"})
    assert done.status_code == 200
    assert done.json()["decision"]["by"] == ["ann"]
    assert (await desk.ask("ann", "GET", "/v1/reviews")).json()["items"] == []


async def test_k37_one_wins_the_others_get_409_and_a_repetition_gets_200(desk):
    for _ in range(20):
        path = await desk.opened()
        wishes = [("ann", "approve"), ("bob", "reject"), ("ann", "approve")]
        answers = await asyncio.gather(
            *(desk.ask(who, "POST", f"{path}/decision", {"verdict": verdict}) for who, verdict in wishes)
        )
        winner = next(one.json()["decision"]["by"][0] for one in answers if one.status_code == 200)
        for (who, _), one in zip(wishes, answers, strict=True):
            assert one.status_code == (200 if who == winner else 409)
            if who != winner:
                assert f"by {winner}" in one.json()["detail"]
        await desk.worker.run_until_idle()
    assert len(acted) == 20


@pytest.mark.parametrize(
    ("who", "body", "status", "told"),
    [
        ("eve", {"verdict": "approve"}, 403, "reviews:decide:desk"),
        ("mallory", {"verdict": "approve"}, 409, "may not decide"),
        ("far", {"verdict": "approve"}, 404, "no review"),
        ("ann", {"verdict": "maybe"}, 422, "use one of approve, reject"),
        ("ann", {"verdict": "approve", "form": {"x": 1}}, 422, "has no field"),
        ("ann", {"verdict": "approve", "actor": "bob"}, 422, "actor"),
    ],
)
async def test_who_and_what_is_refused(desk, who, body, status, told):
    path = await desk.opened()
    answer = await desk.ask(who, "POST", f"{path}/decision", body)
    assert (answer.status_code, told in answer.json()["detail"]) == (status, True)


async def test_the_right_to_decide_is_handed_over(desk):
    path = await desk.opened()
    done = await desk.ask("ann", "POST", f"{path}/delegation", {"to": "mallory"})
    assert done.json()["deciders"] == ["bob", "eve", "mallory"]
    assert (await desk.ask("ann", "POST", f"{path}/decision", {"verdict": "approve"})).status_code == 409
    assert (await desk.ask("mallory", "POST", f"{path}/decision", {"verdict": "approve"})).status_code == 200


async def test_the_groups_that_a_token_tells_of_count(desk):
    path = await desk.opened("group_gate")
    waiting = {
        who: len((await desk.ask(who, "GET", "/v1/reviews?mine=true")).json()["items"]) for who in ("ann", "mallory")
    }
    assert waiting == {"ann": 1, "mallory": 0}
    for who, told in (("bob", "may not decide"), ("mallory", "may not decide")):
        refused = await desk.ask(who, "POST", f"{path}/decision", {"verdict": "approve"})
        assert (refused.status_code, told in refused.json()["detail"]) == (409, True)
    assert (await desk.ask("mallory", "POST", f"{path}/delegation", {"to": "bob"})).status_code == 409
    handed = await desk.ask("ann", "POST", f"{path}/delegation", {"to": "bob"})
    assert handed.status_code == 200, handed.text
    done = await desk.ask("bob", "POST", f"{path}/decision", {"verdict": "approve"})
    assert done.json()["decision"]["by"] == ["bob"]
    other = await desk.opened("group_gate")
    done = await desk.ask("ann", "POST", f"{other}/decision", {"verdict": "reject"})
    assert done.json()["decision"]["by"] == ["ann"]


async def test_an_unknown_review_is_not_found(desk):
    path = (await desk.opened()).replace("review-1", "review-9")
    assert (await desk.ask("ann", "GET", path)).status_code == 404
    assert (await desk.ask("ann", "POST", f"{path}/decision", {"verdict": "approve"})).status_code == 404
