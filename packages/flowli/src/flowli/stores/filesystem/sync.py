"""Bring files and folders to the disk itself."""

from __future__ import annotations

import fcntl
import os

__all__ = ["Sync"]

_FULL_FSYNC: int | None = getattr(fcntl, "F_FULLFSYNC", None)


class Sync:
    """How far a write goes before it counts.

    Args:
        full: to the disk, so that it survives a power cut; else to the operating system.
    """

    def __init__(self, full: bool) -> None:
        self.full = full

    def file(self, descriptor: int) -> None:
        """Bring an open file to the disk."""
        if not self.full:
            return
        if _FULL_FSYNC is not None:  # there fsync leaves the data in the cache of the drive
            fcntl.fcntl(descriptor, _FULL_FSYNC)
        else:
            os.fsync(descriptor)

    def folder(self, path: str) -> int:
        """Bring the entries of a folder to the disk; returns its inode number."""
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            self.file(descriptor)
            return os.fstat(descriptor).st_ino
        finally:
            os.close(descriptor)
