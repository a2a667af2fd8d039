"""``Inbox``: changes of executions in a table of the host's database, each once.

It is a handler of subscriptions, which give each change at least once. 1 Begin a transaction; 2 insert the event under
its id; 3 if it is new, have the host's own function write what follows from it; 4 commit. *A crash before 4* leaves
nothing, and the subscription gives the change again; *after it* the next delivery ends at 2.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Self, TypeAlias

from sqlalchemy import Connection, create_engine
from sqlalchemy import Engine as Database
from sqlalchemy.exc import ArgumentError

from flowli import codec
from flowli.domain.data import Data
from flowli.domain.errors import UsageError
from flowli.runtime.observe.cloudevents import cloud_event
from flowli.runtime.observe.subscription import Delivered
from flowli.sql.tables import Tables, insert_once, short
from flowli.world import SYSTEM, World

__all__ = ["Apply", "Inbox"]

Apply: TypeAlias = Callable[[Connection, Mapping[str, Data]], None]
"""Writes what follows from an event, in the transaction that takes it in."""


class Inbox:
    """Give it to ``Subscription(name, Inbox(database, tables))``, or as a sink to ``Published``.

    Args:
        database: where the tables are; its calls run in a thread of the inbox.
        apply: called with each new event; None only keeps them.
        source: ``source`` of the CloudEvents; names the installation.
    """

    def __init__(
        self,
        database: Database,
        tables: Tables,
        apply: Apply | None = None,
        *,
        source: str = "/flowli",
        world: World = SYSTEM,
    ) -> None:
        self._database = database
        self._table = tables.inbox
        self._apply = apply
        self._source = source
        self._threads = world.pool("flowli-inbox", 1)

    @classmethod
    def from_url(cls, url: str, *, world: World = SYSTEM) -> Self:
        """The sink ``sql:URL``: the rest is a URL of SQLAlchemy. The tables are made if they are not there.

        Raises:
            UsageError: it is none, or its driver is not installed.
        """
        try:
            database = create_engine(url.removeprefix("sql:"))
        except (ArgumentError, ImportError) as error:
            raise UsageError(f"{url!r} names no database: {error}; write sql: and a URL of SQLAlchemy") from error
        tables = Tables()
        tables.metadata.create_all(database)
        return cls(database, tables, world=world)

    async def __call__(self, one: Delivered) -> None:
        """Take one change in.

        Raises:
            SQLAlchemyError: the database failed; the change is given again.
        """
        await self.publish(cloud_event(one, self._source))

    async def publish(self, event: Mapping[str, Data]) -> None:
        """Take one CloudEvent in."""
        await asyncio.wrap_future(self._threads.submit(self._take, event))

    async def close(self) -> None:
        """Let go of its thread."""
        self._threads.shutdown(wait=False)

    def _take(self, event: Mapping[str, Data]) -> None:
        row = {
            "id": short(str(event["id"])),
            "type": str(event["type"]),
            "subject": str(event["subject"]),
            "time": str(event["time"]),
            "event": codec.canonical(dict(event)).decode(),
        }
        with self._database.begin() as connection:
            if insert_once(connection, self._table, row) and self._apply is not None:
                self._apply(connection, event)
