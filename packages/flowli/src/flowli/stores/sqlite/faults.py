"""What an error of SQLite or of the operating system means for the store."""

from __future__ import annotations

import sqlite3

from flowli.cairn.errors import (
    StoreConfigError,
    StoreDamaged,
    StoreError,
    StoreFull,
    StorePermission,
    StoreUnavailable,
)

__all__ = ["translated"]

_DAMAGED = frozenset({sqlite3.SQLITE_CORRUPT})
_REFUSED = frozenset({sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH, sqlite3.SQLITE_CANTOPEN})
_PRIMARY = 0xFF


def translated(error: sqlite3.Error, path: str) -> StoreError:
    """The error to raise when nothing was written."""
    what = str(error)
    code = getattr(error, "sqlite_errorcode", 0) & _PRIMARY
    if code == sqlite3.SQLITE_FULL:
        return StoreFull(f"No space is left for the bucket {path} ({what})", "Free some, or move the bucket")
    if code in _REFUSED:
        return StorePermission(f"The bucket {path} cannot be used by this user ({what})", "Change its owner or mode")
    if code in _DAMAGED:
        return StoreDamaged(f"The bucket {path} is damaged ({what})", "Restore it, or recover it with sqlite3")
    if code == sqlite3.SQLITE_NOTADB:
        return StoreConfigError(f"{path} is not a SQLite file", "Name another one")
    return StoreUnavailable(f"The bucket {path} does not answer ({what})", "Check the disk and who else has it open")
