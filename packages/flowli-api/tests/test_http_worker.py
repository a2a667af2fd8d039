"""The worker plane: consumers that cannot reach the bucket."""

import asyncio

import httpx
import pytest

from flowli import Engine, MemoryBackend, Site
from flowli.domain.errors import Retry
from flowli.testing.clock import ManualClock, ManualWorld
from flowli_api.app import create_app
from flowli_api.auth.guard import Guard
from flowli_api.auth.identity import Identity
from flowli_api.auth.static import StaticAuthenticator
from flowli_api.client.asynchronous import AsyncClient
from flowli_api.client.consumer import RemoteConsumer
from flowli_api.client.errors import ApiError
from flowli_api.config import ApiConfig

from .conftest import delegating, identity, registry, token_of

CONSUMERS = {
    "agent": identity("agent", "tasks:consume:agents"),
    "rival": identity("rival", "tasks:consume:*"),
    "other": identity("other", "tasks:consume:finance"),
}


@pytest.fixture
async def place(open_shop):
    """A service with one delegated task, and the id of its execution."""
    shop = await open_shop(people=CONSUMERS)
    return shop, await shop.started("delegating", "do it")


async def until(holds):
    """Let others run until something holds."""
    for _ in range(100_000):
        if holds():
            return
        await asyncio.sleep(0)
    raise AssertionError("it never came to hold")


async def post(shop, who, path, **body):
    async with shop.client(who) as client:
        return await client.post(f"/v1/{path}", json=body)


async def taken(shop, who="agent", **body):
    return (await post(shop, who, "queues/agents/dequeue", **body)).json()["items"]


async def test_a_task_is_taken_renewed_answered_and_done(place):
    shop, eid = place
    (task,) = await taken(shop)
    assert (task["payload"], task["correlation"], task["delivery"], task["eid"]) == ("do it", "c-1", 1, eid)
    assert await taken(shop, "rival") == []
    renewed = (await post(shop, "agent", "tasks/renew", token=task["token"])).json()
    done = await post(shop, "agent", "tasks/deliver", token=renewed["token"], value=42, ack=True)
    assert done.json()["delivered"] is True
    await shop.work()
    assert await shop.engine.result(eid, timeout=60) == {"outcome": "completed", "value": 42}
    assert (await post(shop, "agent", "tasks/renew", token=task["token"])).json()["code"] == "lease_lost"


async def test_a_token_is_of_no_use_to_anybody_else(place):
    shop, _ = place
    (task,) = await taken(shop)
    for who in ("rival", "root"):
        assert (await post(shop, who, "tasks/ack", tokens=[task["token"]])).json()["code"] == "forbidden"
    body, _, signature = task["token"].partition(".")
    for forged in (body, f"{body}.", f"{body}.{signature[:-4]}AAAA", f"A{body}.{signature}", "x", f"{body}.ü"):
        answer = await post(shop, "agent", "tasks/renew", token=forged)
        assert (answer.status_code, answer.json()["code"]) == (404, "unknown_token")


async def test_each_queue_needs_its_own_capability_also_within_a_batch(place):
    shop, _ = place
    assert (await post(shop, "other", "queues/agents/dequeue")).json()["code"] == "forbidden"
    (task,) = await taken(shop)
    less = StaticAuthenticator({token_of("agent"): identity("agent", "tasks:consume:finance")})
    service = shop.app.state.service
    service.guard = Guard(less, service.config, service.world)
    for path, body in (("ack", {"tokens": [task["token"]]}), ("nack", {"token": task["token"]})):
        assert (await post(shop, "agent", f"tasks/{path}", **body)).json()["code"] == "forbidden"


async def test_a_token_goes_on_at_another_process_on_the_same_bucket(open_shop):
    backend = MemoryBackend()
    here, there = await open_shop(backend=backend, people=CONSUMERS), await open_shop(backend=backend, people=CONSUMERS)
    eid = await here.started("delegating", "x")
    (task,) = await taken(here)
    done = await post(there, "agent", "tasks/deliver", token=task["token"], value="from there", ack=True)
    assert done.status_code == 200
    await here.work()
    assert (await here.engine.result(eid, timeout=60))["value"] == "from there"


async def test_a_task_that_was_given_back_is_taken_again_and_one_answered_before_its_ack_is_not(place):
    shop, eid = place
    (task,) = await taken(shop)
    await post(shop, "agent", "tasks/nack", token=task["token"])
    (again,) = await taken(shop, "rival")
    assert again["delivery"] == 2
    assert (await post(shop, "agent", "tasks/deliver", token=task["token"], value=1)).json()["code"] == "lease_lost"
    await post(shop, "rival", "tasks/deliver", token=again["token"], value="first")
    await post(shop, "rival", "tasks/nack", token=again["token"])
    assert await taken(shop) == []
    await shop.work()
    assert (await shop.engine.result(eid, timeout=60))["value"] == "first"


async def test_a_consumer_waits_for_a_task(open_shop):
    shop = await open_shop(people=CONSUMERS)
    waiting = asyncio.ensure_future(taken(shop, wait_s=20))
    eid = await shop.started("delegating", "late")
    assert [task["eid"] for task in await waiting] == [eid]


async def test_waiting_ends_when_the_process_shuts_down_k42(open_shop):
    """K42: a long poll does not hold the shutdown."""
    shop = await open_shop(people=CONSUMERS)
    waiting = asyncio.ensure_future(taken(shop, wait_s=20))
    await until(lambda: shop.engine.hub._queue_waiters)
    shop.app.state.service.closing.set()
    assert await waiting == []


