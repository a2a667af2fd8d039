"""Working through the HTTP service: the same handler, with records of its own host."""

from __future__ import annotations

import json

import pytest

from flowli import Engine, MemoryBackend, Registry, Site
from flowli.world import SYSTEM
from flowli_runner.contracts import Change, Outcome, Report, from_data
from flowli_runner.runner import make_handler
from flowli_runner.work.remote import work_remotely

from .runner_kit import config_of, envelope, git, make_repository

pytest.importorskip("flowli_api")
httpx = pytest.importorskip("httpx")


@pytest.fixture
async def service():
    """A service in this process, an engine, and a client that may consume."""
    from flowli_api.app import create_app
    from flowli_api.auth.identity import Identity
    from flowli_api.auth.static import StaticAuthenticator
    from flowli_api.client.asynchronous import AsyncClient
    from flowli_api.config import ApiConfig

    registry = Registry()

    @registry.workflow
    async def delegating(ctx, payload: dict) -> object:
        await ctx.enqueue("agents", payload, reply_to="reply")
        return await ctx.receive("reply", timeout=3600.0)

    engine = Engine(MemoryBackend(SYSTEM).ports, Site("api"), registry=registry)
    token = f"the-token-of-agent-{'x' * 12}"
    agent = Identity("agent", capabilities=frozenset({"tasks:consume:agents"}))
    config = ApiConfig(rate_per_s=None, fresh_s=0.0, poll_s=0.01, interface=False)
    app = create_app(engine, authenticator=StaticAuthenticator({token: agent}), config=config)
    client = AsyncClient("http://flowli.test", token, transport=httpx.ASGITransport(app))
    yield engine, client
    await client.close()
    await app.state.service.close()
    await engine.close()


async def test_work_is_done_through_the_service(service, tmp_path):
    from flowli_api.client.consumer import RemoteConsumer

    engine, client = service
    repository = make_repository(tmp_path / "repo")
    eid = await engine.start("delegating", envelope("@write src/x 1", "@say done"))
    await engine.worker().run_until_idle()
    handler, means = make_handler(config_of(tmp_path, repository), None)
    assert await RemoteConsumer(client, "agents", handler, wait_s=0).run_once() == 1
    await engine.worker().run_until_idle()
    answer = await engine.result(eid, timeout=5)
    report = from_data(Report, answer["value"], "report")
    assert (report.outcome, report.changes, report.evidence) == (Outcome.COMPLETED, (Change("A", "src/x"),), ())
    assert git(repository, "show", f"{report.branch}:src/x") == "1"
    assert len(git(repository, "worktree", "list").splitlines()) == 1
    (kept,) = (tmp_path / "work/records").iterdir()
    assert json.loads(kept.read_text())["attempt"] == report.attempt
    assert means.ports is None


async def test_an_answer_that_was_lost_is_given_again_from_the_record(service, tmp_path):
    from flowli.domain.delegate import Delegate

    handler, _ = make_handler(config_of(tmp_path, make_repository(tmp_path / "repo")), None)
    delegate = Delegate(
        envelope(f"@write {tmp_path / 'runs'} 1"), task_id="DELEGATE:e:d1", eid=SYSTEM.uuid7(), delivery=1
    )
    first = await handler(delegate)
    assert await handler(delegate) == first
    assert (tmp_path / "runs").read_text() == "1\n"
    await handler.done(delegate)
    assert list((tmp_path / "work/records").iterdir()) == []


async def test_a_service_that_is_named_wrongly_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("FLOWLI_TOKEN", "x" * 20)
    with pytest.raises(Exception, match="http://"):
        await work_remotely(config_of(tmp_path, None), "ftp://host", once=True)
