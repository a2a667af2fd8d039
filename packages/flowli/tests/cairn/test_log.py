import asyncio

import msgpack
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flowli.cairn.database import Cairn
from flowli.cairn.errors import FormatTooNew, NotStorable, StoreDamaged
from flowli.cairn.log import START, Appended, Log, Position, Taken
from flowli.cairn.snapshot import SEGMENT, segment_of
from flowli.cairn.values import JSON
from flowli.stores.memory import MemoryStore
from flowli.testing.clock import ManualClock, ManualWorld
from flowli.testing.stores import CountingStore


async def add(log: Log, after: Position, count: int = 1, records: int = 1, epoch: int = 1) -> Position:
    for _ in range(count):
        outcome = await log.append([{"n": n} for n in range(records)], after=after, writer="w", epoch=epoch)
        assert isinstance(outcome, Appended)
        after = outcome.position
    return after


async def test_commits_and_records_are_numbered_densely(cairn: Cairn) -> None:
    log = cairn.log("j")
    position = await add(log, START, records=3)
    assert position == Position(1, 3)
    assert await add(log, position, records=2) == Position(2, 5)
    chunk = await log.read()
    assert [(c.number, c.first, len(c.records)) for c in chunk.commits] == [(1, 1, 3), (2, 4, 2)]
    assert (chunk.position, chunk.caught_up) == (Position(2, 5), True)
    assert [c.position for c in chunk.commits] == [Position(1, 3), Position(2, 5)]


async def test_stored_form_is_that_of_the_design(cairn: Cairn, store: CountingStore) -> None:
    await cairn.log("wf.exec.1").append([{"type": "x"}], after=START, writer="w-1", epoch=7)
    found = await store.get("logs/wf.exec.1/log/000000000001.msgpack")
    assert found is not None
    body = msgpack.unpackb(found.data)
    assert body | {"id": "", "at": ""} == {
        "v": 1,
        "first": 1,
        "writer": "w-1",
        "epoch": 7,
        "at": "",
        "id": "",
        "records": [{"type": "x"}],
    }
    assert body["at"] == "2026-01-01T00:00:00.000000Z"


async def test_append_is_one_write_and_a_poll_one_read(cairn: Cairn, store: CountingStore) -> None:
    log = cairn.log("j")
    position = await add(log, START, count=20)
    assert [one.verb for one in store.requests] == ["put"] * 20
    mark = store.snapshot()
    assert (await log.read(position)).caught_up
    assert [one.verb for one in store.requests[mark:]] == ["get"]


async def test_number_that_is_taken_tells_who_took_it_and_is_not_tried_again(
    cairn: Cairn, store: CountingStore
) -> None:
    await add(cairn.log("j"), START, epoch=2)
    mark = store.snapshot()
    outcome = await Log(cairn.documents, "j", cairn.world).append([{"late": 1}], after=START, writer="old", epoch=1)
    assert isinstance(outcome, Taken)
    assert [(c.number, c.epoch, c.writer) for c in outcome.commits] == [(1, 2, "w")]
    assert [one.verb for one in store.requests[mark:]] == ["put", "get"]


async def test_of_two_owners_at_one_position_one_commits(cairn: Cairn) -> None:
    logs = [Log(cairn.documents, "j", cairn.world) for _ in range(5)]
    outcomes = await asyncio.gather(
        *(log.append([{"by": n}], after=START, writer=str(n)) for n, log in enumerate(logs))
    )
    assert sum(isinstance(one, Appended) for one in outcomes) == 1
    assert len({one.commits[0].writer for one in outcomes if isinstance(one, Taken)}) == 1


@pytest.mark.parametrize("bad", [{"a": object()}, {"a": 2**70}, {"a": {1, 2}}, {"a": (1,)}])
async def test_record_without_stored_form_is_named_and_nothing_is_written(
    cairn: Cairn, store: CountingStore, bad: dict[str, JSON]
) -> None:
    log = cairn.log("j")
    with pytest.raises(NotStorable, match="Record 1"):
        await log.append([{"a": 1}, bad], after=START, writer="w")
    with pytest.raises(NotStorable, match="at least one"):
        await log.append([], after=START, writer="w")
    assert store.requests == []


