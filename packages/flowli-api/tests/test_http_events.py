"""Event streams."""

import asyncio
import contextlib
from uuid import UUID

import pytest

from flowli import MemoryBackend
from flowli_api.config import ApiConfig

from .streams import Stream, Told, listening


async def test_a_list_tells_of_executions_that_change(shop):
    async with listening(shop, "/v1/events") as stream:
        place = await stream.next()
        assert place.name == "place"
        eid = await shop.started()
        assert (await execution(stream)).data["eid"] == eid


async def test_a_list_goes_on_at_another_process_behind_the_last_event(open_shop):
    backend = MemoryBackend()
    here, there = await open_shop(backend=backend), await open_shop(backend=backend)
    async with listening(here, "/v1/events") as stream:
        place = await stream.next()
    eid = await here.started()
    async with listening(there, "/v1/events", last_id=place.id) as stream:
        told = await stream.until("place")
    assert [(one.name, one.data.get("eid")) for one in told] == [("execution", eid), ("place", None)]
    async with listening(there, "/v1/events", last_id=told[-1].id) as stream:
        assert (await stream.next()).name == "place"


async def test_a_list_with_a_status_tells_once_more_of_what_leaves_it(shop):
    async with listening(shop, "/v1/events?status=suspended") as stream:
        await stream.next()
        eid = await shop.started()
        assert (await execution(stream)).data["status"] == "suspended"
        await shop.engine.terminate(eid)
        while (told := await execution(stream)).data["status"] == "suspended":
            pass
        assert told.data["status"] == "cancelled"


async def execution(stream: Stream) -> Told:
    """The next event about an execution."""
    while (told := await stream.next()) is None or told.name != "execution":
        assert told is not None
    return told


async def test_an_execution_is_followed_to_its_end_and_again_from_any_entry(shop):
    eid = await shop.started()
    async with listening(shop, f"/v1/executions/{eid}/events") as stream:
        first = await stream.until("execution")
        await shop.engine.signal(eid, "answer", "because")
        await shop.work()
        rest = await stream.until("end")
    told = [int(one.id) for one in [*first, *rest] if one.name == "entry"]
    assert told == list(range(1, len(told) + 1))
    assert rest[-2].data["value"] == "why? because"
    async with listening(shop, f"/v1/executions/{eid}/events", last_id="3") as stream:
        again = await stream.until("end")
    assert [int(one.id) for one in again if one.name == "entry"] == told[3:]


async def test_frames_are_told_when_they_change(shop):
    eid = await shop.started()
    async with listening(shop, f"/v1/executions/{eid}/frames/events") as stream:
        first = await stream.until("place")
        await shop.engine.signal(eid, "answer", "because")
        await shop.work()
        rest = await stream.until("end")
    assert [(one.data["fid"], one.data["status"]) for one in first[:-1]] == [
        ("root/len#1", "completed"),
        ("root/answer#1", "waiting"),
    ]
    assert ("root/answer#1", "completed") in [
        (one.data["fid"], one.data["status"]) for one in rest if one.name == "frame"
    ]


async def test_logs_are_told_once(shop):
    eid = await shop.started()
    await shop.engine.ports.evidence.put(UUID(eid), "root~len=1.1.1/log", b"hello\n")
    await shop.engine.terminate(eid)
    async with listening(shop, f"/v1/executions/{eid}/logs/events") as stream:
        told = await stream.until("end")
    assert [one.data["text"] for one in told if one.name == "log"] == ["hello\n"]
    async with listening(shop, f"/v1/executions/{eid}/logs/events", last_id=told[0].id) as stream:
        assert [one.name for one in await stream.until("end")] == ["end"]


async def test_200_streams_share_one_look_at_the_bucket(shop):
    counted = {"reads": 0, "looks": 0, "finds": 0}
    control, feed = shop.engine.ports.control, shop.app.state.service.feed
    read, missed = control.read, feed._missed

    async def reading(**options):
        counted["reads"] += 1
        return await read(**options)

    async def looking(position):
        counted["looks"] += 1
        found = await missed(position)
        counted["finds"] += found.after != found.before
        return found

    control.read, feed._missed = reading, looking
    async with contextlib.AsyncExitStack() as stack:
        streams = [await stack.enter_async_context(listening(shop, "/v1/events")) for _ in range(200)]
        await asyncio.gather(*(stream.next() for stream in streams))
        assert shop.app.state.service.streams == 200
        counted.update(reads=0, looks=0, finds=0)
        for _ in range(5):
            await shop.engine.start("ask", "why?", announced=True)
            await asyncio.gather(*(stream.until("place") for stream in streams))
        # what is new is found once for all, and costs one read for the feed and one for the projection in each look,
        # however long it takes; what the starts read themselves is far less than one read for each stream
        assert counted["finds"] < 50
        assert counted["reads"] <= 2 * counted["looks"] + 100
    assert shop.app.state.service.streams == 0
    before = counted["looks"]
    for _ in range(5):
        await shop.engine.world.sleep(0.02)
    assert counted["looks"] == before  # while nobody listens nothing is asked


async def test_streams_end_when_the_process_shuts_down_k42(shop):
    """K42: streams end at once, with a hint when to come again."""
    async with listening(shop, "/v1/events") as stream:
        await stream.next()
        shop.app.state.service.closing.set()
        assert await stream.next() is None
        assert b"text/event-stream" in dict(stream.started["headers"])[b"content-type"]
    async with shop.client() as client:
        assert (await client.get("/v1/events")).json()["code"] == "closing"
        assert (await client.get("/ready")).status_code == 503


async def test_only_so_many_streams_are_open_at_once(open_shop):
    shop = await open_shop(ApiConfig(rate_per_s=None, max_streams=1, poll_s=0.01))
    async with listening(shop, "/v1/events") as stream:
        await stream.next()
        async with shop.client() as client:
            assert (await client.get("/v1/events")).json()["code"] == "rate_limited"


@pytest.mark.parametrize("last_id", ["x", "1.2.3", "-1.2", "9" * 40, "1.٣"])
async def test_an_id_that_no_event_had_is_refused(shop, last_id):
    async with shop.client() as client:
        for path in ("/v1/events", f"/v1/executions/{await shop.started()}/events"):
            answer = await client.get(path, headers={"last-event-id": last_id.encode()})
            assert answer.status_code == 422
