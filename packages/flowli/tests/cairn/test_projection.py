import asyncio
import hashlib
import signal
import sqlite3
import sys
import textwrap
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from flowli.cairn.database import Cairn
from flowli.cairn.log import START, Log, Position
from flowli.cairn.projection import Projection, Record, of_log
from flowli.stores.memory import MemoryStore
from flowli.world import SYSTEM


class Totals:
    name = "totals"
    version = 1

    def __init__(self) -> None:
        self.applied = 0

    def create(self, db: sqlite3.Connection) -> None:
        db.execute("CREATE TABLE totals(name TEXT PRIMARY KEY, total INTEGER, last INTEGER)")
        db.execute("CREATE INDEX by_total ON totals(total)")
        db.execute("CREATE VIEW large AS SELECT * FROM totals WHERE total > 1")

    def apply(self, db: sqlite3.Connection, entries: Sequence[Record]) -> None:
        for entry in entries:
            self.one(db, entry)

    def one(self, db: sqlite3.Connection, entry: Record) -> None:
        self.applied += 1
        db.execute(
            "INSERT INTO totals VALUES (?, 1, ?) ON CONFLICT DO UPDATE SET total = total + 1, last = excluded.last",
            (entry.data["name"], entry.seq),
        )


class Renamed(Totals):
    version = 2


@pytest.fixture
def log() -> Log:
    return Cairn(MemoryStore(), SYSTEM).log("wf")


@pytest.fixture
async def projection(log: Log, tmp_path: Path) -> AsyncIterator[Projection[Record]]:
    made = opened(log, tmp_path)
    yield made
    await made.close()


def opened(log: Log, folder: Path, fold: Totals | None = None, source: str = "a") -> Projection[Record]:
    return Projection(of_log(log), str(folder / "p.sqlite"), fold or Totals(), SYSTEM, bucket=source)


async def fill(log: Log, commits: int, records: int = 10) -> Position:
    end = START
    for n in range(commits):
        end = await log.append_next([{"name": f"n{(n * records + m) % 17}"} for m in range(records)], "w")
    return end


async def query(projection: Projection[Record], sql: str) -> list[tuple[object, ...]]:
    return await projection.read(lambda db: db.execute(sql).fetchall())


async def digest(projection: Projection[Record]) -> str:
    rows = await query(projection, "SELECT * FROM totals ORDER BY name")
    return hashlib.sha256(repr(rows).encode()).hexdigest()


async def test_own_write_is_folded_after_catching_up(log: Log, projection: Projection[Record]) -> None:
    assert await query(projection, "SELECT * FROM totals") == []
    end = await log.append_next([{"name": "a"}, {"name": "a"}, {"name": "b"}], "w")
    assert await projection.catch_up() >= end
    assert await query(projection, "SELECT * FROM totals ORDER BY name") == [("a", 2, 2), ("b", 1, 3)]
    assert projection.position == end


async def test_rows_built_at_once_bit_by_bit_and_anew_are_equal(
    log: Log, projection: Projection[Record], tmp_path: Path
) -> None:
    for _ in range(5):
        await fill(log, 7)
        await projection.catch_up()
    built = await digest(projection)
    assert await projection.rebuild() == projection.position
    assert await digest(projection) == built
    (tmp_path / "other").mkdir()
    other = opened(log, tmp_path / "other")
    await other.catch_up()
    assert await digest(other) == built
    await other.close()


async def test_file_of_a_stopped_process_is_resumed(log: Log, tmp_path: Path) -> None:
    await fill(log, 5)
    first = opened(log, tmp_path)
    await first.catch_up()
    await first.close()
    end = await fill(log, 1)
    fold = Totals()
    second = opened(log, tmp_path, fold)
    assert await second.catch_up() == end
    assert fold.applied == 10
    await second.close()


@pytest.mark.parametrize("change", ["version", "source", "damage", "empty"])
async def test_file_that_does_not_fit_is_built_anew_and_said_once(
    log: Log, tmp_path: Path, change: str, caplog: pytest.LogCaptureFixture
) -> None:
    end = await fill(log, 5)
    first = opened(log, tmp_path)
    await first.catch_up()
    built = await digest(first)
    await first.close()
    if change == "damage":
        (tmp_path / "p.sqlite").write_bytes(b"no database at all" * 100)
    if change == "empty":
        (tmp_path / "p.sqlite").write_bytes(b"")
    second = opened(log, tmp_path, Renamed() if change == "version" else Totals(), "b" if change == "source" else "a")
    assert await second.catch_up() == end
    await second.catch_up()
    assert await digest(second) == built
    await second.close()
    assert len(caplog.records) == (change != "empty")


