"""``flowli bench``: figures of a bucket, and nothing left in it."""

import asyncio

from flowli.cli.bench.corner import Corner
from flowli.stores.memory import MemoryStore
from flowli.testing.stores import CountingStore


def files(bucket):
    return {path for path in bucket.rglob("*") if path.is_file() and not {".locks", ".tmp"} & set(path.parts)}


def test_it_counts_what_executions_cost_and_leaves_the_bucket_as_it_was(flowli, bucket):
    flowli("start", "echo", "--arg", "text=hi")
    before = files(bucket)
    told = flowli.json("bench", "--executions", "6", "--steps", "3", "--concurrency", "4")
    assert files(bucket) == before
    assert (told["executions"], told["steps"], told["concurrency"], told["free"]) == (6, 3, 4, True)
    assert told["writes"] >= 7, "start, task and lease, three commits"
    assert told["reads"] >= 3
    assert told["deletes"] > 0
    assert told["sent"] > 1000
    assert told["removed"] > 7 * 7
    assert told["usd_per_million"] >= 7 * 5
    assert 0 < told["create"]["p50_ms"] <= told["create"]["p90_ms"] <= told["create"]["max_ms"]
    shown = flowli("bench", "--executions", "2", "--steps", "1")
    assert "a million executions" in shown
    assert "1 step alone" in shown
    assert files(bucket) == before


def test_a_bucket_must_be_named_and_exist(flowli, bucket, monkeypatch):
    flowli("bench", code=3)
    assert "There is no folder" in flowli.errors
    monkeypatch.delenv("FLOWLI_STORAGE")
    flowli("bench", code=2)
    assert "no storage is named" in flowli.errors


async def test_a_corner_is_a_bucket_of_its_own():
    inner = CountingStore(MemoryStore())
    await inner.put("wf/x", b"theirs")
    corner = Corner(inner, "wf/probe/t/")
    other = corner.fork()
    for n in range(5):
        await corner.put(f"wf/{n}", b"mine", if_absent=True)
    assert await corner.get("wf/x") is None
    assert [one.key for one in (await other.list("wf/", after="wf/2", limit=1)).items] == ["wf/3"]
    assert (await asyncio.gather(corner.get("wf/3")))[0].data == b"mine"
    await corner.delete("wf/0")
    assert await corner.clear() == 4
    assert [one.key for one in (await inner.list("wf/")).items] == ["wf/x"]
    await corner.close()
    assert await inner.get("wf/x") is not None
