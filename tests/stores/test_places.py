"""Many keys, long keys, slots that clean-up emptied: K04, K08, K10."""

import asyncio

import pytest

from flowli.cairn.database import Cairn
from flowli.cairn.errors import KeyRefused, LogFenced
from flowli.cairn.log import Position
from flowli.cairn.write import Lost, Won
from flowli.stores import open_store
from flowli.testing.stores import CountingStore
from flowli.world import SYSTEM

MANY = {"s3": 1005, "az": 260, "gs": 110, "file": 1005, "memory": 1005}
"""More than one batch of deletes holds; where the emulator is quick enough, more than one page."""


@pytest.fixture
async def store(url: str):
    opened = open_store(url)
    yield opened
    await opened.close()


async def test_more_keys_than_a_page_are_listed_and_deleted(store):
    keys = [f"q/{number:05d}" for number in range(MANY[store.url.partition(":")[0]])]
    await asyncio.gather(*(store.put(key, b"x", if_absent=True) for key in keys))
    first = await store.list("q/")
    assert [one.key for one in first.items] == keys[:1000]
    assert first.more == (len(keys) > 1000)
    second = await store.list("q/", after=first.items[-1].key)
    assert [one.key for one in second.items] == keys[1000:]
    assert not second.more
    await store.delete_many(keys)
    assert await store.list("q/") == type(first)((), False)


@pytest.mark.parametrize("size", [255, 256, 900])
async def test_long_keys_are_kept_apart_and_too_long_ones_never_leave(store, size):
    counted = CountingStore(store)
    cairn = Cairn(counted, SYSTEM)
    keys = [f"k/{'a' * (size - 3)}{last}" for last in "aA."]
    for key in keys:
        assert isinstance(await store.put(key, key.encode(), if_absent=True), Won)
        assert isinstance(await store.put(key, b"", if_absent=True), Lost)
    assert [one.key for one in (await store.list("k/")).items] == sorted(keys)
    assert (await store.get(keys[0])).data == keys[0].encode()
    with pytest.raises(KeyRefused, match="901 bytes long and the limit is 900"):
        await cairn.documents.create("x" * 901, {})
    assert counted.requests == []


async def test_a_writer_that_slept_is_fenced_where_clean_up_emptied_its_slot(store):
    """K04: its put-if-absent would win; the boundary says that it comes too late."""
    slept, quick = (Cairn(store.fork(), SYSTEM, retire_grace_s=0.0) for _ in range(2))
    late, log = slept.log("wf", trimmable=True), quick.log("wf", trimmable=True)
    await log.append_next([{"n": 0}], "quick")
    tail = (await late.read()).position
    end = await log.append_next([{"n": 1}], "quick")
    await log.trim(end)
    await log.drop_trimmed()
    with pytest.raises(LogFenced, match="below its boundary"):
        await late.append([{"n": "late"}], after=tail, writer="slept")
    assert (await store.list("logs/wf/log/")).items == ()
    assert await late.append_next([{"n": "next"}], "slept") == Position(3, 3)
    for cairn in (slept, quick):
        await cairn.store.close()
