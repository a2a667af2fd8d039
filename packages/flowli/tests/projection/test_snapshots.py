"""The snapshot in the bucket: a file that begins with it is the one that a fold of the whole log makes."""

from __future__ import annotations

import asyncio
import logging
import os
import sqlite3
import zlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from flowli.adapters.cairndb import CairnBackend
from flowli.adapters.cairndb import control as cairn_control
from flowli.adapters.coded import Encryption, KeyRing, ValueCodec
from flowli.adapters.memory import MemoryBackend
from flowli.adapters.projection import WorkflowProjection, schema, snapshot_due, snapshots, write_snapshot
from flowli.cairn import packed
from flowli.cairn.store import ObjectStore
from flowli.domain.control_entries import Announced, AttributesSet, StatusChanged
from flowli.domain.errors import ErrorInfo
from flowli.domain.execution import ExecutionStatus
from flowli.domain.ports import ControlLog, FoldedLog
from flowli.stores.memory import MemoryStore
from flowli.testing.stores import Fault, FaultStore, Hold, Refuse

from .entries import created, eid, entry, life, status

CURRENT = "logs/wf/snapshots/projection/current"
SECRET = "card-4711"
TABLES = ("executions", "waits", "attributes", "announcements", "acts")


@pytest.fixture
def store() -> FaultStore:
    return FaultStore(MemoryStore())


@pytest.fixture
async def control(store: FaultStore) -> AsyncIterator[ControlLog]:
    yield opened(store)
    await store.close()


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed, "PART_BYTES", 40_000)
    monkeypatch.setattr(cairn_control, "LINGER_S", 0.0)


def opened(store: ObjectStore) -> ControlLog:
    return CairnBackend(store).ports.control


async def fill(control: ControlLog, first: int, last: int) -> None:
    for n in range(first, last):
        await control.append(life(n))


async def folded(control: ControlLog, path: Path, *, whole: bool = False) -> list[tuple[object, ...]]:
    """The rows of a new file, from the start of the log or as it begins by itself."""
    for old in filter(os.path.lexists, (f"{path}", f"{path}-wal", f"{path}-shm")):
        os.unlink(old)
    projection = WorkflowProjection(str(path), control)
    await (projection.rebuild() if whole else projection.catch_up())
    await projection.close()
    db = sqlite3.connect(path)
    rows = [row for table in TABLES for row in db.execute(f"SELECT * FROM {table} ORDER BY 1, 2, 3").fetchall()]
    rows += db.execute("SELECT commits, seq FROM projection").fetchall()
    db.close()
    return rows


async def bodies(store: FaultStore) -> list[bytes]:
    """Everything in the bucket that belongs to snapshots, unpacked."""
    found = []
    for item in (await store.store.list("logs/wf/snapshots/projection/")).items:
        one = await store.store.get(item.key)
        assert one is not None
        found.append(one.data if item.key == CURRENT else zlib.decompress(one.data))
    return found


async def test_a_file_that_begins_with_a_snapshot_is_that_of_the_whole_log(
    store: FaultStore, control: ControlLog, tmp_path: Path
) -> None:
    """STO-12, BUD-10."""
    await fill(control, 0, 120)
    written = await write_snapshot(control)
    assert written is not None
    assert (written.kept, written.position.seq) == (True, 120 * 9)
    assert written.parts > 2
    await fill(control, 120, 125)
    whole = await folded(control, tmp_path / "whole.db", whole=True)
    mark = store.snapshot()
    assert await folded(opened(store), tmp_path / "new.db") == whole
    counts = store.since(mark, "logs/wf/*")
    first = store.since(mark, "logs/wf/log/00000000000[1-9].msgpack")
    assert (counts.put, first.get) == (0, 0)
    assert counts.list <= 1
    assert counts.get <= written.parts + 3 + 22, "document, boundary, last commit; then the commits behind it"
    assert not [name for name in os.listdir(tmp_path) if name.startswith(".incoming")]


async def test_the_next_snapshot_replaces_the_one_before_and_begins_with_it(
    store: FaultStore, control: ControlLog, tmp_path: Path
) -> None:
    await fill(control, 0, 30)
    await write_snapshot(control)
    await fill(control, 30, 60)
    mark = store.snapshot()
    written = await write_snapshot(control)
    assert written is not None
    counts = store.since(mark, "logs/wf/*")
    assert counts.put == written.parts + 1, "the parts and the document"
    assert counts.list <= 2, "what is left of earlier ones; segments"
    assert store.since(mark, "logs/wf/log/00000000000[1-9].msgpack").get == 0
    keys = [item.key for item in (await store.store.list("logs/wf/snapshots/projection/")).items]
    assert len(keys) == written.parts + 1
    assert await folded(opened(store), tmp_path / "a.db") == await folded(control, tmp_path / "b.db", whole=True)
    again = await write_snapshot(control)
    assert again is not None
    assert not again.kept, "the one that is there reaches as far"


