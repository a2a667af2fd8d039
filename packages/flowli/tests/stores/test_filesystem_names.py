import asyncio
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flowli.cairn.errors import KeyRefused
from flowli.cairn.keys import check_key
from flowli.stores.filesystem import FilesystemStore
from flowli.stores.filesystem.names import CUT, OBJECT, decoded, place
from flowli.stores.memory import MemoryStore

INSTANTS = ["2026-11-30T14:25:14.123456Z", "2026-11-30T14:25:14.123457Z", "2026-11-30T15:00:00.000000Z"]
parts = st.one_of(
    st.text(alphabet="abAB.~=^%,-", min_size=1, max_size=4),
    st.sampled_from(["a", "A", "b", "2026-11-30T14:x", *INSTANTS, f"{INSTANTS[0]}.x", "y" * 199, "y" * 200, "y" * 201]),
    st.text(alphabet="y^%~", min_size=195, max_size=210),
)


def valid(key: str) -> bool:
    try:
        return bool(check_key(key))
    except KeyRefused:
        return False


keys = st.lists(parts, min_size=1, max_size=4).map("/".join).filter(valid)


def path_of(key: str) -> str:
    folders, name = place(key)
    return "/".join((*folders, name))


@given(st.sets(keys, min_size=2, max_size=30))
def test_no_two_keys_meet_in_one_path_even_where_case_is_ignored(some: set[str]) -> None:
    paths = {path_of(key).lower() for key in some}
    assert len(paths) == len(some)
    folders = {"/".join(place(key)[0][:n]).lower() for key in some for n in range(1, 12)}
    assert not paths & folders


@given(keys)
def test_path_stays_inside_is_short_and_tells_the_key(key: str) -> None:
    """STO-7."""
    folders, name = place(key)
    for one in (*folders, name):
        assert 0 < len(one.encode()) <= 255
        assert one not in (".", "..")
        assert "/" not in one
        assert "\0" not in one
    assert name.endswith(OBJECT)
    assert not folders or not folders[0].startswith(".")
    told = "".join(decoded(f[:-1]) if f.endswith(CUT) else decoded(f) + "/" for f in folders) + decoded(name[:-1])
    assert told == key


@settings(max_examples=60, deadline=None)
@given(st.sets(keys, max_size=25), st.data())
def test_listing_is_that_of_the_model(
    tmp_path_factory: pytest.TempPathFactory, some: set[str], data: st.DataObject
) -> None:
    whole = st.sampled_from(sorted(some)) if some else keys
    prefix = data.draw(st.one_of(st.just(""), whole.flatmap(lambda k: st.integers(0, len(k)).map(lambda n: k[:n]))))
    after = data.draw(st.one_of(st.none(), whole, whole.map(lambda k: k[: len(k) // 2] or "a")))
    limit = data.draw(st.one_of(st.none(), st.integers(1, 5)))

    async def run() -> None:
        folder = tmp_path_factory.mktemp("bucket")
        store, model = FilesystemStore.from_url(f"file:{folder}?durability=os"), MemoryStore()
        for key in some:
            await store.put(key, b"x", if_absent=True)
            await model.put(key, b"x", if_absent=True)
        got = await store.list(prefix, after=after, limit=limit)
        want = await model.list(prefix, after=after, limit=limit)
        assert ([one.key for one in got.items], got.more) == ([one.key for one in want.items], want.more)
        for key in sorted(some)[::2]:
            await store.delete(key)
            await model.delete(key)
        assert [one.key for one in (await store.list("")).items] == [one.key for one in (await model.list("")).items]
        await store.close()

    asyncio.run(run())


async def test_layout_on_disk_can_be_read_by_people(store: FilesystemStore, tmp_path: Path) -> None:
    for key in (
        "wf/layout",
        "wf/exec/0190-ab/meta",
        "logs/wf/log/000000000001.msgpack",
        "wf/timers/2026-11-30T14:25:14.123456Z.x",
        "wf/queues/q/ready/05/2026-11-30T14:25:14.123456Z/START:1",
    ):
        await store.put(key, b"x")
    root = tmp_path / "bucket"
    found = sorted(str(path.relative_to(root)) for path in root.rglob("*=") if path.is_file())
    assert found == [
        "logs/wf/log/000000000001.msgpack=",
        "wf/exec/0190-ab/meta=",
        "wf/layout=",
        "wf/queues/q/ready/05/2026-11-30^t14:~/25:14.~/123456^z,^s^t^a^r^t:1=",
        "wf/timers/2026-11-30^t14:~/25:14.~/123456^z.x=",
    ]


async def test_listing_what_is_due_reads_only_its_folders_and_stats_nothing(
    store: FilesystemStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    for minute in range(60):
        for second in range(0, 60, 10):
            await store.put(f"wf/timers/2026-11-30T14:{minute:02}:{second:02}.000000Z.x", b"x")
            await store.put(f"wf/timers/2026-11-30T15:{minute:02}:{second:02}.000000Z.x", b"x")
    listed: list[str] = []
    listdir = os.listdir

    def counted(path: str) -> list[str]:
        listed.append(path)
        return listdir(path)

    def refused(*_: object, **__: object) -> None:
        raise AssertionError("a listing looks at no entry")

    monkeypatch.setattr(os, "listdir", counted)
    for name in ("stat", "lstat", "scandir"):
        monkeypatch.setattr(os, name, refused)
    page = await store.list("wf/timers/", limit=5)
    monkeypatch.undo()
    assert len(page.items) == 5
    assert len(listed) <= 2 + 6
    listed.clear()
    page = await store.list("wf/timers/", after="wf/timers/2026-11-30T14:59:49", limit=1)
    assert page.items[0].key == "wf/timers/2026-11-30T14:59:50.000000Z.x"


async def test_temp_files_and_strangers_are_not_listed(store: FilesystemStore, tmp_path: Path) -> None:
    """STO-6."""
    await store.put("a/b", b"x")
    root = tmp_path / "bucket"
    (root / ".tmp" / "half=").write_bytes(b"x")
    (root / "README").write_bytes(b"x")
    (root / "a" / "notes.txt").write_bytes(b"x")
    (root / "empty").mkdir()
    assert [one.key for one in (await store.list("")).items] == ["a/b"]
    assert [one.key for one in (await store.list("", versions=True)).items] == ["a/b"]
