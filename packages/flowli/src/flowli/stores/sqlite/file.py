"""The file: opened and checked, read, and written in batches.

One table. ``version`` is its row id, drawn by AUTOINCREMENT: a number is never used again, so a version names one body
for good. Every write replaces the row.

A batch is one transaction and one wait for the disk, however many writes it holds; each is decided in turn against what
those before it left, so conditions hold between the writes of a batch as between batches. Among processes a lock on a
file beside it gives the turn: SQLite alone would poll for it.

What a crash leaves: before COMMIT returned, the whole batch or nothing, after the next opening; afterwards the batch.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from flowli.cairn.errors import StoreConfigError, StoreError, StoreMissing, StorePermission, StoreUnavailable
from flowli.cairn.store import Listed, Object, Page
from flowli.cairn.write import Gone, Lost, Unknown, Won
from flowli.stores.sqlite.config import SqliteConfig
from flowli.stores.sqlite.faults import translated

__all__ = ["BucketFile", "Drop", "Outcome", "Outcomes", "Write"]

APPLICATION_ID = 0x666C776C
"""Marks the file as a bucket in its header: ``flwl``."""

LAYOUT = 1
"""Of the table; a file of a newer one is refused."""

_BUSY_S = 30.0
_NOT_BEGUN = frozenset({sqlite3.SQLITE_FULL, sqlite3.SQLITE_BUSY})  # COMMIT said so and left the transaction open
_CACHE_KIB = 16 * 1024
_TABLE = (
    "CREATE TABLE objects (version INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT NOT NULL UNIQUE, data BLOB NOT NULL)"
)

Outcome: TypeAlias = Won | Lost | Gone | Unknown
Outcomes: TypeAlias = list[Outcome]


@dataclass(frozen=True, slots=True)
class Write:
    """A body to store, under a condition or none."""

    key: str
    data: bytes
    if_absent: bool = False
    if_version: str | None = None


@dataclass(frozen=True, slots=True)
class Drop:
    """Keys to delete; a condition names the version of a single one."""

    keys: tuple[str, ...]
    if_version: str | None = None


class BucketFile:
    """One connection for reading and one for writing; each is used by one thread at a time.

    Raises:
        StoreError: the file cannot be a bucket; the message says why.
    """

    def __init__(self, config: SqliteConfig) -> None:
        self._path = config.path
        self._synchronous = "FULL" if config.durability == "full" else "NORMAL"
        self._check(config.create)
        try:
            self._lock = os.open(f"{self._path}-lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        except OSError as error:
            raise StorePermission(
                f"The bucket {self._path} cannot be used by this user ({error.strerror})", "Change its owner or mode"
            ) from error
        with contextlib.ExitStack() as undo:
            undo.callback(os.close, self._lock)
            try:
                with self._turn():
                    self._writer = self._connected()
                    undo.callback(self._writer.close)
                    self._prepare()
                self._reader = self._connected()
                undo.callback(self._reader.close)
                self._reader.execute("PRAGMA query_only = ON")
            except sqlite3.Error as error:
                raise translated(error, self._path) from error
            undo.pop_all()

    def get(self, key: str) -> Object | None:
        """Read an object."""
        try:
            row = self._reader.execute("SELECT data, version FROM objects WHERE key = ?", (key,)).fetchone()
        except sqlite3.Error as error:
            raise self._failed(error) from error
        return None if row is None else Object(row[0], str(row[1]))

    def list(self, prefix: str, after: str, size: int) -> Page:
        """One page of keys."""
        # Keys are ASCII: what starts with the prefix sorts before the prefix with its last letter raised by one.
        end = prefix[:-1] + chr(ord(prefix[-1]) + 1) if prefix else "\x7f"
        try:
            rows = self._reader.execute(
                "SELECT key, version FROM objects WHERE key > ? AND key >= ? AND key < ? ORDER BY key LIMIT ?",
                (after, prefix, end, size + 1),
            ).fetchall()
        except sqlite3.Error as error:
            raise self._failed(error) from error
        return Page(tuple(Listed(key, str(version)) for key, version in rows[:size]), len(rows) > size)

    def apply(self, batch: Sequence[Write | Drop]) -> Outcomes:
        """Do a batch in one transaction.

        Returns:
            What became of each; all ``Unknown`` if COMMIT failed in a way that leaves it open.

        Raises:
            StoreError: nothing of it was written.
        """
        db = self._writer
        with self._turn():
            try:
                db.execute("BEGIN IMMEDIATE")
                outcomes: Outcomes = [self._one(db, work) for work in batch]
            except sqlite3.Error as error:
                self._undo()
                raise self._failed(error) from error
            try:
                db.execute("COMMIT")
            except sqlite3.Error as error:
                open_still = db.in_transaction
                self._undo()
                if open_still and error.sqlite_errorcode & 0xFF in _NOT_BEGUN:
                    raise self._failed(error) from error
                return [Unknown(f"the batch could not be brought to the disk: {error}")] * len(batch)
        return outcomes

    def close(self) -> None:
        """Close the connections; the last one of all processes also folds the write-ahead log into the file."""
        self._reader.close()
        with self._turn():
            self._writer.close()
        os.close(self._lock)

    def _check(self, create: bool) -> None:
        if os.path.isdir(self._path):
            raise StoreConfigError(f"{self._path} is a folder", "Name a file, or write file: for a bucket folder")
        if os.path.lexists(self._path):
            return
        folder = os.path.dirname(self._path)
        if not os.path.isdir(folder):
            raise StoreMissing(
                f"The bucket {self._path} cannot be made, there is no folder {folder}",
                f"Create it first: mkdir -p {folder}",
            )
        if not create:
            raise StoreMissing(f"There is no file {self._path}", "Create it, or name another bucket")

    def _connected(self) -> sqlite3.Connection:
        # The lock already orders this store's processes; the time-out is for others, such as a shell or a backup.
        db = sqlite3.connect(self._path, _BUSY_S, isolation_level=None, check_same_thread=False)
        try:
            db.execute(f"PRAGMA synchronous = {self._synchronous}")
            db.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
        except sqlite3.Error:
            db.close()
            raise
        return db

    def _prepare(self) -> None:
        """Make the table, or refuse what is none of ours; the turn is held."""
        db = self._writer
        (found,) = db.execute("PRAGMA application_id").fetchone()
        (layout,) = db.execute("PRAGMA user_version").fetchone()
        if found == APPLICATION_ID and layout > LAYOUT:
            raise StoreConfigError(
                f"The bucket {self._path} has the layout {layout}, newer than {LAYOUT}", "Upgrade flowli"
            )
        if found != APPLICATION_ID:
            if found or layout or db.execute("SELECT count(*) FROM sqlite_master").fetchone() != (0,):
                raise StoreConfigError(f"{self._path} is the database of something else", "Name another file")
            db.execute("PRAGMA journal_mode = WAL")
            db.execute("BEGIN IMMEDIATE")
            db.execute(_TABLE)
            db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            db.execute(f"PRAGMA user_version = {LAYOUT}")
            db.execute("COMMIT")

    def _one(self, db: sqlite3.Connection, work: Write | Drop) -> Outcome:
        if isinstance(work, Drop):
            if work.if_version is not None and (refused := self._refused(db, work.keys[0], work.if_version)):
                return refused
            db.executemany("DELETE FROM objects WHERE key = ?", [(key,) for key in work.keys])
            return Won()
        if work.if_version is not None and (refused := self._refused(db, work.key, work.if_version)):
            return refused
        verb = "INSERT OR IGNORE" if work.if_absent else "INSERT OR REPLACE"
        done = db.execute(f"{verb} INTO objects (key, data) VALUES (?, ?)", (work.key, work.data))
        return Won(str(done.lastrowid)) if done.rowcount else Lost()

    def _refused(self, db: sqlite3.Connection, key: str, version: str) -> Lost | Gone | None:
        row = db.execute("SELECT version FROM objects WHERE key = ?", (key,)).fetchone()
        if row is None:
            return Gone()
        return None if str(row[0]) == version else Lost()

    def _undo(self) -> None:
        with contextlib.suppress(sqlite3.Error):
            if self._writer.in_transaction:
                self._writer.execute("ROLLBACK")

    def _failed(self, error: sqlite3.Error) -> StoreError:
        return translated(error, self._path)

    @contextlib.contextmanager
    def _turn(self) -> Iterator[None]:
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX)
        except OSError as error:
            raise StoreUnavailable(
                f"The lock of the bucket {self._path} does not answer ({error.strerror})", "Check the disk"
            ) from error
        try:
            yield
        finally:
            fcntl.flock(self._lock, fcntl.LOCK_UN)
