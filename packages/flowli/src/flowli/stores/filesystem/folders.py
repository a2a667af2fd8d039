"""Folders of a bucket: made durably when an object needs them, removed when they are empty.

A folder may vanish between being made and being used, since any process removes what is empty; whoever creates an
object tries again then. Folders cut out of a name (``~``) go as soon as they are empty: their second never comes
back. Others are kept for a while, or the folder of a short queue would be made and removed with every task.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict

from flowli.stores.filesystem.names import CUT
from flowli.stores.filesystem.sync import Sync

__all__ = ["Folders"]

_KNOWN = 8192
_KEPT = 64


class Folders:
    """The folders below ``root``; any thread may use it."""

    def __init__(self, root: str, sync: Sync) -> None:
        self._root = root
        self._sync = sync
        self._lock = threading.Lock()
        self._known: OrderedDict[str, int] = OrderedDict()  # durable in their parents: path and inode
        self._emptied: OrderedDict[str, None] = OrderedDict()

    def make(self, folder: str) -> None:
        """Make a folder and its parents, where they are missing.

        Raises:
            FileNotFoundError: the bucket itself is gone.
        """
        while folder not in self._known and folder != self._root:
            try:
                os.mkdir(folder)
                return
            except FileExistsError:
                return
            except FileNotFoundError:
                parent = os.path.dirname(folder)
                if parent == self._root:
                    raise
                # Others may remove the parent again before the next turn: then it is made again.
                self.vanished(parent)
                self.make(parent)

    def vanished(self, folder: str) -> None:
        """Forget a folder and its parents, because it was not there any more."""
        with self._lock:
            while len(folder) > len(self._root):
                self._known.pop(folder, None)
                folder = os.path.dirname(folder)

    def settle(self, folder: str) -> None:
        """Make durable what was put into ``folder``, and the entry of each folder on the way that may be new."""
        if not self._sync.full:
            return
        while True:
            try:
                inode = self._sync.folder(folder)
            except FileNotFoundError:
                # Somebody has deleted the object and its emptied folder since; the parent still has to lose it.
                self.vanished(folder)
                inode = -1
            # The same name may have been removed and made again by others: then it is as new as one made here.
            if folder == self._root or self._known.get(folder) == inode:
                return
            with self._lock:
                self._known[folder] = inode
                if len(self._known) > _KNOWN:
                    self._known.popitem(last=False)
            folder = os.path.dirname(folder)

    def deleted_in(self, folder: str) -> str:
        """Remove what a deletion left empty; returns the innermost folder that is left, which is to be made durable."""
        while folder.endswith(CUT):
            if not self._remove(folder):
                return folder
            folder = os.path.dirname(folder)
        with self._lock:
            self._emptied[folder] = None
            self._emptied.move_to_end(folder)
            oldest = self._emptied.popitem(last=False)[0] if len(self._emptied) > _KEPT else None
        if oldest is not None:
            self._remove_up(oldest)
        return folder

    def tidy(self) -> None:
        """Remove every folder that was left empty here."""
        with self._lock:
            emptied = list(self._emptied)
            self._emptied.clear()
        for folder in emptied:
            self._remove_up(folder)

    def _remove_up(self, folder: str) -> None:
        while len(folder) > len(self._root) and self._remove(folder):
            folder = os.path.dirname(folder)

    def _remove(self, folder: str) -> bool:
        try:
            os.rmdir(folder)
        except FileNotFoundError:
            return True
        except OSError:
            return False
        with self._lock:
            self._known.pop(folder, None)
        return True
