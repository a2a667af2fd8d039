"""``flowli outbox``: carry out what a host has committed to its SQL database, and see what could not be."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import click

from flowli.cli.jobs.stopping import draining
from flowli.cli.options import common, engine_options
from flowli.cli.session import Session, run
from flowli.cli.shell import FlowliCommand, FlowliParts

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import Connection, Engine

    from flowli.domain.data import Data
    from flowli.sql import Outbox, OutboxRow, Tables

__all__ = ["outbox"]

T = TypeVar("T")

_database = click.option(
    "--database", required=True, metavar="URL", help="Database of the host, as SQLAlchemy names it."
)
_prefix = click.option("--prefix", default="flowli_", show_default=True, metavar="TEXT", help="Of the table names.")


@click.group(cls=FlowliParts)
def outbox() -> None:
    """Start and signal what a host has committed to its SQL database. It needs the extra sql."""


@outbox.command("run", cls=FlowliCommand, under="outbox")
@_database
@_prefix
@click.option("--once", is_flag=True, help="Carry out what waits now, and exit.")
@engine_options
@common()
def relay(database: str, prefix: str, once: bool) -> None:
    """Carry out the rows of the outbox, each once.

    Any number of processes may do so: one works at a time, another one follows it. With --app, workflows are started as
    the application registers them; otherwise by name.
    """

    async def body(session: Session) -> None:
        from flowli.sql import Relay

        opened, tables = _opened(database, prefix)
        working = Relay(session.engine, opened, tables)
        await session.check_bucket()
        try:
            if once:
                done = await working.relay_once()
                _said(session, {"carried_out": done}, f"{done} carried out")
                return
            with draining(working.stop, session.engine.config.grace_s):
                await working.run()
        finally:
            working.close()

    run(body, uses_app=True, log="info")


@outbox.command("list", cls=FlowliCommand, under="outbox")
@_database
@_prefix
@common()
def list_refused(database: str, prefix: str) -> None:
    """List the rows that were refused, with the reason, and count those that wait."""

    async def body(session: Session) -> None:
        waiting, refused = _within(database, prefix, _look)
        if session.screen.json_wanted:
            rows: list[Data] = [
                {"id": one.id, "about": one.about, "verb": one.verb, "refused": one.refused} for one in refused
            ]
            session.screen.json({"waiting": waiting, "refused": rows})
            return
        session.screen.note(f"flowli: {waiting} wait for the relay, {len(refused)} were refused")
        if refused:
            head = ("ID", "ABOUT", "VERB", "REFUSED")
            session.screen.table(head, [[one.id, one.about, one.verb, one.refused or ""] for one in refused])

    run(body)


@outbox.command("retry", cls=FlowliCommand, under="outbox")
@click.argument("row", metavar="ID")
@_database
@_prefix
@common()
def retry(row: str, database: str, prefix: str) -> None:
    """Have a refused row tried again."""
    _change(row, database, prefix, "retried", lambda found, connection: found.retry(connection, row))


@outbox.command("rm", cls=FlowliCommand, under="outbox")
@click.argument("row", metavar="ID")
@_database
@_prefix
@common()
def remove(row: str, database: str, prefix: str) -> None:
    """Forget a row: it is not carried out."""
    _change(row, database, prefix, "removed", lambda found, connection: found.done(connection, row))


def _change(row: str, database: str, prefix: str, verb: str, act: Callable[[Outbox, Connection], bool]) -> None:
    async def body(session: Session) -> None:
        from flowli.domain.errors import UsageError

        if not _within(database, prefix, act):
            raise UsageError(f"there is no row '{row}' in the outbox; `flowli outbox list` shows what was refused")
        _said(session, {"id": row, verb: True}, f"{row}  {verb}")

    run(body)


def _look(found: Outbox, connection: Connection) -> tuple[int, list[OutboxRow]]:
    return found.waiting(connection), list(found.rows(connection, refused=True, limit=1000))


def _within(database: str, prefix: str, act: Callable[[Outbox, Connection], T]) -> T:
    from flowli.sql import Outbox

    opened, tables = _opened(database, prefix)
    with opened.begin() as connection:
        return act(Outbox(tables), connection)


def _opened(database: str, prefix: str) -> tuple[Engine, Tables]:
    try:
        from sqlalchemy import create_engine
        from sqlalchemy.exc import ArgumentError

        from flowli.sql import Tables
    except ImportError as missing:
        raise _refused(str(missing)) from missing
    try:
        return create_engine(database), Tables(prefix=prefix)
    except (ArgumentError, ImportError) as error:
        raise _refused(f"{database!r} cannot be opened: {error}") from error


def _refused(why: str) -> Exception:
    from flowli.cli.exits import CommandFailed, ExitCode

    return CommandFailed(why, ExitCode.USAGE)


def _said(session: Session, data: dict[str, Data], text: str) -> None:
    if session.screen.json_wanted:
        session.screen.json(data)
    else:
        session.screen.line(text)
