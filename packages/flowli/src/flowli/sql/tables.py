"""``Tables``: what stands in the host's database, and the one statement that all of it rests on: insert once."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, TypeAlias, cast

from sqlalchemy import BigInteger, Column, Connection, CursorResult, Executable, Integer, MetaData, String, Table, Text
from sqlalchemy.dialects import mysql, postgresql, sqlite
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session, scoped_session

__all__ = ["Executes", "Tables", "changed", "insert_once", "short"]

Executes: TypeAlias = Connection | Session | scoped_session[Session]
"""Who has a transaction of the host open: a connection or a session."""

_KEY_CHARS = 255
_LONG = BigInteger().with_variant(Integer, "sqlite")


class Tables:
    """The tables ``{prefix}outbox``, ``{prefix}inbox`` and ``{prefix}effects``.

    Args:
        metadata: that of the host, so that its migrations know them; None for one of their own.
        prefix: of their names.

    Attributes:
        outbox: what is to be started and signalled; a row lives until the relay has carried it out.
        inbox: changes of executions, by the ``id`` of their CloudEvent.
        effects: what steps have done, by the idempotency key of the step.

    Example:
        >>> tables = Tables()
        >>> tables.metadata.create_all(database)
    """

    def __init__(self, metadata: MetaData | None = None, *, prefix: str = "flowli_") -> None:
        self.metadata = MetaData() if metadata is None else metadata
        self.outbox = Table(
            f"{prefix}outbox",
            self.metadata,
            Column("seq", _LONG, primary_key=True, autoincrement=True),
            Column("id", String(36), nullable=False, unique=True),
            Column("about", String(200), nullable=False),
            Column("verb", String(16), nullable=False),
            Column("body", Text, nullable=False),
            Column("trace", Text, nullable=False),
            Column("created_at", String(27), nullable=False),
            Column("refused", Text, nullable=True),
        )
        self.inbox = Table(
            f"{prefix}inbox",
            self.metadata,
            Column("id", String(_KEY_CHARS), primary_key=True),
            Column("type", String(100), nullable=False),
            Column("subject", String(36), nullable=False, index=True),
            Column("time", String(27), nullable=False),
            Column("event", Text, nullable=False),
        )
        self.effects = Table(
            f"{prefix}effects",
            self.metadata,
            Column("key", String(_KEY_CHARS), primary_key=True),
            Column("result", Text, nullable=True),
            Column("done_at", String(27), nullable=False),
        )


def insert_once(connection: Executes, table: Table, row: Mapping[str, object]) -> bool:
    """Insert ``row`` unless one with its key is there; whether it was inserted.

    A transaction that is inserting the same key is waited for, where the database runs two at once.
    """
    bound = connection if isinstance(connection, Connection) else connection.connection()
    match bound.dialect.name:
        case "sqlite":
            put = sqlite.insert(table).values(**row).on_conflict_do_nothing()
            return connection.execute(put.returning(*table.primary_key)).first() is not None
        case "postgresql":
            put_there = postgresql.insert(table).values(**row).on_conflict_do_nothing()
            return connection.execute(put_there.returning(*table.primary_key)).first() is not None
        case "mysql" | "mariadb":
            return changed(connection, mysql.insert(table).values(**row).prefix_with("IGNORE")) == 1
        case _:
            try:
                with connection.begin_nested():
                    connection.execute(table.insert().values(**row))
            except IntegrityError:
                return False
            return True


def changed(connection: Executes, statement: Executable) -> int:
    """Execute what writes; how many rows it has written."""
    return cast("CursorResult[Any]", connection.execute(statement)).rowcount


def short(key: str) -> str:
    """A key as it stands in a table: one that is too long by its digest."""
    return key if len(key) <= _KEY_CHARS else f"sha256:{hashlib.sha256(key.encode()).hexdigest()}"
