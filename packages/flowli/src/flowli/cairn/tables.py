"""The SQLite file under a projection: opened or built anew, written in transactions, read without waiting.

The position stands in the same transaction as the rows that it made, so that a killed process goes on where it was. WAL
and a connection of its own for every reading thread: readers see the last transaction and are never blocked. Several
processes may share one file. Every call here blocks: it belongs into a thread.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Generic, Protocol, TypeVar

from flowli.cairn.commit import Position

__all__ = ["Fold", "Tables"]

E_contra = TypeVar("E_contra", contravariant=True)
E = TypeVar("E")

_LOCKED_S = 30.0
_STATE = "projection"
_MADE = f"SELECT type, name FROM sqlite_master WHERE name NOT LIKE 'sqlite_%' AND name != '{_STATE}'"
_log = logging.getLogger(__name__)


class Fold(Protocol[E_contra]):
    """What a projection makes of entries. It runs in a thread and touches nothing but the database."""

    @property
    def name(self) -> str:
        """What it is called."""

    @property
    def version(self) -> int:
        """Changes with its tables or its rules; a file of another version is built anew."""

    def create(self, db: sqlite3.Connection) -> None:
        """Make the tables, within the caller's transaction."""

    def apply(self, db: sqlite3.Connection, entries: Sequence[E_contra]) -> None:
        """Fold entries, within the caller's transaction; each comes exactly once, in order."""


class Tables(Generic[E]):
    """One file. Writing methods are called from one thread at a time, ``reader`` from any.

    Args:
        path: of the file; its folder is made if it is missing.
        fold: what to make of the entries.
        source: names the bucket, so that the file of another one is not taken for this one's.
    """

    def __init__(self, path: str, fold: Fold[E], source: str) -> None:
        self._path = os.path.abspath(path)
        self._fold = fold
        self._source = source
        self._db: sqlite3.Connection | None = None
        self._mine = threading.local()
        self._readers: list[sqlite3.Connection] = []

    def open(self) -> Position:
        """Open the file and return the position of its rows; one that is damaged or not this one's is built anew.

        Raises:
            sqlite3.OperationalError: the file cannot be opened or written; with ``SQLITE_BUSY`` another process is
                making it at this moment, and opening again will do.
        """
        if self._db is None:
            os.makedirs(os.path.dirname(self._path), exist_ok=True)
            try:
                self._db = self._connected()
            except sqlite3.DatabaseError as error:
                if isinstance(error, sqlite3.OperationalError):
                    raise
                _log.warning("the projection file %s is damaged (%s) and is built anew", self._path, error)
                for suffix in ("", "-wal", "-shm"):
                    if os.path.lexists(self._path + suffix):
                        os.unlink(self._path + suffix)
                self._db = self._connected()
        return _stored(self._db)

    def apply(self, before: Position, entries: Sequence[E], after: Position) -> Position:
        """Fold the entries that lead from ``before`` to ``after`` in one transaction.

        Returns:
            The position of the rows now; another one than ``after`` when another process wrote since.
        """
        with self._transaction() as db:
            position = _stored(db)
            if position != before:
                return position  # what another process has folded is not folded twice
            self._fold.apply(db, entries)
            db.execute(f"UPDATE {_STATE} SET commits = ?, seq = ?", (after.commit, after.seq))
        return after

    def reset(self) -> Position:
        """Throw all rows away. Readers see the old ones until this is done."""
        with self._transaction() as db:
            self._make(db)
            return _stored(db)

    def export(self, path: str) -> Position:
        """Write all rows into a new file, without anything that was deleted, and return their position."""
        assert self._db is not None
        # Not a copy of the pages: those keep what was deleted until something is written over it.
        self._db.execute("VACUUM INTO ?", (path,))
        with closing(sqlite3.connect(path, isolation_level=None)) as made:
            made.execute(f"UPDATE {_STATE} SET source = ''")
            return _stored(made)

    def load(self, path: str) -> Position:
        """Take all rows from a file that ``export`` wrote, at once, and return their position.

        Raises:
            sqlite3.DatabaseError: it is no such file, or it is of another fold or version.
        """
        assert self._db is not None
        with closing(sqlite3.connect(path, isolation_level=None)) as given:
            found = given.execute(f"SELECT fold, version FROM {_STATE}").fetchone()
            if found != self._identity[:2]:
                raise sqlite3.DatabaseError(f"it is {found}, not {self._identity[:2]}")
            given.execute(f"UPDATE {_STATE} SET source = ?", (self._source,))
            given.backup(self._db)
        return _stored(self._db)

    def reader(self) -> sqlite3.Connection:
        """The reading connection of this thread."""
        db: sqlite3.Connection | None = getattr(self._mine, "db", None)
        if db is None:
            db = sqlite3.connect(self._path, _LOCKED_S, isolation_level=None, check_same_thread=False)
            db.execute("PRAGMA query_only = ON")
            self._mine.db = db
            self._readers.append(db)
        return db

    def close(self) -> None:
        """Close all connections."""
        for db in (*self._readers, self._db):
            if db is not None:
                db.close()
        self._readers.clear()
        self._db = None
        self._mine = threading.local()

    @property
    def _identity(self) -> tuple[str, int, str]:
        return (self._fold.name, self._fold.version, self._source)

    def _connected(self) -> sqlite3.Connection:
        db = sqlite3.connect(self._path, _LOCKED_S, isolation_level=None, check_same_thread=False)
        try:
            db.execute("PRAGMA journal_mode = WAL")
            db.execute("PRAGMA synchronous = NORMAL")  # a cache: consistent after a power cut is enough
            with _transaction(db):
                db.execute(
                    f"CREATE TABLE IF NOT EXISTS {_STATE} "
                    "(fold TEXT, version INTEGER, source TEXT, commits INTEGER, seq INTEGER)"
                )
                found = db.execute(f"SELECT fold, version, source FROM {_STATE}").fetchone()
                if found != self._identity:
                    if found is not None:
                        told = (self._path, *found, *self._identity)
                        _log.warning("the projection file %s is %s %s of %r, not %s %s of %r: built anew", *told)
                    self._make(db)
        except BaseException:
            db.close()
            raise
        return db

    def _make(self, db: sqlite3.Connection) -> None:
        found = db.execute(_MADE).fetchall()
        for kind in ("trigger", "view", "table"):
            for _, name in [row for row in found if row[0] == kind]:
                quoted = name.replace('"', '""')
                db.execute(f'DROP {kind} IF EXISTS "{quoted}"')
        db.execute(f"DELETE FROM {_STATE}")
        db.execute(f"INSERT INTO {_STATE} VALUES (?, ?, ?, 0, 0)", self._identity)
        self._fold.create(db)

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        assert self._db is not None
        with _transaction(self._db) as db:
            yield db


@contextmanager
def _transaction(db: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    """BEGIN IMMEDIATE … COMMIT: a reader never sees half, and a writer waits before it has read rather than after."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield db
    except BaseException:
        db.execute("ROLLBACK")
        raise
    db.execute("COMMIT")


def _stored(db: sqlite3.Connection) -> Position:
    commits, seq = db.execute(f"SELECT commits, seq FROM {_STATE}").fetchone()
    return Position(commits, seq)
