"""What an error of the operating system means for the store."""

from __future__ import annotations

import errno

from flowli.cairn.errors import (
    StoreConfigError,
    StoreError,
    StoreFull,
    StoreMissing,
    StorePermission,
    StoreUnavailable,
    StoreUnsuitable,
)

__all__ = ["NO_LINKS", "missing", "no_links", "translated"]

NO_LINKS = frozenset({errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.EXDEV})
"""What ``link`` answers on a file system without hard links."""

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_REFUSED = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})


def translated(error: OSError, root: str) -> StoreError:
    """The error to raise when nothing was written."""
    what = error.strerror or str(error)
    if error.errno in _FULL:
        return StoreFull(f"No space is left for the bucket {root} ({what})", "Free some, or move the bucket")
    if error.errno in _REFUSED:
        return StorePermission(f"The bucket {root} cannot be used by this user ({what})", "Change its owner or mode")
    if error.errno == errno.ENAMETOOLONG:
        return StoreConfigError(f"The path of the bucket {root} is too long for its keys", "Choose a shorter one")
    return StoreUnavailable(f"The bucket {root} does not answer ({what})", "Check the disk and the limit of open files")


def missing(root: str) -> StoreMissing:
    """The bucket is not there."""
    return StoreMissing(f"There is no folder {root}", "Create it, or name another bucket")


def no_links(root: str, error: OSError) -> StoreUnsuitable:
    """The disk cannot link."""
    return StoreUnsuitable(
        f"The disk of {root} has no hard links ({error.strerror}), and put-if-absent is made of them",
        "Put the bucket on another file system, such as ext4, xfs, btrfs or apfs",
    )
