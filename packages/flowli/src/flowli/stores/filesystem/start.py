"""Open a bucket folder: make it if it may be made, and refuse by name what cannot be a bucket."""

from __future__ import annotations

import errno
import fcntl
import os

from flowli.cairn.errors import StoreConfigError, StoreMissing, StoreUnsuitable
from flowli.stores.filesystem.disk import LOCKS, TEMP, Disk
from flowli.stores.filesystem.faults import NO_LINKS, missing, no_links, translated
from flowli.stores.filesystem.sync import Sync
from flowli.world import World

__all__ = ["open_disk"]

_OLD_S = 3600.0


def open_disk(root: str, *, full: bool, create: bool, world: World) -> Disk:
    """Open the bucket in the folder ``root``.

    Args:
        root: absolute path.
        full: whether writes go to the disk before they count.
        create: make the folder if only itself is missing.
        world: the clock by which leftovers are old.

    Raises:
        StoreMissing: the folder, or its parent, does not exist.
        StoreConfigError: there is something else than a folder.
        StorePermission: it cannot be written to.
        StoreFull: there is no space left.
        StoreUnsuitable: the file system has no hard links or no locks.
    """
    try:
        _make_root(root, Sync(full), create)
        for name in (TEMP, LOCKS):
            os.makedirs(f"{root}/{name}", exist_ok=True)
        token = world.token()
        _check_links(root, f"{root}/{TEMP}/{token}")
        _check_locks(root)
        _clean(f"{root}/{TEMP}", world.now().seconds - _OLD_S)
    except OSError as error:
        raise translated(error, root) from error
    return Disk(root, full, world)


def _make_root(root: str, sync: Sync, create: bool) -> None:
    if os.path.isdir(root):
        return
    if os.path.lexists(root):
        raise StoreConfigError(f"{root} is not a folder", "Name a folder, or a path where one can be made")
    if not create:
        raise missing(root)
    parent = os.path.dirname(root)
    try:
        os.mkdir(root)
    except FileExistsError:
        return
    except FileNotFoundError:
        raise StoreMissing(
            f"The bucket {root} cannot be made, there is no folder {parent}", f"Create it first: mkdir -p {parent}"
        ) from None
    if sync.full:
        sync.folder(parent)


def _check_links(root: str, probe: str) -> None:
    os.close(os.open(probe, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666))
    try:
        os.link(probe, f"{probe}.2")
        os.unlink(f"{probe}.2")
    except OSError as error:
        if error.errno in NO_LINKS:
            raise no_links(root, error) from error
        raise
    finally:
        os.unlink(probe)


def _check_locks(root: str) -> None:
    descriptor = os.open(f"{root}/{LOCKS}/00", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        fcntl.flock(descriptor, fcntl.LOCK_UN)
    except OSError as error:
        if error.errno in (errno.EAGAIN, errno.EACCES):
            return  # somebody has it: locks work
        raise StoreUnsuitable(
            f"The disk of {root} has no file locks ({error.strerror}), and compare-and-swap is made of them",
            "Put the bucket on a local file system",
        ) from error
    finally:
        os.close(descriptor)


def _clean(temp: str, before_s: float) -> None:
    """Remove what writers left that were killed long ago."""
    for name in os.listdir(temp):
        path = f"{temp}/{name}"
        try:
            if os.stat(path).st_mtime < before_s:
                os.unlink(path)
        except FileNotFoundError:
            continue
