"""Where the bucket file is and how far its writes go."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from flowli.stores.local import LocalConfig

__all__ = ["SqliteConfig"]


@dataclass(frozen=True, slots=True)
class SqliteConfig(LocalConfig):
    """The settings of a bucket file: ``sqlite:./bucket.db``, ``sqlite:///srv/bucket.db?durability=os``."""

    SCHEME: ClassVar[str] = "sqlite"
    WHAT: ClassVar[str] = "a file"
    HOW: ClassVar[str] = "Write for example sqlite:./bucket.db or sqlite:///srv/bucket.db"
