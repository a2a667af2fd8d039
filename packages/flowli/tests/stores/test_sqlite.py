"""One file: the whole contract, group commit, other processes, kills, and what cannot be a bucket."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sqlite3
import sys
import textwrap
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from flowli.cairn.errors import (
    StoreConfigError,
    StoreFull,
    StoreMissing,
    StorePermission,
    StoreUnavailable,
)
from flowli.cairn.write import Lost, Unknown, Won
from flowli.stores.sqlite import SqliteConfig, SqliteStore
from flowli.stores.sqlite.file import BucketFile
from flowli.testing.suites.object_store import ObjectStoreSuite


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    opened = SqliteStore.from_url(f"sqlite:{tmp_path}/bucket.db?durability=os")
    yield opened
    await opened.close()


class TestSqliteStore(ObjectStoreSuite):
    @pytest.fixture
    async def store(self, tmp_path: Path) -> AsyncIterator[SqliteStore]:
        store = SqliteStore.from_url(f"sqlite:{tmp_path}/bucket.db")
        yield store
        await store.close()


def statements(store: SqliteStore) -> list[str]:
    """What the writing connection executes from now on."""
    seen: list[str] = []
    store._file._writer.set_trace_callback(seen.append)
    return seen


async def test_writes_that_come_together_wait_for_the_disk_once(store: SqliteStore) -> None:
    seen = statements(store)
    outcomes = await asyncio.gather(*(store.put(f"a/{n}", b"x") for n in range(100)))
    assert all(isinstance(one, Won) for one in outcomes)
    assert seen.count("COMMIT") == 1
    assert len({one.version for one in outcomes if isinstance(one, Won)}) == 100


async def test_conditions_hold_between_the_writes_of_one_batch(store: SqliteStore) -> None:
    first = await store.put("a", b"1")
    assert isinstance(first, Won)
    seen = statements(store)
    created = await asyncio.gather(*(store.put("b", b"%d" % n, if_absent=True) for n in range(10)))
    changed = await asyncio.gather(*(store.put("a", b"%d" % n, if_version=first.version) for n in range(10)))
    assert seen.count("COMMIT") == 2
    for outcomes in (created, changed):
        assert [type(one) for one in outcomes] == [Won] + [Lost] * 9


async def test_a_large_batch_is_cut(store: SqliteStore) -> None:
    seen = statements(store)
    await asyncio.gather(*(store.put(f"a/{n}", bytes(6 * 2**20)) for n in range(5)))
    assert seen.count("COMMIT") == 3  # 16 MiB hold two


async def test_a_version_is_never_used_again(store: SqliteStore) -> None:
    seen = set()
    for _ in range(3):
        won = await store.put("a", b"x")
        assert isinstance(won, Won)
        assert won.version not in seen
        seen.add(won.version)
        await store.delete("a")


async def test_one_that_is_cancelled_does_not_disturb_the_others(store: SqliteStore) -> None:
    calls = [asyncio.ensure_future(store.put(f"a/{n}", b"x")) for n in range(5)]
    await asyncio.sleep(0)
    calls[2].cancel()
    outcomes = await asyncio.gather(*calls, return_exceptions=True)
    assert [isinstance(one, Won) for one in outcomes] == [True, True, False, True, True]
    await store.put("b", b"x")


async def test_writes_under_way_are_finished_when_it_closes(tmp_path: Path) -> None:
    store = SqliteStore.from_url(f"sqlite:{tmp_path}/bucket.db")
    call = asyncio.ensure_future(store.put("a", b"x"))
    await asyncio.sleep(0)
    await store.close()
    assert isinstance(await call, Won)
    with pytest.raises(StoreUnavailable, match="is closed"):
        await store.get("a")
    again = SqliteStore.from_url(f"sqlite:{tmp_path}/bucket.db")
    assert await again.get("a") is not None
    await again.close()


WORKER = textwrap.dedent("""
    import asyncio, json, sys
    from flowli.cairn.write import Won
    from flowli.stores.sqlite import SqliteStore

    async def main():
        store = SqliteStore.from_url(f"sqlite:{sys.argv[1]}?durability=os")
        mine = []
        async def create(n):
            if isinstance(await store.put(f"c/{n}", sys.argv[2].encode(), if_absent=True), Won):
                mine.append(n)
        async def raise_it():
            while True:
                found = await store.get("n")
                body = f"{int(found.data) + 1}".encode()
                if isinstance(await store.put("n", body, if_version=found.version), Won):
                    return
        await asyncio.gather(*map(create, range(200)), *(raise_it() for _ in range(60)))
        await store.close()
        print(json.dumps(mine))

    asyncio.run(main())
