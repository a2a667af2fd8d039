"""What LMDB raises, as errors of which each says what to do."""

from __future__ import annotations

import lmdb

from flowli.cairn.errors import (
    StoreDamaged,
    StoreError,
    StoreFull,
    StoreMissing,
    StorePermission,
    StoreThrottled,
    StoreUnavailable,
)


def translated(path: str, error: lmdb.Error) -> StoreError:
    """An error before the commit: nothing was written."""
    fact = f"{path} cannot be used: {error}"
    match error:
        case lmdb.MapFullError():
            return StoreFull(f"{path} is as large as it may be", "Open it with a larger max_mb, in every process")
        case lmdb.DiskError():
            return StoreFull(fact, "Make room on the disk, or look at its health")
        case lmdb.ReadersFullError():
            return StoreThrottled(f"Too many readers use {path} at once", "Run fewer processes on it")
        case lmdb.ReadonlyError() | lmdb.LockError():
            return StorePermission(fact, "Let this user write the file and the lock file beside it")
        case lmdb.InvalidError() | lmdb.CorruptedError() | lmdb.VersionMismatchError() | lmdb.PageNotFoundError():
            return StoreDamaged(fact, "Name a file that an LMDB store wrote, or restore it from a copy")
    text = str(error)
    if "No such file" in text or "Not a directory" in text:
        return StoreMissing(fact, "Make its folder first")
    if "denied" in text or "Read-only" in text:
        return StorePermission(fact, "Let this user write the file, its lock file and their folder")
    if "No space" in text:
        return StoreFull(fact, "Make room on the disk")
    return StoreUnavailable(fact, "Try again")
