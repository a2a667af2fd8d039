import asyncio

import pytest

from flowli.cairn.errors import StoreThrottled
from flowli.cairn.write import Lost, Unknown, Won
from flowli.stores.memory import MemoryStore
from flowli.testing.stores import (
    ApplyLater,
    CountingStore,
    Counts,
    CutListing,
    DropReply,
    Fault,
    FaultStore,
    Hold,
    LoseRequest,
    Refuse,
)


async def test_requests_are_counted_by_verb_key_and_bytes() -> None:
    store = CountingStore(MemoryStore())
    await store.put("a/1", b"12345", if_absent=True)
    mark = store.snapshot()
    await store.fork().get("a/1")
    await store.get("b")
    await store.list("a/")
    await store.delete("a/1")
    await store.delete_many(["x", "y"])
    assert store.since(mark) == Counts(get=2, list=1, delete=1, delete_many=1, received=5)
    assert store.since(key="a/*") == Counts(get=1, put=1, list=1, delete=1, sent=5, received=5)
    assert store.since().put_class == 2
    assert [one.outcome for one in store.requests[:3]] == ["Won", "Object", "NoneType"]
    assert store.requests[0].condition == "absent"


async def test_lost_answer_lost_request_and_late_request() -> None:
    inner = MemoryStore()
    store = FaultStore(
        inner, [Fault(DropReply(), key="drop"), Fault(LoseRequest(), key="lose"), Fault(ApplyLater(), key="late")]
    )
    for key in ("drop", "lose", "late"):
        assert isinstance(await store.put(key, b"x", if_absent=True), Unknown)
    assert [one.key for one in (await inner.list("")).items] == ["drop"]
    assert isinstance((await store.land())[0], Won)
    assert [one.key for one in (await inner.list("")).items] == ["drop", "late"]
    assert isinstance(await store.put("late", b"y", if_absent=True), Lost)


async def test_fault_meets_the_requests_that_it_names() -> None:
    store = FaultStore(MemoryStore(), [Fault(Refuse(StoreThrottled("Slow", "Wait")), "get", "a*", nth=2, times=2)])
    await store.put("a", b"x")
    outcomes: list[bool | None] = []
    for key in ("a", "b", "ab", "a", "a"):
        try:
            outcomes.append(await store.get(key) is not None)
        except StoreThrottled:
            outcomes.append(None)
    assert outcomes == [True, False, None, None, True]


@pytest.mark.parametrize("after", [False, True])
async def test_held_request_waits_for_the_test(after: bool) -> None:
    inner, hold = MemoryStore(), Hold(after=after)
    store = FaultStore(inner, [Fault(hold)])
    task = asyncio.ensure_future(store.put("a", b"x"))
    await hold.reached.wait()
    assert (await inner.get("a") is not None) == after
    hold.gate.set()
    assert isinstance(await task, Won)


async def test_cut_listing_says_that_more_follow() -> None:
    store = FaultStore(MemoryStore(), [Fault(CutListing(2), "list")])
    for name in "abc":
        await store.put(name, b"x")
    page = await store.list("")
    assert ([one.key for one in page.items], page.more) == (["a", "b"], True)
    assert len((await store.list("")).items) == 3
