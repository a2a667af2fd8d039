"""Threads and processes on one folder."""

import asyncio
import json
import os
import sys
import textwrap
from pathlib import Path

import pytest

from flowli.cairn.write import Gone, Lost, Won
from flowli.stores.filesystem import FilesystemStore

WORKER = textwrap.dedent("""
    import asyncio, json, sys
    from flowli.cairn.write import Won
    from flowli.stores.filesystem import FilesystemStore

    async def main():
        store = FilesystemStore.from_url(f"file:{sys.argv[1]}?durability=os")
        mine, raised = [], 0
        async def create(n):
            if isinstance(await store.put(f"c/{n}", sys.argv[2].encode(), if_absent=True), Won):
                mine.append(n)
        async def raise_it():
            while True:
                found = await store.get("n")
                body = f"{int(found.data.split()[0]) + 1} {sys.argv[2]} {found.version}".encode()
                if isinstance(await store.put("n", body, if_version=found.version), Won):
                    return
        async def churn(n):
            key = f"q/2026-11-30T14:25:14.{n:06d}Z/{sys.argv[2]}"
            for _ in range(20):
                won = await store.put(key, b"x", if_absent=True)
                assert isinstance(won, Won), won
                assert isinstance(await store.delete(key, if_version=won.version), Won)
        await asyncio.gather(*map(create, range(200)), *(raise_it() for _ in range(60)), *map(churn, range(4)))
        await store.close()
        print(json.dumps(mine))

    asyncio.run(main())
""")


async def test_two_processes_share_a_folder_and_lose_nothing(store: FilesystemStore, tmp_path: Path) -> None:
    """STO-5."""
    await store.put("n", b"0")
    processes = [
        await asyncio.create_subprocess_exec(
            sys.executable, "-c", WORKER, str(tmp_path / "bucket"), name, stdout=asyncio.subprocess.PIPE
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
    assert found.data.split()[0] == b"120"
    assert (await store.list("q/")).items == ()


async def test_threads_that_make_and_empty_one_folder_do_not_disturb_each_other(
    store: FilesystemStore, tmp_path: Path
) -> None:
    stores = [store, store.fork(), FilesystemStore.from_url(f"file:{tmp_path}/bucket?durability=os")]

    async def churn(who: int) -> None:
        key = f"t/2026-11-30T14:25:14.000000Z.{who}"
        for _ in range(60):
            assert isinstance(await stores[who % 3].put(key, b"x", if_absent=True), Won)
            assert isinstance(await stores[who % 3].delete(key), Won)

    await asyncio.gather(*map(churn, range(12)))
    assert (await store.list("")).items == ()
    for other in stores[1:]:
        await other.close()


async def test_emptied_folders_go_when_the_store_closes(tmp_path: Path) -> None:
    store = FilesystemStore.from_url(f"file:{tmp_path}/bucket?durability=os")
    keys = [f"wf/exec/{n}/meta" for n in range(200)]
    for key in keys:
        await store.put(key, b"x")
    await store.put("wf/layout", b"x")
    await store.put("wf/timers/2026-11-30T14:25:14.000000Z", b"x")
    for key in keys:
        await store.delete(key)
    await store.delete("wf/timers/2026-11-30T14:25:14.000000Z")
    root = tmp_path / "bucket"
    assert len(list((root / "wf" / "exec").iterdir())) <= 64
    assert list((root / "wf" / "timers").iterdir()) == []
    await store.close()
    assert sorted(str(path.relative_to(root)) for path in root.rglob("*") if ".locks" not in path.parts) == [
        ".tmp",
        "wf",
        "wf/layout=",
    ]


async def test_versions_never_repeat_even_for_equal_bodies(store: FilesystemStore) -> None:
    versions = set()
    for _ in range(50):
        won = await store.put("k", b"same")
        assert isinstance(won, Won)
        versions.add(won.version)
        await store.delete("k")
    assert len(versions) == 50
    assert isinstance(await store.put("k", b"x", if_version=versions.pop()), Gone)


async def test_condition_that_fails_writes_nothing_to_the_disk(
    store: FilesystemStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    await store.put("k", b"x")

    def refused(*_: object) -> int:
        raise AssertionError("written in vain")

    monkeypatch.setattr(os, "write", refused)
    assert isinstance(await store.put("k", b"y", if_absent=True), Lost)
    assert isinstance(await store.put("k", b"y", if_version="0" * 32), Lost)
    assert isinstance(await store.put("none", b"y", if_version="0" * 32), Gone)
