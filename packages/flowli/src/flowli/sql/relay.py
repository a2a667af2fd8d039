"""``Relay``: carries out the rows of an outbox, each once.

For each row: 1 read it; 2 start or signal, under the id of the row as idempotency key; 3 delete it. *A crash before 2
has been acknowledged*: the row is there, and 2 is done again, which is doing it once, since the key is the same.
*Between 2 and 3*: the same. A row that can never be carried out (no such execution, the key is taken, ...) is marked as
refused, with the reason, instead of 3; later rows go on. A row for which the bucket or the database fails stays, and
those behind it that are about the same thing wait for it.

Any number of relays may work on one table: they do the same, and doing it twice is doing it once. With
``run(alone=True)`` one of them works at a time and another one follows it.
"""

from __future__ import annotations

import asyncio
import contextvars
import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar, cast

import structlog
from sqlalchemy import Connection
from sqlalchemy import Engine as Database
from sqlalchemy.exc import SQLAlchemyError

from flowli.domain.data import Data
from flowli.domain.errors import BackendError, FlowliError, LeaseLost, NotAllowed, UsageError
from flowli.domain.ids import Eid, parse_eid
from flowli.runtime.observe.trace_context import carried, parted
from flowli.sql.outbox import FORMAT, Outbox, OutboxRow
from flowli.sql.tables import Tables

if TYPE_CHECKING:
    from flowli.runtime.engine.engine import Engine

__all__ = ["Relay"]

T = TypeVar("T")

_log = structlog.get_logger("flowli.outbox")
_BATCH = 200


