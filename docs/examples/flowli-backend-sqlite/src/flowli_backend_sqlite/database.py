"""One SQLite file: a connection, a thread in which it waits for the disk, and transactions."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Callable
from dataclasses import asdict
from typing import TypeVar

from flowli.domain.errors import BackendRefused
from flowli.world import ProcessIdentity, World
from flowli_backend_sqlite.errors import not_confirmed, translated
from flowli_backend_sqlite.schema import TABLES, VERSION

T = TypeVar("T")

_BUSY_S = 30.0


class Database:
    """The file as one process, or one thread with its own event loop, sees it.

    Args:
        path: of the file; it is made by the first use.
        world: the clock of leases, and the thread.
        durable: whether a commit waits for the disk.
    """

    def __init__(self, path: str, world: World, *, durable: bool = True) -> None:
        self.path = path
        self.world = world
        self.durable = durable
        self._thread = world.pool("flowli-rows", 1)
        self._connection: sqlite3.Connection | None = None

    async def write(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run ``work`` in a transaction that no other writer is in; it is durable when this returns."""
        return await self._aside("BEGIN IMMEDIATE", work)

    async def read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run ``work`` on one state of the file, however many queries it makes."""
        return await self._aside("BEGIN", work)

    async def close(self) -> None:
        """Close the file."""
        if self._connection is not None:
            await asyncio.get_running_loop().run_in_executor(self._thread, self._connection.close)
        self._thread.shutdown()

    def now_s(self) -> float:
        """The clock of leases and delays: all processes of a host read the same one, and it never steps.

        It begins anew with the host. So an instant that lies in the future was written before the host was started
        anew, and whoever held a lease then is gone.
        """
        return self.world.boottime_s()

    def process(self) -> str:
        """This process, as it is kept beside what it holds."""
        return json.dumps(asdict(self.world.process()))

    def is_dead(self, process: str | None) -> bool:
        """Whether a process that was kept so certainly runs no more; also a function of SQL."""
        return process is not None and self.world.is_dead(ProcessIdentity(**json.loads(process)))

    async def _aside(self, begin: str, work: Callable[[sqlite3.Connection], T]) -> T:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, self._transaction, begin, work)

    def _transaction(self, begin: str, work: Callable[[sqlite3.Connection], T]) -> T:
        try:
            db = self._connection = self._connection or self._opened()
            db.execute(begin)
            try:
                result = work(db)
            except BaseException:
                if db.in_transaction:
                    db.execute("ROLLBACK")
                raise
        except sqlite3.Error as error:
            raise translated(self.path, error) from error
        try:
            db.execute("COMMIT")
        except sqlite3.Error as error:
            if db.in_transaction:
                db.execute("ROLLBACK")
            raise not_confirmed(self.path, error) from error
        return result

    def _opened(self) -> sqlite3.Connection:
        db = sqlite3.connect(self.path, timeout=_BUSY_S, isolation_level=None, check_same_thread=False)
        try:
            db.create_function("is_dead", 1, self.is_dead)
            db.execute("PRAGMA journal_mode = WAL")
            db.execute(f"PRAGMA synchronous = {'FULL' if self.durable else 'OFF'}")
            self._lay_out(db)
        except BaseException:
            db.close()
            raise
        return db

    def _lay_out(self, db: sqlite3.Connection) -> None:
        """Make the tables of a new file; of several processes that open it first, one does."""
        db.execute("BEGIN IMMEDIATE")
        (found,) = db.execute("PRAGMA user_version").fetchone()
        if found > VERSION:
            raise BackendRefused(f"{self.path} has layout {found}, this release knows {VERSION}; upgrade it")
        for statement in TABLES if found == 0 else ():
            db.execute(statement)
        db.execute(f"PRAGMA user_version = {VERSION}")
        db.execute("COMMIT")
