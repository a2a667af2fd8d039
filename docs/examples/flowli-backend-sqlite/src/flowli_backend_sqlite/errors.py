"""What SQLite raises, as the errors that the engine knows: try again, ask a human, or nobody knows."""

from __future__ import annotations

import sqlite3

from flowli.domain.errors import BackendError, BackendRefused, BackendUnavailable, OutcomeUnknown

_NEEDS_A_HUMAN = {
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_CORRUPT,
    sqlite3.SQLITE_NOTADB,
}


def translated(path: str, error: sqlite3.Error) -> BackendError:
    """An error before the commit: nothing was written."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # the byte above it tells details
    if code in _NEEDS_A_HUMAN:
        return BackendRefused(f"{path} cannot be used: {error}; check the file, its folder and the disk")
    return BackendUnavailable(f"{path} cannot be used now: {error}; try again")


def not_confirmed(path: str, error: sqlite3.Error) -> BackendError:
    """An error of the commit itself. What stands in the file now is known to nobody: never say that nothing does."""
    return OutcomeUnknown(f"{path} did not confirm a commit: {error}; the same call again is safe")
