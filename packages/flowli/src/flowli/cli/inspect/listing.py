"""``flowli list``: executions, the newest first."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from flowli.cli.exits import CommandFailed, ExitCode
from flowli.cli.filters import Chosen, filters
from flowli.cli.options import common
from flowli.cli.session import Session, run
from flowli.cli.shell import FlowliCommand

if TYPE_CHECKING:
    from flowli.adapters.projection import ExecutionRow, Page
    from flowli.cli.render.screen import Cell, Screen
    from flowli.domain.data import Data
    from flowli.timestamp import Timestamp

__all__ = ["COLUMNS", "list_executions", "table"]

Column = Callable[["ExecutionRow", "Timestamp"], "Cell"]


def _detail(row: ExecutionRow, now: Timestamp) -> str:
    from flowli.cli.render import words

    if row.error is not None:
        return words.brief_error(row.error)
    return ", ".join(words.brief(wait, now) for wait in row.waits_on) or row.reason


def _status(row: ExecutionRow, now: Timestamp) -> Cell:
    from flowli.cli.render import words

    return words.status(row.status.value)


def _age(row: ExecutionRow, now: Timestamp) -> str:
    from flowli.cli.render import words

    return words.duration(now - row.created_at)


def _changed(row: ExecutionRow, now: Timestamp) -> str:
    from flowli.cli.render import words

    return words.duration(now - row.updated_at)


def _took(row: ExecutionRow, now: Timestamp) -> str:
    from flowli.cli.render import words

    return words.duration((row.ended_at or now) - row.created_at)


COLUMNS: dict[str, Column] = {
    "workflow": lambda row, _: f"{row.workflow} {row.version}".strip(),
    "status": _status,
    "age": _age,
    "detail": _detail,
    "queue": lambda row, _: row.queue,
    "key": lambda row, _: row.dispatch_key or "-",
    "changed": _changed,
    "took": _took,
    "created": lambda row, _: f"{str(row.created_at)[:19]}Z",
    "updated": lambda row, _: f"{str(row.updated_at)[:19]}Z",
    "ended": lambda row, _: "-" if row.ended_at is None else f"{str(row.ended_at)[:19]}Z",
    "parent": lambda row, _: "-" if row.parent is None else str(row.parent.eid),
    "priority": lambda row, _: str(row.priority),
    "epoch": lambda row, _: str(row.epoch),
    "attributes": lambda row, _: " ".join(f"{name}={value}" for name, value in row.attributes.items()) or "-",
}
"""What can stand beside the id, by the name that ``--columns`` takes."""

_ID = re.compile(r"\b([0-9a-f]{8}-[0-9a-f]{4})-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", re.ASCII)
_SHOWN = "workflow,status,age,detail"


@click.command("list", cls=FlowliCommand)
@filters
@click.option(
    "--columns",
    default=_SHOWN,
    show_default=True,
    metavar="NAMES",
    help=f"What to show, separated by commas: {', '.join(COLUMNS)}, or +NAMES for more than by default.",
)
@click.option(
    "--limit", type=click.IntRange(min=1), default=50, show_default=True, metavar="N", help="How many at most."
)
@click.option("--after", metavar="CURSOR", help="Go on behind the page that ended with this cursor.")
@common()
def list_executions(chosen: Chosen, columns: str, limit: int, after: str | None) -> None:
    """List executions, the newest first.

    The list comes from the control log, which may be a moment behind a running worker.

    \b
    flowli list --waiting-on channel:approval --updated-before 1d
    flowli list --attribute country=CH --columns +key,attributes
    """
    names = _names(columns)

    async def body(session: Session) -> None:
        from flowli.cli.index import opened

        now = session.engine.world.now()
        async with opened(session) as index:
            page = await index.rows(chosen, now, limit=limit, after=after)
        _print(session, page, names, now)

    run(body)


def table(session: Session, rows: tuple[ExecutionRow, ...], names: list[str], now: Timestamp) -> None:
    """Print executions as a table."""
    from flowli.cli.render import words

    screen = session.screen
    ids = words.prefixes(row.eid for row in rows) if screen.narrow else {row.eid: str(row.eid) for row in rows}
    cells = [[ids[row.eid], *(_fitting(screen, name, COLUMNS[name](row, now)) for name in names)] for row in rows]
    screen.table(("EXECUTION", *(name.upper() for name in names)), cells)


def _fitting(screen: Screen, name: str, cell: Cell) -> Cell:
    """Where there is no room for whole ids, their beginnings; beside another id there is none on any terminal."""
    short = screen.narrow or (name == "parent" and screen.terminal)
    return _ID.sub(r"\1", cell) if short and isinstance(cell, str) else cell


def _names(text: str) -> list[str]:
    from flowli._suggest import near

    whole = f"{_SHOWN},{text[1:]}" if text.startswith("+") else text
    names = list(dict.fromkeys(name.strip() for name in whole.split(",") if name.strip()))
    for name in names:
        if name not in COLUMNS:
            hint = near(name, COLUMNS) or f"; there are {', '.join(COLUMNS)}"
            raise CommandFailed(f"there is no column {name!r}{hint}", ExitCode.USAGE, "BadColumn")
    if "detail" in names:  # it may be long: it stands last
        names.append(names.pop(names.index("detail")))
    return names


def _print(session: Session, page: Page, names: list[str], now: Timestamp) -> None:
    screen = session.screen
    if screen.json_wanted:
        screen.json([_data(row) for row in page.rows])
        return
    if page.rows:
        table(session, page.rows, names, now)
    else:
        screen.note("flowli: no execution fits")
    if page.next_cursor is not None:
        many = len(page.rows)
        screen.note(
            f"flowli: only the newest {many} are shown; --limit shows more, --after {page.next_cursor} the rest"
        )


def _data(row: ExecutionRow) -> dict[str, Data]:
    from flowli.codec import dump

    return {
        "eid": str(row.eid),
        "workflow": row.workflow,
        "version": row.version,
        "status": row.status.value,
        "queue": row.queue,
        "key": row.dispatch_key,
        "created_at": str(row.created_at),
        "changed_at": str(row.updated_at),
        "ended_at": None if row.ended_at is None else str(row.ended_at),
        "parent": None if row.parent is None else {"eid": str(row.parent.eid), "fid": row.parent.fid},
        "attributes": dict(row.attributes),
        "waits_on": [dump(wait) for wait in row.waits_on],
        "error": None if row.error is None else dump(row.error),
    }