async def test_evidence_is_kept_beside_the_execution(place):
    shop, eid = place
    (task,) = await taken(shop)
    headers = {"flowli-task": task["token"], "content-type": "application/octet-stream"}
    async with shop.client("agent") as client:
        kept = await client.post(
            "/v1/tasks/evidence", params={"what": "transcript"}, content=b"\xff\x00", headers=headers
        )
    name = kept.json()["name"]
    async with shop.client() as client:
        assert name in (await client.get(f"/v1/executions/{eid}/evidence")).json()["names"]
        assert (await client.get(f"/v1/executions/{eid}/evidence/{name}")).content == b"\xff\x00"


async def test_a_scope_has_one_holder_at_a_time(open_shop):
    shop = await open_shop(people=CONSUMERS)
    mine = (await post(shop, "agent", "queues/agents/scopes/repo:main/acquire")).json()
    assert mine["epoch"] == 1
    assert (await post(shop, "rival", "queues/agents/scopes/repo:main/acquire")).json()["code"] == "held"
    renewed = (await post(shop, "agent", "queues/agents/scopes/repo:main/renew", token=mine["token"])).json()
    for path in ("scopes/other/renew", "scopes/other/release"):
        assert (await post(shop, "agent", f"queues/agents/{path}", token=mine["token"])).status_code == 404
    assert (await post(shop, "agent", "queues/agents/scopes/repo:main/release", token=renewed["token"])).is_success
    theirs = (await post(shop, "rival", "queues/agents/scopes/repo:main/acquire")).json()
    assert theirs["epoch"] == 2
    late = await post(shop, "agent", "queues/agents/scopes/repo:main/renew", token=renewed["token"])
    assert late.json()["code"] == "lease_lost"


def remote(shop, handler, **options):
    client = AsyncClient("http://flowli.test", token_of("agent"), transport=httpx.ASGITransport(shop.app))
    return client, RemoteConsumer(client, "agents", handler, wait_s=0, **options)


async def test_a_remote_consumer_takes_the_handlers_of_a_consumer(place):
    shop, eid = place
    seen = []

    async def handler(delegate):
        seen.append((delegate.payload, delegate.correlation, str(delegate.eid), delegate.delivery))
        if delegate.delivery == 1:
            raise Retry("not now", after=0)
        return {"done": delegate.payload}

    client, consumer = remote(shop, handler)
    assert await consumer.run_once() == 1
    assert await consumer.run_once() == 1
    await shop.work()
    assert (await shop.engine.result(eid, timeout=60))["value"] == {"done": "do it"}
    assert seen == [("do it", "c-1", eid, 1), ("do it", "c-1", eid, 2)]
    await client.close()


async def test_an_error_of_the_handler_is_answered_as_a_failure(place):
    shop, eid = place

    async def handler(delegate):
        raise ValueError("no such agent")

    client, consumer = remote(shop, handler)
    await consumer.run_once()
    await shop.work()
    answer = await shop.engine.result(eid, timeout=60)
    assert (answer["outcome"], answer["error"]["message"]) == ("failed", "no such agent")
    await client.close()


async def test_a_remote_consumer_renews_and_stops_when_its_task_is_lost():
    clock = ManualClock()
    world = ManualWorld(clock)
    backend = MemoryBackend(world)
    engine = Engine(backend.ports, Site.local("api"), registry=registry, world=world)
    known = StaticAuthenticator({token_of("agent"): Identity("agent", capabilities=frozenset({"admin"}))})
    app = create_app(engine, authenticator=known, config=ApiConfig(rate_per_s=None))
    eid = await engine.start(delegating, "long")
    await clock.run(engine.worker().run_until_idle())
    client = AsyncClient("http://flowli.test", token_of("agent"), transport=httpx.ASGITransport(app), world=world)
    begun, ended, worked = asyncio.Event(), [], []

    async def handler(delegate):
        begun.set()
        try:
            # the answers of the service come from threads that the clock does not wait for: the second one has no end
            await (asyncio.Event().wait() if worked else world.sleep(100))
            worked.append(delegate.task_id)
        except asyncio.CancelledError:
            ended.append("stopped")
            raise
        return "done"

    consumer = RemoteConsumer(client, "agents", handler, ttl_s=30, wait_s=0, world=world)
    await clock.run(consumer.run_once())
    await clock.run(engine.worker().run_until_idle())
    assert (await engine.result(eid))["value"] == "done"  # 100 s of work under a ttl of 30 s
    await engine.start(delegating, "stolen")
    await clock.run(engine.worker().run_until_idle())
    lost = asyncio.ensure_future(consumer.run_once())
    begun.clear()
    await begun.wait()
    (view,) = await backend.ports.queue.list("agents")
    backend.ports.queue._shelves["agents"].ready.clear()
    assert view.holder is not None
    await clock.run(lost)
    assert ended == ["stopped"]
    await client.close()
    await app.state.service.close()


async def test_a_consumer_without_the_capability_is_told(open_shop):
    shop = await open_shop(people={"agent": identity("agent")})

    async def handler(delegate):
        return None

    client, consumer = remote(shop, handler)
    with pytest.raises(ApiError, match="tasks:consume:agents"):
        await consumer.run_once()
    await client.close()