""")


async def test_processes_share_a_file_and_lose_nothing(store: SqliteStore, tmp_path: Path) -> None:
    await store.put("n", b"0")
    processes = [
        await asyncio.create_subprocess_exec(
            sys.executable, "-c", WORKER, str(tmp_path / "bucket.db"), name, stdout=asyncio.subprocess.PIPE
        )
        for name in ("one", "two")
    ]
    answers = [json.loads((await process.communicate())[0]) for process in processes]
    assert [process.returncode for process in processes] == [0, 0]
    assert sorted(answers[0] + answers[1]) == list(range(200))
    for name, mine in zip((b"one", b"two"), answers, strict=True):
        for n in mine:
            found = await store.get(f"c/{n}")
            assert found is not None
            assert found.data == name
    found = await store.get("n")
    assert found is not None
    assert found.data == b"120"


MAKER = "import sys; from flowli.stores.sqlite import SqliteStore; SqliteStore.from_url(f'sqlite:{sys.argv[1]}')"


async def test_processes_that_make_the_file_at_once_make_one(tmp_path: Path) -> None:
    path = str(tmp_path / "new.db")
    makers = [await asyncio.create_subprocess_exec(sys.executable, "-c", MAKER, path) for _ in range(6)]
    assert [await maker.wait() for maker in makers] == [0] * 6


KILLED = textwrap.dedent("""
    import asyncio, os, sys
    from flowli.stores.sqlite import SqliteStore

    async def main():
        store = SqliteStore.from_url(f"sqlite:{sys.argv[1]}")
        for n in range(100000):
            await asyncio.gather(*(store.put(f"{n:06d}/{m}", b"%d" % n * 500) for m in range(4)))
            os.write(1, b"%d\\n" % n)

    asyncio.run(main())
""")


async def test_what_was_won_before_a_kill_is_there_and_nothing_is_torn(tmp_path: Path) -> None:
    for rounds in (3, 17, 40):
        path = tmp_path / f"bucket{rounds}.db"
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", KILLED, str(path), stdout=asyncio.subprocess.PIPE
        )
        assert process.stdout is not None
        won = -1
        while won < rounds:
            won = int(await process.stdout.readline())
        process.send_signal(signal.SIGKILL)
        won = max([won, *map(int, (await process.stdout.read()).split())])
        await process.wait()
        store = SqliteStore.from_url(f"sqlite:{path}")
        keys = [one.key for one in (await store.list("")).items]
        assert keys[: 4 * (won + 1)] == [f"{n:06d}/{m}" for n in range(won + 1) for m in range(4)]
        assert len(keys) % 4 == 0  # one transaction: whole or absent
        for key in keys:
            found = await store.get(key)
            assert found is not None
            assert found.data == b"%d" % int(key.split("/")[0]) * 500
        await store.close()


async def test_a_disk_that_is_full_is_named_and_costs_nothing_else(store: SqliteStore) -> None:
    await store.put("a", b"kept")
    store._file._writer.execute("PRAGMA max_page_count = 40")
    with pytest.raises(StoreFull, match="No space is left"):
        await store.put("b", bytes(2**20))
    assert isinstance(await store.put("c", b"small"), Won)
    assert [one.key for one in (await store.list("")).items] == ["a", "c"]


class _Fails:
    """A connection whose COMMIT ends in an error of the disk."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self.db = db

    def __getattr__(self, name: str) -> object:
        return getattr(self.db, name)

    def execute(self, sql: str, *rest: object) -> sqlite3.Cursor:
        done = self.db.execute(sql, *rest)  # type: ignore[arg-type]
        if sql == "COMMIT":
            raise sqlite3.OperationalError("disk I/O error")
        return done


async def test_a_disk_that_fails_at_the_end_leaves_the_fate_open(store: SqliteStore) -> None:
    real = store._file._writer
    store._file._writer = _Fails(real)  # type: ignore[assignment]
    outcome = await store.put("a", b"x")
    assert isinstance(outcome, Unknown)
    assert "disk I/O error" in outcome.cause
    store._file._writer = real
    assert await store.get("a") is not None


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("sqlite:", "does not name a file"),
        ("sqlite://server/share.db", "host 'server'"),
        ("sqlite3:x", "not the URL of a file"),
        ("sqlite:b?durabilty=os", "Did you mean 'durability'"),
    ],
)
def test_a_wrong_url_is_refused_with_advice(url: str, says: str) -> None:
    with pytest.raises(StoreConfigError, match=says):
        SqliteStore.from_url(url)


def test_what_cannot_be_a_bucket_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(StoreConfigError, match="is a folder"):
        SqliteStore.from_url(f"sqlite:{tmp_path}")
    with pytest.raises(StoreMissing, match="mkdir -p"):
        SqliteStore.from_url(f"sqlite:{tmp_path}/none/bucket.db")
    with pytest.raises(StoreMissing, match="There is no file"):
        SqliteStore.from_url(f"sqlite:{tmp_path}/bucket.db?create=false")
    (tmp_path / "text").write_text("no database\n" * 500)
    with pytest.raises(StoreConfigError, match="not a SQLite file"):
        SqliteStore.from_url(f"sqlite:{tmp_path}/text")
    other = sqlite3.connect(tmp_path / "other.db")
    other.execute("CREATE TABLE theirs (x)")
    other.close()
    with pytest.raises(StoreConfigError, match="something else"):
        SqliteStore.from_url(f"sqlite:{tmp_path}/other.db")


async def test_a_file_of_a_newer_layout_is_refused(store: SqliteStore, tmp_path: Path) -> None:
    store._file._writer.execute("PRAGMA user_version = 2")
    with pytest.raises(StoreConfigError, match="Upgrade flowli"):
        SqliteStore.from_url(f"sqlite:{tmp_path}/bucket.db")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_place_that_may_not_be_written_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(StorePermission):
        SqliteStore.from_url(f"sqlite:{tmp_path}/bucket.db")
    tmp_path.chmod(0o700)


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="this system does not list open files")
def test_a_file_that_cannot_be_opened_lets_go_of_everything(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no database\n" * 500)
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        with pytest.raises(StoreConfigError):
            BucketFile(SqliteConfig(str(tmp_path / "text")))
    assert len(os.listdir("/proc/self/fd")) <= before
