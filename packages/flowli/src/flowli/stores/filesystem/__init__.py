"""``file:``: a bucket in a folder on disk, for the processes of one host."""

from __future__ import annotations

from flowli.stores.filesystem.config import FilesystemConfig
from flowli.stores.filesystem.store import FilesystemStore

__all__ = ["FilesystemConfig", "FilesystemStore"]
