"""Whole or absent: after a kill at any system call, on a full disk, under readers; to the disk in the right order."""

import asyncio
import errno
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from flowli.cairn.errors import StoreDamaged, StoreError, StoreFull, StorePermission, StoreUnavailable
from flowli.cairn.store import Object
from flowli.cairn.write import Lost, Unknown, Won
from flowli.stores.filesystem import FilesystemStore

CALLS = ("open", "write", "fsync", "link", "replace", "unlink", "mkdir", "rmdir", "close")

KILLER = textwrap.dedent("""
    import os, signal, sys
    from flowli.stores.filesystem.start import open_disk
    from flowli.world import SYSTEM

    calls = sys.argv[2].split(",")
    bucket = lambda n: f"{sys.argv[1]}/{n}"
    OLD, NEW = b"old" * 5000, b"new" * 7000
    KEY = "wf/timers/2026-11-30T14:25:14.123456Z.x"

    def opened(n):
        return open_disk(bucket(n), full=True, create=True, world=SYSTEM)

    def killed_at(step, work):
        # Returns False when the work was done before so many calls.
        child = os.fork()
        if child == 0:
            count = 0
            def wrapped(call):
                def caller(*args, **options):
                    nonlocal count
                    count += 1
                    if count * 2 - 1 == step:
                        os.kill(os.getpid(), signal.SIGKILL)
                    result = call(*args, **options)
                    if count * 2 == step:
                        os.kill(os.getpid(), signal.SIGKILL)
                    return result
                return caller
            for name in calls:
                setattr(os, name, wrapped(getattr(os, name)))
            work()
            os._exit(0)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL

    number = total = 0
    for verb in ("create", "replace", "delete", "swap"):
        step = 0
        while True:
            step += 1
            number += 1
            disk = opened(number)
            version = None
            if verb != "create":
                version = disk.put(KEY, OLD, True, None).version
            work = {
                "create": lambda: disk.put(KEY, NEW, True, None),
                "replace": lambda: disk.put(KEY, NEW, False, None),
                "delete": lambda: disk.delete(KEY, version),
                "swap": lambda: disk.put(KEY, NEW, False, version),
            }[verb]
            alive = not killed_at(step, work)
            disk = opened(number)
            found = disk.get(KEY)
            data = None if found is None else found.data
            before, after = (None if verb == "create" else OLD), (None if verb == "delete" else NEW)
            assert data in (before, after), (verb, step, len(data or b""))
            assert not alive or data == after, (verb, step)
            keys = [one.key for one in disk.list("", "", 10, True).items]
            assert keys == ([] if data is None else [KEY]), (verb, step, keys)
            # It works on as if nothing had happened.
            assert type(disk.put(KEY, b"more", data is None, found and found.version)).__name__ == "Won"
            if alive:
                break
            total += 1
    print(total)
""")


