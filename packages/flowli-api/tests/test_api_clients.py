"""The clients."""

import httpx
import pytest

from flowli.domain.errors import ResultTimeout, UsageError
from flowli.testing.clock import ManualClock, ManualWorld
from flowli_api.client.asynchronous import AsyncClient
from flowli_api.client.blocking import Client
from flowli_api.client.errors import ApiError

from .conftest import token_of


@pytest.fixture
async def client(shop):
    async with AsyncClient("http://flowli.test", token_of("root"), transport=httpx.ASGITransport(shop.app)) as made:
        yield made


async def test_an_execution_from_its_start_to_its_result(shop, client):
    started = await client.start("ask", kwargs={"question": "why?"}, key="Q-1")
    assert (await client.start("ask", "why?", key="Q-1")).joined
    await shop.work()
    assert (await client.execution(started.eid, after=started.control_seq)).status == "suspended"
    assert (await client.explain(started.eid)).reason == "waiting_message"
    with pytest.raises(ResultTimeout):
        await client.result(started.eid, timeout_s=0)
    await client.signal(started.eid, "answer", "because", key="once")
    await client.signal(started.eid, "answer", "because", key="once")
    await shop.work()
    assert (await client.result(started.eid, timeout_s=60)).value == "why? because"
    assert [entry.seq for entry in await client.journal(started.eid)][:3] == [1, 2, 3]
    assert [frame.name for frame in (await client.frames(started.eid)).frames] == ["len", "answer"]


async def test_lists_are_walked_page_by_page(shop, client):
    eids = [await shop.started() for _ in range(5)]
    found = [row.eid async for row in client.each_execution({"workflow": "ask", "limit": 2})]
    assert found == eids[::-1]


async def test_verbs_reach_the_engine(shop, client):
    eid = await shop.started()
    await client.pause(eid, "wait")
    await client.resume(eid)
    await client.cancel(eid)
    await shop.work()
    again = await client.replay(eid, "once more")
    await client.terminate(again.eid)
    assert (await client.execution(again.eid)).status == "cancelled"
    done = await client.bulk("cancel", eids=[eid])
    assert [item.outcome for item in done.items] == ["skipped"]
    assert {queue.name for queue in await client.queues()} >= {"default"}
    assert {one.name for one in await client.workflows()} == {"ask", "delegating", "fail", "patient", "talking"}
    assert (await client.me()).capabilities == ["admin"]


async def test_what_a_workflow_shows_is_read(shop, client):
    eid = await shop.started("talking", 2)
    assert (await client.published(eid, "state")).value == "talking"
    page = await client.read_stream(eid, "lines")
    assert [one.value for one in page.items] == ["line 0", "line 1"]
    assert (await client.read_stream(eid, "lines", after=page.next_after)).items == []


async def test_a_problem_is_an_error_with_its_code(client):
    with pytest.raises(ApiError, match="unknown_workflow") as told:
        await client.start("asq")
    assert (told.value.code, told.value.problem.status) == ("unknown_workflow", 404)


class Flaky(httpx.AsyncBaseTransport):
    """Fails a few times before it answers; remembers what was asked."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.asked = []

    async def handle_async_request(self, request):
        self.asked.append(request)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer


def flaky(*answers):
    clock = ManualClock()
    transport = Flaky(*answers)
    return clock, transport, AsyncClient("http://x", "t" * 20, transport=transport, world=ManualWorld(clock))


ANSWER = {"eid": "e", "control_seq": 1, "joined": False}


async def test_a_call_is_repeated_with_the_same_key_until_the_service_is_back():
    down = httpx.Response(503, headers={"retry-after": "2"}, json={})
    clock, transport, client = flaky(httpx.ConnectError("gone"), down, httpx.Response(201, json=ANSWER))
    assert (await clock.run(client.start("ask"))).eid == "e"
    keys = {request.headers["idempotency-key"] for request in transport.asked}
    assert (len(transport.asked), len(keys)) == (3, 1)
    assert clock.elapsed_us >= 2_000_000


async def test_it_gives_up_after_some_tries_and_at_once_on_what_is_wrong():
    clock, transport, client = flaky(httpx.ConnectError("gone"))
    with pytest.raises(httpx.ConnectError):
        await clock.run(client.start("ask"))
    assert len(transport.asked) == 4
    clock, transport, client = flaky(httpx.Response(418, text="<html>"))
    with pytest.raises(ApiError, match="http_418"):
        await clock.run(client.me())
    assert len(transport.asked) == 1


def test_the_client_without_asyncio_makes_the_same_calls():
    answers = Flaky(httpx.Response(201, json=ANSWER))
    with Client("http://x", "t" * 20, transport=answers) as client:
        assert client.start("ask", "why?").eid == "e"
        assert Client.start.__doc__ == AsyncClient.start.__doc__
    client.close()
    with pytest.raises(UsageError, match="closed"):
        client.me()


async def test_the_client_without_asyncio_works_while_a_loop_runs():
    with Client("http://x", "t" * 20, transport=Flaky(httpx.Response(201, json=ANSWER))) as client:
        assert client.start("ask").eid == "e"


def test_an_address_that_is_none_is_refused():
    with pytest.raises(UsageError, match="begins with http"):
        Client("flowli.test", "t" * 20)
