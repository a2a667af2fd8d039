"""Projections: a log folded into a local SQLite file that answers questions.

It is a cache: it may be deleted at any time, and is built anew when it is damaged, of another version of the fold or of
another bucket. A killed process goes on where it was (see ``tables``).
"""

from __future__ import annotations

import asyncio
import logging
import os
import sqlite3
import tempfile
import zlib
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from typing import Generic, TypeVar

from flowli.cairn.commit import START, Commit, Position
from flowli.cairn.log import Log
from flowli.cairn.packed import unpack
from flowli.cairn.settle import Patience
from flowli.cairn.tables import Fold, Tables
from flowli.cairn.values import JSON
from flowli.world import World

__all__ = ["Fold", "Part", "Position", "Projection", "Record", "Snapshot", "Source", "of_log"]

E = TypeVar("E")
T = TypeVar("T")

_BATCH = 10_000
_READERS = 4
_LOOK_AGAIN_S = 0.05
_PARTS = 4
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Part(Generic[E]):
    """What a read of a log found.

    Attributes:
        entries: in order.
        position: after them.
        caught_up: whether nothing followed when it was read.
    """

    entries: Sequence[E]
    position: Position
    caught_up: bool


Source = Callable[[Position, int], Awaitable[Part[E]]]
"""Reads entries after a position; the number is about how many are welcome at once."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The rows of a projection at some position, as ``Projection.export`` wrote them, cut into parts.

    Attributes:
        parts: how many.
        read: one of them, from 0; None if it is gone or damaged.
    """

    parts: int
    read: Callable[[int], Awaitable[bytes | None]]


@dataclass(frozen=True, slots=True)
class Record:
    """One record of a log with its number and the commit that holds it."""

    seq: int
    data: dict[str, JSON]
    commit: Commit


def of_log(log: Log) -> Source[Record]:
    """The records of a log of the bucket as a projection's source."""

    async def read(after: Position, limit: int) -> Part[Record]:
        chunk = await log.read(after, limit)
        records = [Record(one.first + n, data, one) for one in chunk.commits for n, data in enumerate(one.records)]
        return Part(records, chunk.position, chunk.caught_up)

    return read


class Projection(Generic[E]):
    """One log as a SQLite file.

    Args:
        source: reads the log.
        path: of the file. Several processes of one host may share it.
        fold: what to make of the entries.
        world: clock and threads of this process.
        bucket: names the bucket, so that the file of another one is not taken for this one's.
        snapshot: finds rows to begin with, instead of the start of the log.
    """

    def __init__(
        self,
        source: Source[E],
        path: str,
        fold: Fold[E],
        world: World,
        *,
        bucket: str = "",
        snapshot: Callable[[], Awaitable[Snapshot | None]] | None = None,
    ) -> None:
        self._source = source
        self._snapshot = snapshot
        self._path = path
        self._world = world
        self._tables = Tables(path, fold, bucket)
        self._writer = world.pool("flowli-projection", 1)
        self._readers = world.pool("flowli-projection-reader", _READERS)
        self._position = START
        self._opened = self._closed = False
        self._turn = asyncio.Lock()
        self._begun = self._ended = 0

    @property
    def position(self) -> Position:
        """Up to where this process knows the rows to be built."""
        return self._position

    async def catch_up(self) -> Position:
        """Fold what is new. What was in the log when this was called is in the rows when it returns."""
        mine = self._begun + 1
        async with self._turn:
            if self._ended >= mine:
                return self._position  # a pass that began after this call has just ended
            await self._open()
            self._begun += 1
            begun = self._begun
            if self._position == START and self._snapshot is not None:
                await self._begin_with(await self._snapshot())
            await self._fold_all()
            self._ended = begun
            return self._position

    async def _begin_with(self, snapshot: Snapshot | None) -> None:
        """Take the rows of a snapshot; one that cannot be read is passed over, for it is only a cache."""
        if snapshot is None:
            return
        incoming = await self._in(self._writer, lambda: _beside(self._path))
        try:
            path = os.path.join(incoming.name, "rows.db")
            for first in range(0, snapshot.parts, _PARTS):
                numbers = range(first, min(first + _PARTS, snapshot.parts))
                for body in await asyncio.gather(*map(snapshot.read, numbers)):
                    if body is None:
                        raise sqlite3.DatabaseError("a part of it is missing or damaged")
                    await self._in(self._writer, partial(unpack, body, path))
            self._position = await self._in(self._writer, lambda: self._tables.load(path))
        except (sqlite3.DatabaseError, zlib.error) as error:
            _log.warning("the snapshot for %s is not used: %s", self._path, error)
        finally:
            await self._in(self._writer, incoming.cleanup)

    async def _fold_all(self) -> None:
        """Fold up to the tail; what comes next is read while what was read is folded."""
        found = await self._source(self._position, _BATCH)
        while True:
            following = None if found.caught_up else asyncio.ensure_future(self._source(found.position, _BATCH))
            if following is not None:
                following.add_done_callback(lambda done: done.cancelled() or done.exception())
            try:
                if found.position != self._position:
                    apply = partial(self._tables.apply, self._position, found.entries, found.position)
                    self._position = await self._in(self._writer, apply)
                if self._position != found.position:  # another process has folded something: go on from there
                    found = await self._source(self._position, _BATCH)
                elif following is None:
                    return
                else:
                    found = await following
            finally:
                if following is not None:
                    following.cancel()

    async def wait_for(self, seq: int, *, timeout_s: float) -> bool:
        """Fold until the entry ``seq`` is among the rows; False if it did not come within ``timeout_s`` seconds."""
        deadline_s = self._world.monotonic_s() + timeout_s
        while self._position.seq < seq and (await self.catch_up()).seq < seq:
            if self._world.monotonic_s() >= deadline_s:
                return False
            await self._world.sleep(_LOOK_AGAIN_S)
        return True

    async def rebuild(self) -> Position:
        """Throw all rows away and fold the log from its start."""
        async with self._turn:
            await self._open()
            self._snapshot = None
            self._position = await self._in(self._writer, self._tables.reset)
        return await self.catch_up()

    async def export(self, path: str) -> Position:
        """Write the rows that are folded so far into a new file, and return their position."""
        async with self._turn:
            await self._open()
            return await self._in(self._writer, lambda: self._tables.export(path))

    async def read(self, question: Callable[[sqlite3.Connection], T]) -> T:
        """Run ``question`` in a thread on a read-only connection; it sees the last transaction."""
        if not self._opened:
            async with self._turn:
                await self._open()
        return await self._in(self._readers, lambda: question(self._tables.reader()))

    async def close(self) -> None:
        """Close the file and let go of the threads."""
        if self._closed:
            return
        self._closed = True
        await self._in(self._writer, self._tables.close)
        self._writer.shutdown(wait=False)
        self._readers.shutdown(wait=False)

    async def _open(self) -> None:
        patience = Patience(self._world)
        while not self._opened:
            try:
                self._position = await self._in(self._writer, self._tables.open)
                self._opened = True
            except sqlite3.OperationalError as error:
                # Switching a new file to WAL does not wait for another process that does the same.
                if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or not await patience.pause():
                    raise

    async def _in(self, pool: Executor, call: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(pool, call)


def _beside(path: str) -> tempfile.TemporaryDirectory[str]:
    """A folder on the same disk, which goes again."""
    return tempfile.TemporaryDirectory(prefix=".incoming-", dir=os.path.dirname(os.path.abspath(path)))
