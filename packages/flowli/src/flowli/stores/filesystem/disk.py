"""The operations of the store as blocking calls; any thread may make them.

Create: the whole content goes to a temp file and to the disk, then ``link`` puts it under its name, which fails if
the name is taken. Replace: the same, then ``rename`` over the old one, while nobody else may change the key. A crash
at any point leaves the old state or the new one, and perhaps a temp file.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from itertools import islice
from typing import TypeAlias

from flowli.cairn.store import Listed, Object, Page
from flowli.cairn.write import Gone, Lost, Unknown, Won
from flowli.stores.filesystem.faults import missing, translated
from flowli.stores.filesystem.folders import Folders
from flowli.stores.filesystem.frame import HEADER_BYTES, framed, unframed, version_in
from flowli.stores.filesystem.locks import Locks
from flowli.stores.filesystem.names import place
from flowli.stores.filesystem.sync import Sync
from flowli.stores.filesystem.walk import keys_under
from flowli.world import World

__all__ = ["LOCKS", "TEMP", "Disk"]

TEMP = ".tmp"
"""The folder of files that are being written."""

LOCKS = ".locks"
"""The folder of lock files."""

_Move: TypeAlias = Callable[[str, str], None]


class Disk:
    """One bucket folder, opened already.

    Args:
        root: its absolute path.
        full: whether writes go to the disk before they count.
        world: draws versions.
    """

    def __init__(self, root: str, full: bool, world: World) -> None:
        self.root = root
        self._sync = Sync(full)
        self.folders = Folders(root, self._sync)
        self._locks = Locks(f"{root}/{LOCKS}")
        self._world = world

    def get(self, key: str) -> Object | None:
        """Read an object."""
        path = self._path(key)
        try:
            with open(path, "rb", buffering=0) as file:
                content = file.readall()
        except FileNotFoundError:
            self._check_root()
            return None
        except OSError as error:
            raise translated(error, self.root) from error
        data, version = unframed(content, key)
        return Object(data, version)

    def put(self, key: str, data: bytes, if_absent: bool, if_version: str | None) -> Won | Lost | Gone | Unknown:
        """Write an object."""
        path = self._path(key)
        try:
            # A condition that fails already costs no write; it is asked again where nobody can come between.
            refused = self._refused(path, key, if_absent, if_version)
            if refused is not None:
                return refused
            version = self._world.token()
            temp = self._written(framed(data, version))
        except OSError as error:
            raise translated(error, self.root) from error
        try:
            if if_absent:
                refused = self._link(temp, path)
            else:
                with self._locks.held(key):
                    refused = self._refused(path, key, if_absent, if_version)
                    if refused is None:
                        self._into_place(os.replace, temp, path)
        except OSError as error:
            raise translated(error, self.root) from error
        finally:
            _unlink(temp)
        if refused is not None:
            return refused
        try:
            self.folders.settle(os.path.dirname(path))
        except OSError as error:
            return Unknown(f"the folder of {key!r} could not be brought to the disk: {error.strerror}")
        return Won(version)

    def delete(self, key: str, if_version: str | None) -> Won | Lost | Gone | Unknown:
        """Delete an object."""
        path = self._path(key)
        try:
            with self._locks.held(key):
                refused = self._refused(path, key, False, if_version)
                if refused is not None:
                    return refused
                os.unlink(path)
        except FileNotFoundError:
            self._check_root()
            return Won()
        except OSError as error:
            raise translated(error, self.root) from error
        try:
            self.folders.settle(self.folders.deleted_in(os.path.dirname(path)))
        except OSError as error:
            return Unknown(f"the folder of {key!r} could not be brought to the disk: {error.strerror}")
        return Won()

    def delete_many(self, keys: Iterable[str]) -> None:
        """Delete objects; each folder goes to the disk once."""
        changed: dict[str, None] = {}
        try:
            for key in keys:
                path = self._path(key)
                with self._locks.held(key):
                    try:
                        os.unlink(path)
                    except FileNotFoundError:
                        continue
                changed[os.path.dirname(path)] = None
            for folder in dict.fromkeys(map(self.folders.deleted_in, changed)):
                self.folders.settle(folder)
        except OSError as error:
            raise translated(error, self.root) from error

    def list(self, prefix: str, after: str, size: int, versions: bool) -> Page:
        """One page of keys."""
        try:
            found = list(islice(keys_under(self.root, prefix, after), size + 1))
            if not found:
                self._check_root()
            shown = found[:size]
            items = [self._listed(key, path) for key, path in shown] if versions else [Listed(key) for key, _ in shown]
        except OSError as error:
            raise translated(error, self.root) from error
        return Page(tuple(one for one in items if one is not None), len(found) > size)

    def _path(self, key: str) -> str:
        folders, name = place(key)
        return "/".join((self.root, *folders, name))

    def _check_root(self) -> None:
        """An object is absent only if its bucket is there."""
        if not os.path.isdir(f"{self.root}/{LOCKS}"):
            raise missing(self.root)

    def _refused(self, path: str, key: str, if_absent: bool, if_version: str | None) -> Lost | Gone | None:
        if if_absent:
            return Lost() if os.path.lexists(path) else None
        if if_version is None:
            return None
        found = _version(path, key)
        if found is None:
            self._check_root()
            return Gone()
        return None if found == if_version else Lost()

    def _written(self, content: bytes) -> str:
        """A temp file with this content, on the disk."""
        temp = f"{self.root}/{TEMP}/{self._world.token()}"
        try:
            descriptor = os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        except FileNotFoundError:
            raise missing(self.root) from None
        try:
            try:
                rest = memoryview(content)
                while rest:
                    rest = rest[os.write(descriptor, rest) :]
                self._sync.file(descriptor)
            finally:
                os.close(descriptor)
        except OSError:
            _unlink(temp)
            raise
        return temp

    def _link(self, temp: str, path: str) -> Lost | None:
        try:
            self._into_place(os.link, temp, path)
        except FileExistsError:
            return Lost()
        return None

    def _into_place(self, move: _Move, temp: str, path: str) -> None:
        folder = os.path.dirname(path)
        while True:
            try:
                self.folders.make(folder)
                move(temp, path)
                return
            except FileNotFoundError:
                # The folder was empty and somebody removed it between the two lines; or the whole bucket is gone.
                self._check_root()
                if not os.path.lexists(temp):
                    raise missing(self.root) from None
                self.folders.vanished(folder)

    def _listed(self, key: str, path: str) -> Listed | None:
        version = _version(path, key)
        return None if version is None else Listed(key, version)


def _version(path: str, key: str) -> str | None:
    try:
        with open(path, "rb", buffering=0) as file:
            return version_in(file.read(HEADER_BYTES), key)
    except FileNotFoundError:
        return None


def _unlink(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        return  # it was renamed; or it stays until a later start cleans up