def test_killed_at_any_system_call_a_key_is_absent_or_whole(tmp_path: Path) -> None:
    """STO-1."""
    done = subprocess.run(
        [sys.executable, "-c", KILLER, str(tmp_path), ",".join(CALLS)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 50


async def test_readers_of_a_key_that_is_replaced_see_whole_bodies(store: FilesystemStore) -> None:
    def body(n: int) -> bytes:
        return f"{n:06d}".encode() * (1 + n % 700)

    await store.put("k", body(0))
    done = False

    async def write() -> int:
        nonlocal done
        for n in range(1, 1001):
            assert isinstance(await store.put("k", body(n)), Won)
        done = True
        return 1

    async def read() -> int:
        reads, last = 0, 0
        while not done:
            found = await store.get("k")
            assert found is not None
            n = int(found.data[:6])
            assert found.data == body(n)
            assert n >= last
            reads, last = reads + 1, n
        return reads

    assert min(await asyncio.gather(write(), *(read() for _ in range(8)))) > 0


class Recorder:
    """What is asked of the operating system, in order, with names for the places."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, root: Path) -> None:
        self.calls: list[tuple[str, str]] = []
        self._root = root
        self._open: dict[int, str] = {}
        for name in CALLS:
            monkeypatch.setattr(os, name, self._wrapped(name, getattr(os, name)))

    def _wrapped(self, name: str, call: Callable[..., object]) -> Callable[..., object]:
        def wrapper(first: object, *args: object, **options: object) -> object:
            if name == "open":
                result = call(first, *args, **options)
                self._open[result] = self._place(str(first))  # type: ignore[index]
                return result
            place = (
                self._open.get(first, "")
                if isinstance(first, int)
                else self._place(str(args[0] if args and name in ("link", "replace") else first))
            )
            result = call(first, *args, **options)
            if name != "close":
                self.calls.append((name, place))
            return result

        return wrapper

    def _place(self, path: str) -> str:
        relative = os.path.relpath(path, self._root)
        return "temp" if relative.startswith(".tmp/") else relative


@pytest.fixture
async def durable(tmp_path: Path) -> FilesystemStore:
    return FilesystemStore.from_url(f"file:{tmp_path}/bucket")


async def test_create_goes_to_the_disk_before_its_name_and_its_name_before_success(
    durable: FilesystemStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """STO-2."""
    recorder = Recorder(monkeypatch, tmp_path / "bucket")
    await durable.put("a/b/c", b"x", if_absent=True)
    first = list(recorder.calls)
    recorder.calls.clear()
    await durable.put("a/b/d", b"x", if_absent=True)
    monkeypatch.undo()
    assert [call for call in first if call[0] != "mkdir"] == [
        ("write", "temp"),
        ("fsync", "temp"),
        ("link", "a/b/c="),
        ("unlink", "temp"),
        ("fsync", "a/b"),
        ("fsync", "a"),
        ("fsync", "."),
    ]
    assert recorder.calls == [
        ("write", "temp"),
        ("fsync", "temp"),
        ("link", "a/b/d="),
        ("unlink", "temp"),
        ("fsync", "a/b"),
    ]


async def test_replace_and_delete_reach_the_disk_before_success(
    durable: FilesystemStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """STO-2."""
    key = "t/2026-11-30T14:25:14.123456Z"
    won = await durable.put(key, b"x", if_absent=True)
    assert isinstance(won, Won)
    recorder = Recorder(monkeypatch, tmp_path / "bucket")
    swapped = await durable.put(key, b"y", if_version=won.version)
    name = "t/2026-11-30^t14:~/25:14.~/123456^z="
    assert isinstance(swapped, Won)
    assert [call for call in recorder.calls if call[0] != "unlink"] == [
        ("write", "temp"),
        ("fsync", "temp"),
        ("replace", name),
        ("fsync", "t/2026-11-30^t14:~/25:14.~"),
    ]
    recorder.calls.clear()
    await durable.delete(key, if_version=swapped.version)
    monkeypatch.undo()
    assert recorder.calls == [
        ("unlink", name),
        ("rmdir", "t/2026-11-30^t14:~/25:14.~"),
        ("rmdir", "t/2026-11-30^t14:~"),
        ("fsync", "t"),
    ]


async def test_folder_made_by_another_process_is_not_taken_for_durable(
    durable: FilesystemStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bucket" / "a").mkdir()
    recorder = Recorder(monkeypatch, tmp_path / "bucket")
    await durable.put("a/b", b"x")
    monkeypatch.undo()
    assert recorder.calls[-2:] == [("fsync", "a"), ("fsync", ".")]


def failing(number: int) -> Callable[..., object]:
    def fail(*_: object, **__: object) -> object:
        raise OSError(number, os.strerror(number))

    return fail


async def state(store: FilesystemStore, tmp_path: Path) -> tuple[Object | None, list[str], list[str]]:
    leftovers = [path.name for path in (tmp_path / "bucket" / ".tmp").iterdir()]
    return await store.get("k"), [one.key for one in (await store.list("")).items], leftovers


@pytest.mark.parametrize("existing", [False, True])
@pytest.mark.parametrize(
    ("call", "number", "error"),
    [
        ("write", errno.ENOSPC, StoreFull),
        ("write", errno.EDQUOT, StoreFull),
        ("write", errno.EIO, StoreUnavailable),
        ("open", errno.EMFILE, StoreUnavailable),
        ("open", errno.EACCES, StorePermission),
        ("open", errno.EROFS, StorePermission),
        ("fsync", errno.EIO, StoreUnavailable),
        ("link", errno.EIO, StoreUnavailable),
        ("link", errno.ENOSPC, StoreFull),
    ],
)
async def test_failure_before_the_object_is_in_place_leaves_no_trace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str, number: int, error: type[StoreError], existing: bool
) -> None:
    store = FilesystemStore.from_url(f"file:{tmp_path}/bucket")
    won = await store.put("k", b"old", if_absent=True) if existing else None
    before = await state(store, tmp_path)
    version = won.version if isinstance(won, Won) else None
    monkeypatch.setattr(os, "replace" if existing and call == "link" else call, failing(number))
    with pytest.raises(error, match=r"/bucket.*\. [A-Z]"):
        await store.put("k", b"new", if_absent=not existing, if_version=version)
    monkeypatch.undo()
    assert await state(store, tmp_path) == before
    assert isinstance(await store.put("k", b"new", if_absent=not existing, if_version=version), Won)
    await store.close()


async def test_disk_that_fills_up_in_the_middle_of_a_body_leaves_nothing(
    store: FilesystemStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, room = os.write, [1000]

    def short(descriptor: int, data: bytes) -> int:
        if not room[0]:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        written = write(descriptor, bytes(data)[: room[0]])
        room[0] -= written
        return written

    monkeypatch.setattr(os, "write", short)
    with pytest.raises(StoreFull, match="No space is left"):
        await store.put("k", b"x" * 5000, if_absent=True)
    monkeypatch.undo()
    assert await state(store, tmp_path) == (None, [], [])


async def test_failure_after_the_object_is_in_place_is_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = FilesystemStore.from_url(f"file:{tmp_path}/bucket")
    fsync = os.fsync

    def only_files(descriptor: int) -> None:
        if os.path.isdir(f"/proc/self/fd/{descriptor}") or os.path.isdir(f"/dev/fd/{descriptor}"):
            raise OSError(errno.EIO, "broken")
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", only_files)
    assert isinstance(await store.put("k", b"x", if_absent=True), Unknown)
    assert isinstance(await store.put("k", b"y"), Unknown)
    assert isinstance(await store.delete("k"), Unknown)
    monkeypatch.undo()
    assert await store.get("k") is None
    await store.close()


async def test_damaged_files_are_named_and_never_read_as_short_bodies(store: FilesystemStore, tmp_path: Path) -> None:
    await store.put("k", b"x" * 100)
    path = tmp_path / "bucket" / "k="
    whole = path.read_bytes()
    for content in (b"", whole[:10], whole[:-1], whole + b"x", whole[:-1] + b"y", b"\0" * len(whole)):
        path.write_bytes(content)
        with pytest.raises(StoreDamaged, match="'k' is damaged"):
            await store.get("k")
    path.write_bytes(whole)
    assert isinstance(await store.put("k", b"", if_absent=True), Lost)
    assert (await store.get("k")) is not None
