"""``sqlite:``: a bucket in one SQLite file, for the processes of one host."""

from __future__ import annotations

from flowli.stores.sqlite.config import SqliteConfig
from flowli.stores.sqlite.store import SqliteStore

__all__ = ["SqliteConfig", "SqliteStore"]
