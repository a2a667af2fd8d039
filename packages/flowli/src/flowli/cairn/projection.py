"""Projections: a log replayed into a local SQLite file that answers questions.

It is a cache. The position stands in the same transaction as the rows it made, so that a killed process resumes where
it was; a file made by another version of the fold, from another log, or damaged, is built anew. Readers use
connections of their own in WAL mode and are never blocked. Several processes may share one file.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sqlite3
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from functools import partial
from typing import Protocol, TypeVar

from flowli.cairn.commit import START, Commit, Position
from flowli.cairn.log import Log
from flowli.cairn.settle import Patience
from flowli.cairn.values import JSON
from flowli.world import World

__all__ = ["Fold", "Projection"]

T = TypeVar("T")

_BATCH = 512
_READERS = 4
_LOCKED_S = 30.0
_log = logging.getLogger(__name__)


class Fold(Protocol):
    """What a projection makes of a log. It runs in a thread and touches nothing but the database."""

    @property
    def name(self) -> str:
        """What it is called."""

    @property
    def version(self) -> int:
        """Changes with its tables or its rules; another version is built anew."""

    def create(self, db: sqlite3.Connection) -> None:
        """Make the tables."""

    def apply(self, db: sqlite3.Connection, seq: int, record: dict[str, JSON], commit: Commit) -> None:
        """Fold one record; each comes exactly once, in order."""


class Projection:
    """One log as a SQLite file.

    Args:
        log: what to replay.
        path: of the file; its folder exists.
        fold: what to make of it.
        world: makes the threads.
        source: names the bucket, so that the file of another one is not taken for this one's.
    """

    def __init__(self, log: Log, path: str, fold: Fold, world: World, *, source: str = "") -> None:
        self._log = log
        self._path = path
        self._fold = fold
        self._world = world
        self._identity = (fold.name, fold.version, source, log.name)
        self._writer = world.pool("flowli-projection", 1)
        self._readers = world.pool("flowli-reader", _READERS)
        self._mine = threading.local()
        self._open: list[sqlite3.Connection] = []
        self._db: sqlite3.Connection | None = None
        self._position = START
        self._turn = asyncio.Lock()

    @property
    def position(self) -> Position:
        """Up to where this process knows the file to be built."""
        return self._position

    async def catch_up(self) -> Position:
        """Fold what is new. Whoever appended at a position before this call finds it folded afterwards."""
        async with self._turn:
            await self._ready()
            while True:
                chunk = await self._log.read(self._position, _BATCH)
                if chunk.commits:
                    await self._in(self._writer, partial(self._apply, chunk.commits))
                if chunk.caught_up:
                    return self._position

    async def query(self, sql: str, parameters: Sequence[object] = ()) -> list[tuple[object, ...]]:
        """Rows of one statement, as of the last transaction."""
        return await self.read(lambda db: db.execute(sql, parameters).fetchall())

    async def read(self, question: Callable[[sqlite3.Connection], T]) -> T:
        """Run ``question`` in a thread on a read-only connection."""
        if self._db is None:
            async with self._turn:
                await self._ready()
        return await self._in(self._readers, lambda: question(self._reader()))

    async def rebuild(self) -> Position:
        """Throw everything away and replay the log. Readers see the old rows until the first new ones are there."""
        async with self._turn:
            await self._ready()
            await self._in(self._writer, self._reset)
        return await self.catch_up()

    async def close(self) -> None:
        """Close the file."""
        await self._in(self._writer, self._close)
        self._writer.shutdown(wait=False)
        self._readers.shutdown(wait=False)

    async def _ready(self) -> None:
        patience = Patience(self._world)
        while True:
            try:
                return await self._in(self._writer, self._prepare)
            except sqlite3.OperationalError as error:
                # Switching a new file to WAL does not wait for another process that does the same.
                if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or not await patience.pause():
                    raise

    async def _in(self, pool: Executor, call: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(pool, call)

    def _prepare(self) -> None:
        if self._db is not None:
            return
        try:
            self._db = self._connected()
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.OperationalError):
                raise
            _log.warning("the projection file %s is damaged and is built anew", self._path)
            for suffix in ("", "-wal", "-shm"):
                if os.path.lexists(self._path + suffix):
                    os.unlink(self._path + suffix)
            self._db = self._connected()

    def _connected(self) -> sqlite3.Connection:
        db = sqlite3.connect(self._path, _LOCKED_S, isolation_level=None, check_same_thread=False)
        try:
            db.execute("PRAGMA journal_mode = WAL")
            db.execute("PRAGMA synchronous = NORMAL")  # a cache: consistent after a power cut is enough
            with _Transaction(db):
                db.execute(
                    "CREATE TABLE IF NOT EXISTS cairn_projection"
                    "(fold TEXT, version INTEGER, source TEXT, log TEXT, commits INTEGER, seq INTEGER)"
                )
                row = db.execute("SELECT fold, version, source, log FROM cairn_projection").fetchone()
                if row is not None and row != self._identity:
                    _log.warning("the projection file %s is of %s, not %s: built anew", self._path, row, self._identity)
                if row != self._identity:
                    self._make(db)
                self._position = _stored(db)
        except BaseException:
            db.close()
            raise
        return db

    def _make(self, db: sqlite3.Connection) -> None:
        """Empty the file and make the tables, within the caller's transaction."""
        made = "SELECT type, name FROM sqlite_master WHERE name NOT LIKE 'sqlite_%' AND name != 'cairn_projection'"
        for kind in ("trigger", "view", "table"):
            for _, name in [row for row in db.execute(made).fetchall() if row[0] == kind]:
                quoted = name.replace('"', '""')
                db.execute(f'DROP {kind} IF EXISTS "{quoted}"')
        db.execute("DELETE FROM cairn_projection")
        db.execute("INSERT INTO cairn_projection VALUES (?, ?, ?, ?, 0, 0)", self._identity)
        self._fold.create(db)

    def _reset(self) -> None:
        assert self._db is not None
        with _Transaction(self._db):
            self._make(self._db)
        self._position = START

    def _apply(self, commits: Sequence[Commit]) -> None:
        db = self._db
        assert db is not None
        with _Transaction(db):
            # Another process may have built on since; what it has folded must not be folded twice.
            position = _stored(db)
            for commit in commits:
                if commit.number != position.commit + 1:
                    continue
                for offset, record in enumerate(commit.records):
                    self._fold.apply(db, commit.first + offset, record, commit)
                position = commit.position
            db.execute("UPDATE cairn_projection SET commits = ?, seq = ?", (position.commit, position.seq))
        self._position = position

    def _reader(self) -> sqlite3.Connection:
        db: sqlite3.Connection | None = getattr(self._mine, "db", None)
        if db is None:
            db = sqlite3.connect(self._path, _LOCKED_S, isolation_level=None, check_same_thread=False)
            db.execute("PRAGMA query_only = ON")
            self._mine.db = db
            self._open.append(db)
        return db

    def _close(self) -> None:
        for db in (*self._open, self._db):
            if db is not None:
                db.close()
        self._db = None


class _Transaction:
    """BEGIN IMMEDIATE … COMMIT: a reader never sees half, and a writer waits before it has read rather than after."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def __enter__(self) -> None:
        self._db.execute("BEGIN IMMEDIATE")

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self._db.execute("COMMIT" if kind is None else "ROLLBACK")


def _stored(db: sqlite3.Connection) -> Position:
    commits, seq = db.execute("SELECT commits, seq FROM cairn_projection").fetchone()
    return Position(commits, seq)