async def test_a_writer_that_dies_at_any_request_leaves_one_whole_snapshot(
    store: FaultStore, control: ControlLog, tmp_path: Path
) -> None:
    await fill(control, 0, 20)
    await write_snapshot(control)
    died = 0
    for nth in range(1, 100):
        await fill(control, 19 + nth, 20 + nth)
        fault = Fault(
            Refuse(RuntimeError("the power is gone")), verb="*", key="logs/wf/snapshots/*", nth=nth, times=999
        )
        dying = FaultStore(store, [fault])
        try:
            await write_snapshot(opened(dying))
            break
        except RuntimeError:
            died += 1
        assert await opened(store).snapshot() is not None  # type: ignore[attr-defined]
        assert await folded(opened(store), tmp_path / "new.db") == await folded(
            control, tmp_path / "whole.db", whole=True
        )
    assert died > 10, "reads, parts, document, the look at what is left, its deletion"
    document = await control.snapshot()  # type: ignore[attr-defined]
    left = (await store.list("logs/wf/snapshots/projection/")).items
    assert len(left) == len(document.digests) + 1, "what the dead ones left is gone"


async def test_a_snapshot_of_another_version_is_passed_over_and_said_so(
    store: FaultStore,
    control: ControlLog,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    await fill(control, 0, 10)
    await write_snapshot(control)
    monkeypatch.setattr(schema, "VERSION", schema.VERSION - 1)
    with caplog.at_level(logging.WARNING):
        older = await folded(opened(store), tmp_path / "older.db")
    assert f"not control {schema.VERSION}: the whole log is folded" in caplog.text
    assert len(older) > 10
    written = await write_snapshot(control)
    assert written is not None
    assert not written.kept, "a newer version's is not replaced"
    monkeypatch.undo()
    monkeypatch.setattr(schema, "VERSION", schema.VERSION + 1)
    written = await write_snapshot(control)
    assert written is not None
    assert written.kept


@pytest.mark.parametrize("damage", ["document", "form", "part", "missing", "not rows"])
async def test_a_damaged_snapshot_is_passed_over_said_so_and_replaced(
    store: FaultStore, control: ControlLog, tmp_path: Path, caplog: pytest.LogCaptureFixture, damage: str
) -> None:
    await fill(control, 0, 20)
    await write_snapshot(control)
    whole = await folded(control, tmp_path / "whole.db", whole=True)
    keys = [item.key for item in (await store.list("logs/wf/snapshots/projection/")).items]
    part = next(key for key in keys if key != CURRENT)
    if damage == "document":
        await store.put(CURRENT, b"{")
    elif damage == "form":
        document = await store.get(CURRENT)
        assert document is not None
        await store.put(CURRENT, document.data.replace(b'"fold":"control"', b'"fold":7,"digests_":1'))
    elif damage == "part":
        await store.put(part, b"?")
    elif damage == "missing":
        await store.delete(part)
    else:
        await store.delete_many(keys)
        port = opened(store)
        head = FoldedLog("control", schema.VERSION, (await port.read()).position, await port.compacted(), "x")  # type: ignore[attr-defined]
        assert await port.keep_snapshot(head, [zlib.compress(b"no rows" * 4000)])  # type: ignore[attr-defined]
    with caplog.at_level(logging.WARNING):
        assert await folded(opened(store), tmp_path / "new.db") == whole
    assert "snapshot" in caplog.text
    await fill(control, 20, 21)
    written = await write_snapshot(opened(store))
    assert written is not None
    assert written.kept
    assert len((await store.list("logs/wf/snapshots/projection/")).items) == written.parts + 1


async def test_a_snapshot_of_another_log_is_not_used(store: FaultStore, control: ControlLog, tmp_path: Path) -> None:
    """A bucket that was restored from an older copy, but for the snapshot."""
    await fill(control, 0, 30)
    await write_snapshot(control)
    for n in range(20, 31):
        await store.delete(f"logs/wf/log/{n:012d}.msgpack")
    fresh = opened(store)
    assert await fresh.snapshot() is None  # type: ignore[attr-defined]
    await fill(fresh, 100, 115)
    assert await fresh.snapshot() is None  # type: ignore[attr-defined]
    rows = await folded(fresh, tmp_path / "new.db")
    assert rows == await folded(fresh, tmp_path / "whole.db", whole=True)


async def test_a_snapshot_from_before_a_compaction_is_not_used(
    store: FaultStore, control: ControlLog, tmp_path: Path
) -> None:
    """STO-12: the log says less now than it did."""
    await fill(control, 0, 20)
    await write_snapshot(control)
    found = await control.read(limit=9 * 10)
    await control.compact(found.position, [one for one in found.entries if one.seq % 2])
    assert await control.snapshot() is None  # type: ignore[attr-defined]
    whole = await folded(opened(store), tmp_path / "whole.db", whole=True)
    assert await folded(opened(store), tmp_path / "new.db") == whole
    assert await snapshot_due(control, 20_000)
    written = await write_snapshot(control)
    assert written is not None
    assert written.kept
    assert await folded(opened(store), tmp_path / "again.db") == whole


def paid(n: int) -> list[object]:
    error = ErrorInfo("shop.Refused", SECRET)
    return [
        created(n),
        entry(AttributesSet(eid(n), {"card": SECRET}), n),
        entry(Announced("paid", SECRET, eid(n), "root/announce#1"), n),
        entry(StatusChanged(eid(n), ExecutionStatus.FAILED, "execution.failed", 1, 5, error=error), n),
    ]


def erased(n: int) -> object:
    return entry(StatusChanged(eid(n), ExecutionStatus.FAILED, "execution.erased", 2, 6), n + 1)


async def test_nothing_of_an_erased_execution_is_in_a_snapshot(store: FaultStore, control: ControlLog) -> None:
    """RET-9."""
    await control.append(paid(1))  # type: ignore[arg-type]
    await fill(control, 2, 30)
    await write_snapshot(control)
    assert any(SECRET.encode() in body for body in await bodies(store))
    await control.append([erased(1)])  # type: ignore[list-item]
    await control.drop_snapshot()  # type: ignore[attr-defined]
    assert await bodies(store) == []
    written = await write_snapshot(control)
    assert written is not None
    assert written.kept
    assert not any(SECRET.encode() in body for body in await bodies(store))


async def test_a_snapshot_that_comes_while_an_execution_is_erased_is_taken_back(
    store: FaultStore, control: ControlLog
) -> None:
    """RET-9: erasing has looked before the snapshot is there."""
    await control.append(paid(1))  # type: ignore[arg-type]
    slow = Hold()
    store.script = [Fault(slow, key=CURRENT)]
    writing = asyncio.ensure_future(write_snapshot(control))
    await slow.reached.wait()
    other = opened(store.store)
    await other.append([erased(1)])  # type: ignore[list-item]
    await other.drop_snapshot()  # type: ignore[attr-defined]
    slow.gate.set()
    written = await writing
    assert written is not None
    assert not written.kept
    assert await bodies(store) == []


async def test_what_a_dead_writer_left_goes_before_the_erasing_that_it_missed(
    store: FaultStore, control: ControlLog
) -> None:
    await control.append(paid(1))  # type: ignore[arg-type]
    await write_snapshot(control)
    seq = await control.append([erased(1)])  # type: ignore[list-item]
    await control.drop_snapshot(seq - 1)  # type: ignore[attr-defined]
    assert await bodies(store) != [], "it ends with that entry, not before it"
    await control.drop_snapshot(seq)  # type: ignore[attr-defined]
    assert await bodies(store) == []


async def test_a_snapshot_is_due_when_it_is_worth_its_requests(
    control: ControlLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshots, "WORTH_ENTRIES", 90)
    assert not await snapshot_due(control, 89)
    assert await snapshot_due(control, 90)
    await fill(control, 0, 100)
    await write_snapshot(control)
    assert not await snapshot_due(control, 900 + 224), "less than a quarter more"
    assert await snapshot_due(control, 900 + 225)
    assert not await snapshot_due(MemoryBackend().ports.control, 10_000), "it keeps none"
    assert await write_snapshot(MemoryBackend().ports.control) is None


async def test_an_empty_log_has_no_snapshot(control: ControlLog) -> None:
    assert await write_snapshot(control) is None


async def test_behind_a_codec_a_snapshot_is_unreadable_without_the_key(store: FaultStore, tmp_path: Path) -> None:
    plain = CairnBackend(store).ports
    keyed = ValueCodec([Encryption(KeyRing({"k1": b"k" * 32}))]).wrap(plain).control
    await keyed.append(paid(1))  # type: ignore[arg-type]
    written = await write_snapshot(keyed)
    assert written is not None
    assert written.kept
    for item in (await store.list("logs/wf/snapshots/projection/")).items:
        one = await store.get(item.key)
        assert one is not None
        assert b"SQLite" not in one.data
        if item.key != CURRENT:
            with pytest.raises(zlib.error):
                zlib.decompress(one.data)
    assert SECRET in repr(await folded(keyed, tmp_path / "keyed.db"))
    other = ValueCodec([Encryption(KeyRing({"k2": b"o" * 32}))]).wrap(plain).control
    assert (await folded(other, tmp_path / "other.db"))[0][0] == str(eid(1)), "it folds the log"


async def test_the_rows_go_on_from_a_snapshot_as_they_would_have(control: ControlLog, tmp_path: Path) -> None:
    await control.append([created(1), status(1, ExecutionStatus.SUSPENDED, 3, channel="payments")])
    await write_snapshot(control)
    projection = WorkflowProjection(str(tmp_path / "new.db"), control, source="a bucket")
    await projection.catch_up()
    await control.append([status(1, ExecutionStatus.COMPLETED, 5)])
    await projection.catch_up()
    row = await projection.execution(eid(1))
    assert row is not None
    assert (row.status, row.waits_on) == (ExecutionStatus.COMPLETED, ())
    await projection.close()
