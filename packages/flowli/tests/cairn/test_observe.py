"""Every request to a store is told of, with how it ended."""

import asyncio

import pytest

from flowli.cairn.errors import StoreThrottled
from flowli.cairn.observe import ObservedRequest, RequestCounts, observed
from flowli.stores.memory import MemoryStore
from flowli.testing.stores import DropReply, Fault, FaultStore, Hold, Refuse


def told(counts: RequestCounts) -> dict[tuple[str, str], int]:
    return {(one.verb, one.outcome.value): one.requests for one in counts.rows()}


async def test_requests_are_counted_by_verb_and_outcome_with_their_bytes():
    counts = RequestCounts()
    store = observed(MemoryStore(), counts)
    assert await store.get("a") is None
    version = (await store.put("a", b"12345", if_absent=True)).version
    await store.put("a", b"x", if_absent=True)
    await store.put("b", b"x", if_version=version)
    await store.get("a")
    await store.list("")
    await store.delete("a", if_version="none")
    await store.delete_many(["a"])
    assert told(counts) == {
        ("delete", "lost"): 1,
        ("delete_many", "done"): 1,
        ("get", "absent"): 1,
        ("get", "done"): 1,
        ("list", "done"): 1,
        ("put", "done"): 1,
        ("put", "gone"): 1,
        ("put", "lost"): 1,
    }
    rows = {(one.verb, one.outcome.value): one for one in counts.rows()}
    assert (rows["put", "done"].sent_bytes, rows["get", "done"].received_bytes) == (5, 5)
    assert all(one.seconds >= 0 for one in counts.rows())
    assert store.url == "memory:"
    assert store.capabilities.cheap_listing


async def test_throttles_refusals_and_unknown_writes_are_told_apart():
    counts = RequestCounts()
    script = [
        Fault(Refuse(StoreThrottled("busy")), verb="get", times=2),
        Fault(Refuse(KeyError("no store error")), verb="list"),
        Fault(DropReply()),
    ]
    store = observed(FaultStore(MemoryStore(), script), counts).fork()
    for _ in range(2):
        with pytest.raises(StoreThrottled):
            await store.get("a")
    with pytest.raises(KeyError):
        await store.list("")
    await store.put("a", b"x")
    assert told(counts) == {("get", "throttled"): 2, ("list", "abandoned"): 1, ("put", "unknown"): 1}
    assert counts.throttled == 2
    await store.close()


async def test_a_request_whose_caller_gave_up_is_told_of_too():
    hold = Hold()
    seen: list[ObservedRequest] = []
    store = observed(FaultStore(MemoryStore(), [Fault(hold)]), seen.append)
    write = asyncio.ensure_future(store.put("a", b"x"))
    await hold.reached.wait()
    write.cancel()
    await asyncio.gather(write, return_exceptions=True)
    assert [(one.verb, one.key, one.outcome.value) for one in seen] == [("put", "a", "abandoned")]
