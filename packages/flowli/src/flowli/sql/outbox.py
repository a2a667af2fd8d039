"""``Outbox``: starts and signals as rows of the host's database, written in the host's own transaction.

What is committed will be carried out, what is rolled back will not. Everything is checked when the row is written:
names, arguments, sizes of keys. The ``id`` of the row is the idempotency key of what it asks for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import cast

import orjson
from sqlalchemy import delete, func, select, update

from flowli import codec
from flowli.domain.data import Data
from flowli.domain.errors import UsageError
from flowli.domain.ids import Eid, check_key, check_name
from flowli.runtime.engine.base import as_eid
from flowli.runtime.engine.starting import AnyWorkflow, plain_arguments
from flowli.runtime.observe.trace_context import current_trace
from flowli.runtime.registry import Registry
from flowli.sql.tables import Executes, Tables, changed
from flowli.world import SYSTEM, World

__all__ = ["FORMAT", "Outbox", "OutboxRow"]

FORMAT = 1
"""The form of ``body``; a relay carries out those up to its own."""


@dataclass(frozen=True, slots=True)
class OutboxRow:
    """A row that was not carried out yet.

    Attributes:
        seq: rises from row to row; those of one ``about`` are carried out in its order.
        id: names it to ``retry`` and ``drop``.
        about: the dispatch key or the execution that it is about.
        verb: ``start`` or ``signal``.
        refused: why it cannot be carried out, in one sentence; None while it waits.
    """

    seq: int
    id: str
    about: str
    verb: str
    body: dict[str, Data]
    trace: str
    created_at: str
    refused: str | None = None


class Outbox:
    """See the module's docstring. With an ``AsyncSession`` call it through ``run_sync``.

    Args:
        registry: the workflows that are started by name or function; None to start by name only, with plain values.

    Example:
        >>> with Session(database) as session, session.begin():
        ...     session.add(order)
        ...     outbox.start(session, checkout, order.id, key=f"order-{order.id}")
    """

    def __init__(self, tables: Tables, *, registry: Registry | None = None, world: World = SYSTEM) -> None:
        self._table = tables.outbox
        self._registry = Registry() if registry is None else registry
        self._world = world

    def start(
        self,
        connection: Executes,
        workflow: AnyWorkflow,
        /,
        *args: object,
        key: str | None = None,
        on_conflict: str = "join",
        queue: str | None = None,
        priority: int | None = None,
        version: str | None = None,
        timeout: float | timedelta | None = None,
        **kwargs: object,
    ) -> str:
        """Have an execution started when the transaction is committed.

        Args:
            args, kwargs: arguments of the workflow after its context.
            key: business key; None makes this a start of its own.
            on_conflict: ``join``, or ``reject``: then the row stays in the table, refused. The other two would not be
                the same if they were done a second time much later.
            queue, priority, version, timeout: as of ``engine.start``.

        Returns:
            The dispatch key: ``signal_key`` and ``engine.start`` with ``on_conflict="join"`` find the execution by it.

        Raises:
            UnknownWorkflow, BadArguments, InvalidValue, InvalidName: as of ``engine.start``; nothing was written.
            UsageError: ``on_conflict`` is another one, or a workflow that is not registered here has no version.
        """
        if on_conflict not in ("join", "reject"):
            raise UsageError(f"on_conflict is {on_conflict!r}; an outbox knows 'join' and 'reject'")
        row_id = str(self._world.uuid7())
        known = None
        if not isinstance(workflow, str) or self._registry.find(workflow) is not None:
            known = self._registry.of(workflow, version)
        if known is None and version is None:
            raise UsageError(f"workflow {workflow!r} is not known here; give its version, or the outbox a registry")
        if known is None:
            recorded = plain_arguments(args, kwargs)
        else:
            recorded = codec.arguments(known.fn, args, kwargs, skip_first=True)
        dispatch_key = f"outbox-{row_id}" if key is None else check_key("key", key)
        body: dict[str, Data] = {
            "workflow": known.name if known is not None else check_name("workflow", str(workflow)),
            "version": version if version is None else check_key("version", version),
            "known_version": known.version if known is not None else version,
            "arguments": recorded,
            "key": dispatch_key,
            "on_conflict": on_conflict,
            "queue": check_name("queue", queue) if queue is not None else known.queue if known is not None else None,
            "priority": priority,
            "timeout_s": timeout.total_seconds() if isinstance(timeout, timedelta) else timeout,
        }
        self._insert(connection, row_id, dispatch_key, "start", body)
        return dispatch_key

    def signal(
        self,
        connection: Executes,
        eid: Eid | str,
        channel: str,
        payload: object = None,
        *,
        correlation: str | None = None,
    ) -> str:
        """Have a message sent to an execution when the transaction is committed.

        Args:
            eid: the execution.
            channel: a name, as given to ``ctx.receive``.
            payload: anything that can be recorded.
            correlation: lets the receiver wait for this one of several messages.

        Returns:
            The id of the row, which is that of the message.

        Raises:
            InvalidName, InvalidValue: nothing was written.
        """
        about = str(as_eid(eid))
        return self._message(connection, about, {"eid": about, "key": None}, channel, payload, correlation)

    def signal_key(
        self, connection: Executes, key: str, channel: str, payload: object = None, *, correlation: str | None = None
    ) -> str:
        """The same to the execution that was started under a dispatch key: by ``start``, before, or anywhere else."""
        about = check_key("key", key)
        return self._message(connection, about, {"eid": None, "key": about}, channel, payload, correlation)

    def _message(
        self,
        connection: Executes,
        about: str,
        to: dict[str, Data],
        channel: str,
        payload: object,
        correlation: str | None,
    ) -> str:
        row_id = str(self._world.uuid7())
        said: dict[str, Data] = {
            "channel": check_name("channel", channel),
            "payload": codec.to_data(payload, path="payload"),
            "correlation": correlation,
        }
        self._insert(connection, row_id, about, "signal", {**to, **said})
        return row_id

    def _insert(self, connection: Executes, row_id: str, about: str, verb: str, body: dict[str, Data]) -> None:
        text = codec.canonical({"format": FORMAT, **body}).decode()
        created_at, trace = str(self._world.now()), current_trace()
        values = {"id": row_id, "about": about, "verb": verb, "body": text, "trace": trace, "created_at": created_at}
        connection.execute(self._table.insert().values(**values))

    def waiting(self, connection: Executes) -> int:
        """How many rows wait for the relay."""
        counted = select(func.count()).select_from(self._table).where(self._table.c.refused.is_(None))
        return int(connection.execute(counted).scalar_one())

    def rows(
        self, connection: Executes, *, refused: bool = False, after: int = 0, limit: int = 100
    ) -> Sequence[OutboxRow]:
        """The rows that wait, or those that were refused, the oldest first."""
        table = self._table
        state = table.c.refused.is_not(None) if refused else table.c.refused.is_(None)
        wanted = select(table).where(state, table.c.seq > after).order_by(table.c.seq).limit(limit)
        return [_row(found) for found in connection.execute(wanted).mappings()]

    def find(self, connection: Executes, row_id: str) -> OutboxRow | None:
        """A row that was not carried out yet."""
        found = connection.execute(select(self._table).where(self._table.c.id == row_id)).mappings().one_or_none()
        return None if found is None else _row(found)

    def done(self, connection: Executes, row_id: str) -> bool:
        """Forget a row: it was carried out, or is not to be; False if it was not there."""
        return changed(connection, delete(self._table).where(self._table.c.id == row_id)) == 1

    def refuse(self, connection: Executes, row_id: str, why: str) -> None:
        """Set a row aside."""
        connection.execute(update(self._table).where(self._table.c.id == row_id).values(refused=why))

    def retry(self, connection: Executes, row_id: str) -> bool:
        """Have a refused row tried again; False if it was not there."""
        again = update(self._table).where(self._table.c.id == row_id).values(refused=None)
        return changed(connection, again) == 1


def _row(found: object) -> OutboxRow:
    columns = dict(cast("dict[str, object]", found))
    body = cast("dict[str, Data]", orjson.loads(cast("str", columns.pop("body"))))
    return OutboxRow(body=body, **columns)  # type: ignore[arg-type]
