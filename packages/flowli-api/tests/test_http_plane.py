"""The worker plane beside tasks and answers: evidence in parts, the state of a task, whether anybody waits."""

import asyncio

import httpx
import pytest

from flowli.runtime.consumer import DRAINING
from flowli_api.client.asynchronous import AsyncClient
from flowli_api.client.consumer import RemoteConsumer
from flowli_api.client.errors import ApiError
from flowli_api.client.plane import PART_BYTES, WorkerPlane
from flowli_api.worker import evidence as kept_evidence

from .conftest import identity, token_of

CONSUMERS = {"agent": identity("agent", "tasks:consume:agents"), "rival": identity("rival", "tasks:consume:*")}


class Place:
    """A service with one delegated task, and two consumers of its queue."""

    def __init__(self, shop, eid):
        self.shop, self.eid = shop, eid
        self.clients = {
            who: AsyncClient("http://flowli.test", token_of(who), transport=httpx.ASGITransport(shop.app))
            for who in CONSUMERS
        }

    def plane(self, who="agent"):
        return WorkerPlane(self.clients[who], "agents")

    async def taken(self, who="agent"):
        async with self.shop.client(who) as client:
            (task,) = (await client.post("/v1/queues/agents/dequeue", json={})).json()["items"]
            return task["token"]

    async def post(self, path, **body):
        async with self.shop.client("agent") as client:
            return await client.post(f"/v1/{path}", json=body)


@pytest.fixture
async def place(open_shop):
    shop = await open_shop(people=CONSUMERS)
    made = Place(shop, await shop.started("delegating", "do it"))
    yield made
    for client in made.clients.values():
        await client.close()


async def test_a_body_over_the_limit_of_a_request_arrives_whole(place):
    body = bytes(range(256)) * (3 * PART_BYTES // 256) + b"the end"
    name = await place.plane().keep(await place.taken(), "diff", body, "text/x-diff")
    assert name.endswith(".1.1/diff")
    async with place.shop.client() as client:
        assert (await client.get(f"/v1/executions/{place.eid}/evidence")).json()["names"] == [name]
        assert (await client.get(f"/v1/executions/{place.eid}/evidence/{name}")).content == body


async def test_the_same_body_again_changes_nothing_and_the_first_one_of_a_name_stays(place):
    plane, token = place.plane(), await place.taken()
    name = await plane.keep(token, "log", b"first")
    assert await plane.keep(token, "log", b"second") == name
    async with place.shop.client() as client:
        assert (await client.get(f"/v1/executions/{place.eid}/evidence/{name}")).content == b"first"


async def put(place, token, **params):
    async with place.shop.client("agent") as client:
        headers = {"flowli-task": token, "content-type": "text/plain"}
        return await client.post(
            "/v1/tasks/evidence", params={"what": "x", **params}, content=b"12345", headers=headers
        )


async def test_parts_that_do_not_make_a_whole_are_refused(place, monkeypatch):
    token = await place.taken()
    for params, said in (({"part": 2, "parts": 2}, "part 1 of 2"), ({"part": 3, "parts": 2}, "3 is none of them")):
        refused = (await put(place, token, **params)).json()
        assert (refused["code"], said in refused["detail"]) == ("invalid", True)
    assert (await put(place, token, part=65, parts=65)).json()["code"] == "invalid"
    monkeypatch.setattr(kept_evidence, "MOST_BYTES", 9)
    assert (await put(place, token, part=1, parts=2)).json()["whole"] is False
    assert (await put(place, token, part=2, parts=2)).json()["code"] == "payload_too_large"


async def test_who_takes_a_task_takes_its_state_and_the_last_one_writes_no_more(place):
    mine, theirs = place.plane(), place.plane("rival")
    token = await place.taken()
    state = await mine.take_state(token)
    assert state.state is None
    state = await mine.write_state(state.token, {"handle": 7})
    await mine.give_back(token)
    found = await theirs.take_state(await place.taken("rival"))
    assert found.state == {"handle": 7}
    with pytest.raises(ApiError, match="lease_lost"):
        await mine.write_state(state.token, {"handle": 8})
    await mine.clear_state(state.token)
    looked = await mine.look_at_state(state.token)
    assert (looked.state, looked.held, looked.standing) == ({"handle": 7}, False, True)


async def test_a_state_outlasts_its_task_until_it_is_cleared(place):
    plane, token = place.plane(), await place.taken()
    state = await plane.write_state((await plane.take_state(token)).token, {"report": 1})
    await place.post("tasks/deliver", token=token, value=1, ack=True)
    looked = await plane.look_at_state(state.token)
    assert (looked.state, looked.held, looked.standing) == ({"report": 1}, True, False)
    await plane.clear_state(state.token)
    assert (await plane.look_at_state(state.token)).state is None


async def test_a_state_is_of_no_use_to_anybody_else(place):
    state = await place.plane().take_state(await place.taken())
    with pytest.raises(ApiError, match="forbidden"):
        await place.plane("rival").write_state(state.token, 1)
    with pytest.raises(ApiError, match="unknown_token"):
        await place.plane().give_back(state.token)


async def test_a_renewal_tells_whether_an_answer_could_still_be_received(place):
    token = await place.taken()
    assert (await place.post("tasks/renew", token=token)).json()["wanted"] is True
    await place.shop.engine.terminate(place.eid, reason="enough")
    await place.shop.work()
    assert (await place.post("tasks/renew", token=token)).json()["wanted"] is False


async def test_a_drained_consumer_tells_its_handler_and_gives_the_task_back_at_once(place):
    begun, told = asyncio.Event(), []

    async def handler(delegate):
        begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError as stopped:
            told.append(stopped.args)
            raise

    consumer = RemoteConsumer(place.clients["agent"], "agents", handler, wait_s=0)
    working = asyncio.ensure_future(consumer.run())
    await begun.wait()
    await consumer.drain(0.0)
    await working
    assert told == [(DRAINING,)]
    assert await place.taken("rival")


async def test_what_a_handler_kept_is_let_go_after_the_ack(place):
    done = []

    async def handler(delegate):
        assert consumer.wanted(delegate.task_id)
        return await place.plane().keep(consumer.token(delegate.task_id), "note", b"1")

    async def let_go(delegate):
        done.append(delegate.task_id)

    consumer = RemoteConsumer(place.clients["agent"], "agents", handler, wait_s=0, done=let_go)
    await consumer.run_once()
    assert [one.partition(":")[0] for one in done] == ["DELEGATE"]
    with pytest.raises(Exception, match="not worked on here"):
        consumer.token(done[0])