async def test_several_projections_on_one_file_fold_each_record_once(log: Log, tmp_path: Path) -> None:
    folds = [Totals() for _ in range(3)]
    projections = [opened(log, tmp_path, fold) for fold in folds]
    for _ in range(5):
        await fill(log, 4)
        await asyncio.gather(*(one.catch_up() for one in projections))
    assert sum(fold.applied for fold in folds) == 200
    rows = await query(projections[0], "SELECT sum(total) FROM totals")
    assert rows == [(200,)]
    for one in projections:
        await one.close()


async def test_readers_are_never_blocked_while_it_catches_up(log: Log, tmp_path: Path) -> None:
    writer, reader = opened(log, tmp_path), opened(log, tmp_path)
    await writer.catch_up()
    await fill(log, 1000)
    done = asyncio.ensure_future(writer.catch_up())

    async def read() -> int:
        reads = 0
        while not done.done():
            ((total, applied),) = await query(
                reader, "SELECT coalesce(sum(total), 0), (SELECT seq FROM projection) FROM totals"
            )
            assert total == applied  # the position is of the same transaction as the rows
            reads += 1
        return reads

    assert min(await asyncio.gather(*(read() for _ in range(8)))) > 0
    assert (await done).seq == 10_000
    await writer.close()
    await reader.close()


async def test_fold_that_fails_leaves_rows_and_position_as_they_were(log: Log, tmp_path: Path) -> None:
    class Fails(Totals):
        def one(self, db: sqlite3.Connection, entry: Record) -> None:
            super().one(db, entry)
            if self.applied == 25:
                raise RuntimeError("once")

    fold = Fails()
    projection = opened(log, tmp_path, fold)
    end = await fill(log, 5)
    with pytest.raises(RuntimeError):
        await projection.catch_up()
    assert await query(projection, "SELECT (SELECT seq FROM projection), count(*) FROM totals") == [(0, 0)]
    assert await projection.catch_up() == end
    assert await query(projection, "SELECT sum(total) FROM totals") == [(50,)]
    await projection.close()


async def test_killed_in_the_middle_of_a_transaction_it_resumes(tmp_path: Path) -> None:
    script = textwrap.dedent("""
        import asyncio, os, signal, sqlite3, sys
        from flowli.cairn.database import Cairn
        from flowli.cairn.projection import Projection, Record, of_log
        from flowli.stores.filesystem import FilesystemStore
        from flowli.world import SYSTEM

        class Dies:
            name, version = "totals", 1
            def create(self, db):
                db.execute("CREATE TABLE totals(name TEXT PRIMARY KEY, total INTEGER, last INTEGER)")
            def apply(self, db, entries):
                for entry in entries:
                    db.execute("INSERT INTO totals VALUES (?, 1, ?) "
                        "ON CONFLICT DO UPDATE SET total = total + 1, last = excluded.last",
                        (entry.data["name"], entry.seq))
                    if entry.seq == int(sys.argv[2]):
                        os.kill(os.getpid(), signal.SIGKILL)

        async def main():
            log = Cairn(FilesystemStore.from_url(f"file:{sys.argv[1]}/bucket?durability=os"), SYSTEM).log("wf")
            await Projection(of_log(log), sys.argv[1] + "/p.sqlite", Dies(), SYSTEM, bucket="a").catch_up()

        asyncio.run(main())
    """)
    from flowli.stores.filesystem import FilesystemStore

    store = FilesystemStore.from_url(f"file:{tmp_path}/bucket?durability=os")
    log = Cairn(store, SYSTEM).log("wf")
    for at in (5, 35):
        await fill(log, 3)
        killed = await asyncio.create_subprocess_exec(sys.executable, "-c", script, str(tmp_path), str(at))
        assert await killed.wait() == -signal.SIGKILL
    projection = opened(log, tmp_path)
    await projection.catch_up()
    assert await query(projection, "SELECT sum(total), max(last) FROM totals") == [(60, 60)]
    await projection.close()
    await store.close()
