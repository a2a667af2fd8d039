"""``Effects``: what a step writes to the host's database is written exactly once, however often the step runs.

A step runs at least once: its worker may die after it has written and before its outcome is durable. So the step
writes a marker, under its idempotency key, in the very transaction in which it writes: 1 insert the marker; 2 if it
was there, the write was committed before: give what it gave then; 3 write; 4 put the result into the marker; commit.
*A crash before the commit* leaves neither; *after it* both, and the next attempt ends at 2. Two attempts at once: the
insert of one waits for the other's commit.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import TypeVar, cast

import orjson
from sqlalchemy import Connection, Engine, delete, select, update
from sqlalchemy.exc import SQLAlchemyError

from flowli import codec
from flowli.domain.errors import UsageError
from flowli.runtime.step import step_info
from flowli.sql.tables import Executes, Tables, insert_once, short
from flowli.world import SYSTEM, World

__all__ = ["Effects"]

C = TypeVar("C", bound=Executes)
T = TypeVar("T")


class Effects:
    """See the module's docstring.

    Example:
        >>> effects = Effects(tables)
        >>> @registry.step
        ... def book(order: str) -> int:
        ...     return effects.once(database, lambda connection: insert_booking(connection, order))
    """

    def __init__(self, tables: Tables, *, world: World = SYSTEM) -> None:
        self._table = tables.effects
        self._world = world

    def once(self, database: Engine, write: Callable[[Connection], T], *, key: str | None = None) -> T:
        """Run ``write`` in a transaction of its own, unless one with this key was committed.

        Args:
            write: gets the connection; what it returns can be recorded, and comes back by its annotation.
            key: None for the step in which this is called; a step that writes several times gives each a key.

        Returns:
            What ``write`` returned, now or the first time.

        Raises:
            UsageError: there is no key and this is called outside a step.
            InvalidValue: the result cannot be recorded; nothing was written.
        """
        with database.begin() as connection:
            return self.within(connection, write, key=key)

    def within(self, connection: C, write: Callable[[C], T], *, key: str | None = None) -> T:
        """The same in a transaction that the caller has begun and commits, with a connection or a session."""
        named, table = short(_key(key)), self._table
        row = {"key": named, "result": None, "done_at": str(self._world.now())}
        hint = codec.return_hint(write)
        if not insert_once(connection, table, row):
            found = connection.execute(select(table.c.result).where(table.c.key == named)).scalar_one()
            return cast("T", codec.from_data(orjson.loads(found), hint))
        try:
            value = write(connection)
            data = codec.canonical(codec.to_data(value, hint, path="result")).decode()
        except BaseException:
            # whoever commits all the same does not commit that it was done; of a broken transaction nothing is left
            with contextlib.suppress(SQLAlchemyError):
                connection.execute(delete(table).where(table.c.key == named))
            raise
        connection.execute(update(table).where(table.c.key == named).values(result=data))
        return value


def _key(key: str | None) -> str:
    own = ""
    try:
        own = step_info().idempotency_key
    except UsageError:
        if key is None:
            raise
    return own if key is None else f"{own}/{key}" if own else key