async def test_damaged_and_newer_commits_are_refused(cairn: Cairn, store: CountingStore) -> None:
    key = "logs/j/log/000000000001.msgpack"
    for data in (b"", b"\xc1", msgpack.packb([1]), msgpack.packb({"v": 1}), msgpack.packb({"v": 1, "records": [1]})):
        await store.put(key, data)
        with pytest.raises(StoreDamaged, match="logs/j/log"):
            await cairn.log("j").read()
    await store.put(key, msgpack.packb({"v": 2, "records": []}))
    with pytest.raises(FormatTooNew, match="format 2"):
        await cairn.log("j").read()


async def test_read_in_parts_gives_what_one_read_gives(cairn: Cairn) -> None:
    log = cairn.log("j")
    await add(log, START, count=150, records=2)
    whole = await log.read()
    for limit in (1, 3, 64, 100, 150):
        commits, position = [], START
        while True:
            chunk = await log.read(position, limit)
            assert len(chunk.commits) <= limit
            commits += chunk.commits
            position = chunk.position
            if chunk.caught_up:
                break
        assert commits == whole.commits
        assert position == whole.position == Position(150, 300)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 330), st.integers(0, 6), st.integers(0, 330), st.one_of(st.none(), st.integers(1, 400)))
def test_segments_are_a_cache(length: int, segments: int, start: int, limit: int | None) -> None:
    """STO-12."""

    async def run() -> None:
        world = ManualWorld(ManualClock())
        log = Cairn(MemoryStore(world=world), world).log("j")
        end = await add(log, START, count=length, records=2)
        after = Position(min(start, length), 2 * min(start, length))
        plain = await log.read(after, limit)
        for segment in range(1, segments + 1):
            assert await log.segments.write(segment) == (segment * SEGMENT <= length)
        assert (await log.read(after, limit)).commits == plain.commits
        assert limit is not None or plain.position == max(end, after)
        assert [c.number for c in plain.commits] == list(range(after.commit + 1, plain.position.commit + 1))

    asyncio.run(run())


async def test_cold_read_of_a_long_log_takes_few_requests_in_few_rounds(
    store: CountingStore, world: ManualWorld
) -> None:
    """BUD-7."""
    cairn = Cairn(store, world)
    log = cairn.log("j")
    await add(log, START, count=1000)
    for segment in range(1, 16):
        assert await log.segments.write(segment)
    assert not await log.segments.write(1)
    mark = store.snapshot()
    chunk = await Cairn(store, world).log("j").read()
    assert len(chunk.commits) == 1000
    counts = store.since(mark)
    assert counts.get <= 1000 / 64 + 64
    assert counts.list <= 2


async def test_long_log_without_segments_is_read_in_pages(store: CountingStore, cairn: Cairn) -> None:
    await add(cairn.log("j"), START, count=200)
    mark = store.snapshot()
    assert len((await cairn.log("j").read()).commits) == 200
    assert store.since(mark).get <= 200 + 64
    assert store.since(mark, "logs/j/log/*").list == 0


async def test_damaged_segment_says_that_it_is_a_cache(cairn: Cairn, store: CountingStore) -> None:
    await add(cairn.log("j"), START, count=64)
    await store.put(cairn.log("j").segments.key(1), msgpack.packb({"v": 1}))
    with pytest.raises(StoreDamaged, match="it is a cache"):
        await cairn.log("j").segments.read(1)
    await store.put(cairn.log("j").segments.key(1), msgpack.packb({"v": 2}))
    with pytest.raises(FormatTooNew, match="segment format 2"):
        await cairn.log("j").segments.read(1)


def test_segment_of_a_number() -> None:
    assert [segment_of(n) for n in (1, 64, 65, 128, 129)] == [1, 1, 2, 2, 3]


async def test_one_object_per_name_while_in_use(cairn: Cairn) -> None:
    log = cairn.log("first")
    for n in range(2000):
        cairn.log(f"other.{n}")
    assert cairn.log("first") is log
    assert cairn.fork().log("first") is not log
