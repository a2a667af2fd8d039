import errno
import fcntl
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from flowli.cairn.errors import (
    StoreConfigError,
    StoreError,
    StoreFull,
    StoreMissing,
    StorePermission,
    StoreUnavailable,
    StoreUnsuitable,
)
from flowli.stores.filesystem import FilesystemConfig, FilesystemStore


def failing(number: int) -> Callable[..., object]:
    def fail(*_: object, **__: object) -> object:
        raise OSError(number, os.strerror(number))

    return fail


@pytest.mark.parametrize(
    "form", ["file:./b", "file:b", "file:sub/../b", "file:{here}/b", "file://{here}/b", "file://localhost{here}/b"]
)
def test_every_form_of_url_names_the_folder(form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    config = FilesystemConfig.from_url(form.format(here=tmp_path))
    assert config == FilesystemConfig(str(tmp_path / "b"))
    assert FilesystemConfig.from_url(config.url) == config


def test_settings_spaces_and_home_are_understood(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ann")
    config = FilesystemConfig.from_url("file:~/my%20bucket?durability=os&create=false")
    assert config == FilesystemConfig("/home/ann/my bucket", "os", create=False)
    assert config.url == "file:///home/ann/my%20bucket?durability=os"
    mapping = {"type": "filesystem", "path": Path("/x"), "durability": "os", "create": False}
    assert FilesystemConfig.from_config(mapping) == FilesystemConfig("/x", "os", create=False)


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("file:", "does not name a folder"),
        ("file://server/share", "host 'server'"),
        ("files:x", "not the URL of a folder"),
        ("file:b?durabilty=os", "Did you mean 'durability'"),
        ("file:b?durability=no", "'full' or 'os'"),
        ("file:b?create=maybe", "'true' or 'false'"),
        ("file:b%00", "does not name a folder"),
    ],
)
def test_wrong_url_is_refused_with_advice(url: str, says: str) -> None:
    with pytest.raises(StoreConfigError, match=says):
        FilesystemConfig.from_url(url)


@pytest.mark.parametrize("mapping", [{}, {"path": None}, {"path": 7}, {"path": "b", "bucket": "x"}])
def test_wrong_mapping_is_refused(mapping: dict[str, object]) -> None:
    with pytest.raises(StoreConfigError):
        FilesystemConfig.from_config(mapping)


def test_folder_is_made_if_only_it_is_missing(tmp_path: Path) -> None:
    FilesystemStore.from_url(f"file:{tmp_path}/new")
    assert (tmp_path / "new").is_dir()
    with pytest.raises(StoreMissing, match=r"no folder .*/none\. Create it first: mkdir -p"):
        FilesystemStore.from_url(f"file:{tmp_path}/none/new")
    assert not (tmp_path / "none").exists()


def test_folder_is_not_made_where_it_may_not(tmp_path: Path) -> None:
    with pytest.raises(StoreMissing, match="There is no folder"):
        FilesystemStore.from_url(f"file:{tmp_path}/new?create=false")
    assert list(tmp_path.iterdir()) == []


def test_file_in_its_place_is_refused(tmp_path: Path) -> None:
    (tmp_path / "b").write_text("x")
    with pytest.raises(StoreConfigError, match="is not a folder"):
        FilesystemStore.from_url(f"file:{tmp_path}/b")


@pytest.mark.parametrize(
    ("call", "number", "error"),
    [
        ("mkdir", errno.EACCES, StorePermission),
        ("mkdir", errno.EROFS, StorePermission),
        ("mkdir", errno.ENOSPC, StoreFull),
        ("link", errno.EPERM, StoreUnsuitable),
        ("link", errno.EOPNOTSUPP, StoreUnsuitable),
        ("link", errno.EIO, StoreUnavailable),
    ],
)
def test_what_cannot_be_a_bucket_is_refused_at_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str, number: int, error: type[StoreError]
) -> None:
    monkeypatch.setattr(os, call, failing(number))
    with pytest.raises(error, match=f"{tmp_path}/b"):
        FilesystemStore.from_url(f"file:{tmp_path}/b")
    monkeypatch.undo()
    assert call == "mkdir" or list((tmp_path / "b" / ".tmp").iterdir()) == []


def test_disk_without_links_or_locks_is_refused_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "link", failing(errno.EPERM))
    with pytest.raises(StoreUnsuitable, match="has no hard links"):
        FilesystemStore.from_url(f"file:{tmp_path}/b")
    monkeypatch.undo()
    monkeypatch.setattr(fcntl, "flock", failing(errno.ENOLCK))
    with pytest.raises(StoreUnsuitable, match="has no file locks"):
        FilesystemStore.from_url(f"file:{tmp_path}/b")
    monkeypatch.setattr(fcntl, "flock", failing(errno.EAGAIN))
    FilesystemStore.from_url(f"file:{tmp_path}/b")


def test_old_leftovers_are_cleaned_and_young_ones_kept(tmp_path: Path) -> None:
    FilesystemStore.from_url(f"file:{tmp_path}/b")
    old, young = tmp_path / "b" / ".tmp" / "old", tmp_path / "b" / ".tmp" / "young"
    old.touch()
    young.touch()
    os.utime(old, (1, 1))
    FilesystemStore.from_url(f"file:{tmp_path}/b")
    assert not old.exists()
    assert young.exists()


async def test_bucket_that_vanishes_is_missing_not_empty(store: FilesystemStore, tmp_path: Path) -> None:
    won = await store.put("a/b", b"x")
    shutil.rmtree(tmp_path / "bucket")
    for attempt in (
        lambda: store.get("a/b"),
        lambda: store.list(""),
        lambda: store.put("a/b", b"y"),
        lambda: store.put("a/b", b"y", if_absent=True),
        lambda: store.put("a/b", b"y", if_version=won.version),  # type: ignore[union-attr]
        lambda: store.delete("a/b"),
    ):
        with pytest.raises(StoreMissing, match="There is no folder"):
            await attempt()
    assert not (tmp_path / "bucket").exists()


async def test_closed_store_says_so_and_may_be_closed_again(tmp_path: Path) -> None:
    store = FilesystemStore.from_url(f"file:{tmp_path}/b?durability=os")
    fork = store.fork()
    await store.put("a", b"x")
    await store.close()
    await store.close()
    with pytest.raises(StoreUnavailable, match="is closed"):
        await store.get("a")
    assert await fork.get("a") is not None
    await fork.close()
