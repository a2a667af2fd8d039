"""Where the bucket folder is and how far its writes go."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from flowli.stores.local import LocalConfig

__all__ = ["FilesystemConfig"]


@dataclass(frozen=True, slots=True)
class FilesystemConfig(LocalConfig):
    """The settings of a bucket folder: ``file:./bucket``, ``file:///srv/bucket?durability=os``."""

    SCHEME: ClassVar[str] = "file"
    WHAT: ClassVar[str] = "a folder"
    HOW: ClassVar[str] = "Write for example file:./bucket or file:///srv/bucket"
