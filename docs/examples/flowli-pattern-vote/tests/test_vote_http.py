"""Votes over HTTP, where ``flowli-api`` is installed: each caller sees and casts their own."""

from importlib import import_module

import pytest

from flowli import Context, Engine, EngineConfig, MemoryBackend, Registry, Site
from flowli.plugins import Manager, Source
from flowli_pattern_vote.vote import vote

api = pytest.importorskip("flowli_api", reason="the HTTP service is not installed")
httpx = pytest.importorskip("httpx", reason="the client of these tests is not installed")

registry = Registry()


@registry.workflow
async def outing(ctx: Context) -> str | None:
    return (await vote(ctx, "where to?", ["ann", "bob", "cat"], choices=["sea", "hills"])).choice


@pytest.fixture
async def engine():
    engine = Engine(MemoryBackend().ports, Site.local("api"), registry=registry, config=EngineConfig(hold_s=0.0))
    yield engine
    await engine.close()


@pytest.fixture
def ask(engine, monkeypatch):
    """Asks the service as somebody."""
    from flowli_api.app import create_app
    from flowli_api.auth.identity import Identity
    from flowli_api.auth.static import StaticAuthenticator

    module = "flowli_pattern_vote.plugin"
    plugins = Manager([Source("vote", "flowli-pattern-vote", "0.2.0", module, lambda: import_module(module))])
    for place in ("flowli.plugins.manager", "flowli_api.extensions.manager"):
        monkeypatch.setattr(place, lambda: plugins)
    people = {f"the-token-of-{name}-xxxxxxxx": Identity(name) for name in ("ann", "bob", "eve")}
    app = create_app(engine, authenticator=StaticAuthenticator(people))

    async def ask(who: str, method: str, path: str, body: object = None):
        headers = {"authorization": f"Bearer the-token-of-{who}-xxxxxxxx"}
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://flowli.test", headers=headers) as client:
            return await client.request(method, path, json=body)

    return ask


async def test_callers_see_their_votes_and_cast_them(engine, ask):
    eid, worker = await engine.start(outing), engine.worker()
    await worker.run_until_idle()
    (found,) = (await ask("ann", "GET", "/v1/ballots")).json()
    assert (found["eid"], found["subject"], found["choices"]) == (str(eid), "where to?", ["sea", "hills"])
    assert (await ask("eve", "GET", "/v1/ballots")).json() == []
    answers = [
        (await ask(who, "POST", f"/v1/ballots/{eid}", {"choice": choice})).status_code
        for who, choice in (("eve", "sea"), ("ann", "moon"), ("ann", "sea"), ("ann", "hills"), ("bob", "sea"))
    ]
    assert answers == [409, 422, 204, 204, 204]
    await worker.run_until_idle()
    await worker.drain()
    assert await engine.result(eid) == "sea"
    assert (await ask("ann", "GET", "/v1/ballots")).json() == []
