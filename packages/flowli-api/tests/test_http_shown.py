"""Published values and streams over HTTP."""

import pytest

from flowli import MemoryBackend

from .streams import listening


async def pages(client, path, limit=None):
    """All items, read page by page, and how often was asked."""
    found, after, asked = [], None, 0
    while True:
        options = {name: value for name, value in (("after", after), ("limit", limit)) if value is not None}
        page = (await client.get(path, params=options)).json()
        found += page["items"]
        asked += 1
        if page["closed"] or not page["items"]:
            return found, page["closed"], asked
        after = page["next_after"]


async def test_what_a_workflow_shows_is_named_and_read(shop, http):
    eid = await shop.started("talking", 3)
    base = f"/v1/executions/{eid}"
    names = (await http.get(f"{base}/shown")).json()
    assert (names["published"], names["streams"]) == (["state"], ["lines"])
    assert (await http.get(f"{base}/published/state")).json()["value"] == "talking"
    items, closed, _ = await pages(http, f"{base}/streams/lines")
    assert [(one["value"], one["number"]) for one in items] == [("line 0", 1), ("line 1", 2), ("line 2", 3)]
    assert not closed
    await shop.engine.signal(eid, "go")
    await shop.work()
    items, closed, asked = await pages(http, f"{base}/streams/lines", limit=1)
    assert [one["value"] for one in items] == ["line 0", "line 1", "line 2", "the end"]
    assert closed
    assert asked > 1
    assert (await http.get(f"{base}/published/state")).json() | {"at": ""} == {"value": "done", "number": 2, "at": ""}


async def test_a_stream_is_followed_to_its_close_and_goes_on_at_another_process(open_shop):
    backend = MemoryBackend()
    here, there = await open_shop(backend=backend), await open_shop(backend=backend)
    eid = await here.started("talking", 2)
    path = f"/v1/executions/{eid}/streams/lines/events"
    async with listening(here, path) as stream:
        told = [await stream.next(), await stream.next()]
        assert [one.data["value"] for one in told] == ["line 0", "line 1"]
    async with listening(there, path, last_id=told[-1].id) as stream:
        await here.engine.signal(eid, "go")
        await here.work()
        rest = await stream.until("end")
    assert [(one.name, one.data.get("value")) for one in rest] == [("item", "the end"), ("end", None)]
    for last_id, names in ((rest[0].id, ["end"]), (None, ["item", "item", "item", "end"])):
        async with listening(there, path, last_id=last_id) as stream:
            assert [one.name for one in await stream.until("end")] == names


async def test_a_stream_that_nobody_closes_ends_with_the_execution(shop):
    eid = await shop.started("talking", 1)
    async with listening(shop, f"/v1/executions/{eid}/streams/lines/events") as stream:
        await stream.next()
        await shop.engine.terminate(eid)
        assert [one.name for one in await stream.until("end")] == ["end"]


async def test_many_who_follow_a_stream_share_one_look_at_the_journal(shop):
    eid = await shop.started("talking", 1)
    reads = 0
    journal = shop.engine.ports.journal
    read = journal.read

    async def counted(*args, **options):
        nonlocal reads
        reads += 1
        return await read(*args, **options)

    path = f"/v1/executions/{eid}/streams/lines/events"
    async with listening(shop, path) as first, listening(shop, path) as second:
        assert [(await one.next()).data["value"] for one in (first, second)] == ["line 0"] * 2
        journal.read = counted
        (watch,) = shop.app.state.service.journals._watched.values()
        assert watch.followers == 2
        await shop.engine.terminate(eid)
        for one in (first, second):
            await one.until("end")
    assert reads > 0
    assert shop.app.state.service.journals._watched == {}


async def test_values_of_a_stream_need_the_right_to_read_values_and_the_execution_within_reach(shop):
    eid = await shop.started("talking", 1)
    async with shop.client("reader") as client:
        assert (await client.get(f"/v1/executions/{eid}/shown")).json()["streams"] == ["lines"]
        for path in ("streams/lines", "streams/lines/events", "published/state"):
            assert (await client.get(f"/v1/executions/{eid}/{path}")).json()["code"] == "forbidden"
    async with shop.client("asker") as client:
        for path in ("shown", "streams/lines", "streams/lines/events"):
            assert (await client.get(f"/v1/executions/{eid}/{path}")).json()["code"] == "unknown_execution"


@pytest.mark.parametrize("after", ["x", "1", "1.", "-1.0", "1.2.3", "9" * 40])
async def test_a_place_that_no_page_ended_at_is_refused(shop, http, after):
    eid = await shop.started("talking", 1)
    refused = await http.get(f"/v1/executions/{eid}/streams/lines", params={"after": after})
    assert (refused.status_code, refused.json()["code"]) == (422, "invalid")
    assert (await http.get(f"/v1/executions/{eid}/streams/none")).json()["items"] == []