class Relay:
    """See the module's docstring.

    Args:
        engine: of the bucket. A workflow that its registry knows is started as that says; any other by name.
        database: where the tables are; its calls run in a thread of the relay.
        concurrency: how many things are acted on at once; rows about one thing follow one another.
    """

    def __init__(self, engine: Engine, database: Database, tables: Tables, *, concurrency: int = 8) -> None:
        if concurrency < 1:
            raise UsageError(f"concurrency is {concurrency}; it must be positive")
        self._engine = engine
        self._database = database
        self._outbox = Outbox(tables, world=engine.world)
        self._name = tables.outbox.name
        self._concurrency = concurrency
        self._threads = engine.world.pool("flowli-outbox", 1)
        self._stopping = asyncio.Event()
        self._nudged = asyncio.Event()

    def stop(self) -> None:
        """End ``run`` after what is being carried out."""
        self._stopping.set()
        self._nudged.set()

    def nudge(self) -> None:
        """Look at once: the host has committed something. Call it on the loop of the relay."""
        self._nudged.set()

    async def run(self, *, poll_s: float = 1.0, alone: bool = True) -> None:
        """Carry out rows until ``stop``.

        Args:
            poll_s: how often the table is looked at, in seconds.
            alone: be the only relay of this table in the fleet; the others wait for its end.
        """
        while not self._stopping.is_set():
            try:
                if alone:
                    async with self._engine.role(f"outbox:{self._name}", wait_s=0):
                        await self._follow(poll_s)
                else:
                    await self._follow(poll_s)
            except NotAllowed:
                await self._pause(self._engine.config.exec_ttl_s / 3)  # another relay works
            except (BackendError, LeaseLost, SQLAlchemyError) as error:
                _log.warning("the relay goes on later", table=self._name, error=str(error))
                await self._pause(max(poll_s, 1.0))

    async def _follow(self, poll_s: float) -> None:
        while not self._stopping.is_set():
            self._nudged.clear()
            await self.relay_once()
            await self._pause(poll_s)

    async def relay_once(self) -> int:
        """Carry out what waits now; how many rows that were.

        Raises:
            BackendError, SQLAlchemyError: something failed; the rows that it concerns are still there.
        """
        done, after = 0, 0
        while not self._stopping.is_set():
            rows = await self._in_database(functools.partial(self._rows, after))
            if not rows:
                break
            done += await self._batch(rows)
            after = rows[-1].seq
        await self._engine.announcer.drain()
        return done

    def _rows(self, after: int, connection: Connection) -> Sequence[OutboxRow]:
        return self._outbox.rows(connection, after=after, limit=_BATCH)

    async def _batch(self, rows: Sequence[OutboxRow]) -> int:
        lines: dict[str, list[OutboxRow]] = {}
        for row in rows:
            lines.setdefault(row.about, []).append(row)
        room = asyncio.Semaphore(self._concurrency)

        async def line(mine: list[OutboxRow]) -> int:
            async with room:
                return sum([await self._carry_out(row) for row in mine])

        # in a context of its own: what was committed belongs to the trace of its transaction, not to that of the relay
        working = [asyncio.create_task(line(mine), context=contextvars.Context()) for mine in lines.values()]
        ended = await asyncio.gather(*working, return_exceptions=True)
        for one in ended:
            if isinstance(one, BaseException):
                raise one
        return sum(one for one in ended if isinstance(one, int))

    async def _carry_out(self, row: OutboxRow) -> int:
        """Steps 1 to 3 of one row; 1 if it was carried out now."""
        if await self._in_database(lambda connection: self._outbox.find(connection, row.id)) is None:
            return 0  # another relay was here
        try:
            with carried(**_headers(row.trace)):
                await self._act(row)
        except BackendError:
            raise
        except FlowliError as error:
            why = str(error)
            _log.error("a row of the outbox cannot be carried out", table=self._name, id=row.id, error=why)
            await self._in_database(lambda connection: self._outbox.refuse(connection, row.id, why))
            return 0
        await self._in_database(lambda connection: self._outbox.done(connection, row.id))
        return 1

    async def _act(self, row: OutboxRow) -> None:
        made_for = row.body.get("format")
        if not isinstance(made_for, int) or made_for > FORMAT or row.verb not in ("start", "signal"):
            raise UsageError(f"a {row.verb} of format {made_for} is not known to this version; upgrade the relay")
        if row.verb == "start":
            await self._start(row)
        else:
            await self._signal(row)

    async def _start(self, row: OutboxRow) -> None:
        body = row.body
        workflow, recorded = str(body["workflow"]), cast("dict[str, Data]", body["arguments"])
        version = body["version"]
        if version is None and self._engine.registry.find(workflow) is None:
            version = body["known_version"]
        await self._engine.start_args(
            workflow,
            cast("list[Data]", recorded["args"]),
            cast("dict[str, Data]", recorded["kwargs"]),
            key=str(body["key"]),
            on_conflict=str(body["on_conflict"]),
            queue=cast("str | None", body["queue"]),
            priority=cast("int | None", body["priority"]),
            version=cast("str | None", version),
            timeout=cast("float | None", body["timeout_s"]),
            request=row.id,
        )

    async def _signal(self, row: OutboxRow) -> None:
        body, eid = row.body, await self._receiver(row.body)
        correlation = cast("str | None", body["correlation"])
        await self._engine.signal(eid, str(body["channel"]), body["payload"], key=row.id, correlation=correlation)

    async def _receiver(self, body: dict[str, Data]) -> Eid:
        if body["eid"] is not None:
            return parse_eid(str(body["eid"]))
        key = str(body["key"])
        stands = await self._engine.ports.dispatch.read_start(key)
        if stands is None:
            raise UsageError(f"no execution was started under key {key!r}; start it before it is signalled")
        return stands.eid

    async def _in_database(self, call: Callable[[Connection], T]) -> T:
        """One transaction, in the thread of the relay."""

        def transact() -> T:
            with self._database.begin() as connection:
                return call(connection)

        return await asyncio.wrap_future(self._threads.submit(transact))

    async def _pause(self, seconds: float) -> None:
        woken = asyncio.ensure_future(self._nudged.wait())
        timer = asyncio.ensure_future(self._engine.world.sleep(seconds))
        try:
            await asyncio.wait((woken, timer), return_when=asyncio.FIRST_COMPLETED)
        finally:
            woken.cancel()
            timer.cancel()

    def close(self) -> None:
        """Let go of its thread."""
        self._threads.shutdown(wait=False)


def _headers(trace: str) -> dict[str, str]:
    return {"traceparent": "", **parted(trace)}
