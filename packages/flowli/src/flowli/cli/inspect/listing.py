"""``flowli list``: executions, the newest first."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from flowli.cli.options import common
from flowli.cli.session import Session, run
from flowli.cli.shell import FlowliCommand

if TYPE_CHECKING:
    from flowli.adapters.projection import ExecutionRow
    from flowli.cli.render.screen import Cell
    from flowli.domain.data import Data
    from flowli.timestamp import Timestamp

__all__ = ["list_executions"]

_STATUSES = ("pending", "running", "suspended", "completed", "failed", "cancelled")


@click.command("list", cls=FlowliCommand)
@click.option(
    "--status",
    "statuses",
    multiple=True,
    type=click.Choice(_STATUSES),
    metavar="STATUS",
    help="pending, running, suspended, completed, failed or cancelled; repeatable.",
)
@click.option("--workflow", metavar="NAME", help="Only executions of this workflow.")
@click.option(
    "--limit", type=click.IntRange(min=1), default=50, show_default=True, metavar="N", help="How many at most."
)
@common()
def list_executions(statuses: tuple[str, ...], workflow: str | None, limit: int) -> None:
    """List executions, the newest first.

    The list comes from the control log, which may be a moment behind a running worker.
    """

    async def body(session: Session) -> None:
        from flowli.cli.index import opened
        from flowli.domain.execution import ExecutionStatus

        async with opened(session) as index:
            wanted = [ExecutionStatus(one) for one in statuses]
            rows = await index.rows(statuses=wanted, workflow=workflow, limit=limit + 1)
        _print(session, rows[:limit], more=len(rows) > limit)

    run(body)


def _print(session: Session, rows: list[ExecutionRow], *, more: bool) -> None:
    screen = session.screen
    if screen.json_wanted:
        screen.json([_data(row) for row in rows])
        return
    now = session.engine.world.now()
    if rows:
        from flowli.cli.render import words

        ids = words.prefixes(row.eid for row in rows) if screen.narrow else {row.eid: str(row.eid) for row in rows}
        cells = [[ids[row.eid], *_cells(row, now)] for row in rows]
        screen.table(("EXECUTION", "WORKFLOW", "STATUS", "AGE", "DETAIL"), cells)
    else:
        screen.note("flowli: no execution fits")
    if more:
        screen.note(f"flowli: only the newest {len(rows)} are shown; --limit shows more")


def _cells(row: ExecutionRow, now: Timestamp) -> list[Cell]:
    from flowli.cli.render import words

    age = words.duration(now - row.created_at)
    return [f"{row.workflow} {row.version}", words.status(row.status.value), age, _detail(row, now)]


def _detail(row: ExecutionRow, now: Timestamp) -> str:
    from flowli.cli.render import words

    if row.error is not None:
        return " ".join(str(row.error).split())
    return ", ".join(words.on(wait, now) for wait in row.waits_on) or row.reason


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
        "waits_on": [dump(wait) for wait in row.waits_on],
        "error": None if row.error is None else dump(row.error),
    }
