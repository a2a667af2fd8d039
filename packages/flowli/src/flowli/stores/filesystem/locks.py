"""Exclusion between all who change one key: threads of this process and other processes.

256 lock files, chosen by hash of the key, never removed: a lock on a file that may be removed does not exclude anybody.
"""

from __future__ import annotations

import fcntl
import os
import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["Locks"]

_FILES = 256
_here: dict[str, tuple[threading.Lock, ...]] = {}


class Locks:
    """The locks of one bucket.

    Args:
        folder: where the lock files are.
    """

    def __init__(self, folder: str) -> None:
        self._folder = folder
        # Shared by every store on this folder: where flock is emulated it does not exclude threads of one process.
        self._locks = _here.setdefault(os.path.realpath(folder), tuple(threading.Lock() for _ in range(_FILES)))

    @contextmanager
    def held(self, key: str) -> Iterator[None]:
        """Exclude all others from changing ``key``."""
        slot = zlib.crc32(key.encode()) % _FILES
        with self._locks[slot]:
            descriptor = os.open(f"{self._folder}/{slot:02x}", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX)
                yield
            finally:
                # Explicitly: a process forked meanwhile holds a copy of the descriptor, and closing would not unlock
                # it.
                fcntl.flock(descriptor, fcntl.LOCK_UN)
                os.close(descriptor)
