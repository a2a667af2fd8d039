"""``flowli show``: the frames of one execution as a tree."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from flowli.cli.options import common
from flowli.cli.session import Session, run
from flowli.cli.shell import FlowliCommand

if TYPE_CHECKING:
    from flowli.cli.render.screen import Cell
    from flowli.domain.data import Data
    from flowli.domain.memo import Frame, JournalFold
    from flowli.runtime.engine import ExecutionView

__all__ = ["show"]


@click.command(cls=FlowliCommand)
@click.argument("eid", metavar="EID")
@click.option("--values", is_flag=True, help="Show the value of each completed frame.")
@common()
def show(eid: str, values: bool) -> None:
    """Show the frames of the execution EID as a tree: attempts, durations, waits and errors.

    EID may be an unambiguous prefix. Values may be confidential; they are shown with --values only.
    """

    async def body(session: Session) -> None:
        found = await session.eid(eid)
        view = await session.engine.status(found)
        fold = await session.engine.frames(found)
        if session.screen.json_wanted:
            session.screen.json(_data(view, fold, values=values))
        else:
            _print(session, view, fold, values=values)

    run(body)


def _print(session: Session, view: ExecutionView, fold: JournalFold, *, values: bool) -> None:
    from flowli.cli.render import words
    from flowli.cli.render.tree import frame_rows

    screen, now, record = session.screen, session.engine.world.now(), view.execution
    head = f"{record.eid}  {record.workflow} {view.version}  "
    took = words.duration((view.ended_at or now) - record.created_at)
    screen.line(head, words.status(view.status.value), f"  {took}")
    rows = frame_rows(fold, now, guides=screen.terminal, values=values)
    if rows:
        columns: list[list[Cell]] = [[row.label, row.kind, row.status, row.time, row.detail] for row in rows]
        screen.table(("FRAME", "KIND", "STATUS", "TIME", "DETAIL"), columns)
    else:
        screen.line("no frame" if view.status.terminal else "no frame yet")
    if view.error is not None:
        screen.paragraph((f"error: {words.error(view.error)}", "red"))
    for anomaly in fold.anomalies:
        screen.line((f"anomaly at entry {anomaly.seq}: {anomaly.problem}", "yellow"))


def _data(view: ExecutionView, fold: JournalFold, *, values: bool) -> dict[str, Data]:
    from flowli.codec import dump

    return {
        "eid": str(view.execution.eid),
        "workflow": view.execution.workflow,
        "version": view.version,
        "status": view.status.value,
        "error": None if view.error is None else dump(view.error),
        "frames": [_frame(frame, values=values) for frame in fold.frames.values()],
        "anomalies": [{"seq": one.seq, "problem": one.problem} for one in fold.anomalies],
    }


def _frame(frame: Frame, *, values: bool) -> dict[str, Data]:
    from flowli.codec import dump

    found: dict[str, Data] = {
        "fid": frame.fid,
        "kind": frame.kind.value,
        "name": frame.name,
        "status": frame.status.value,
        "started_at": str(frame.started_at),
        "ended_at": None if frame.ended_at is None else str(frame.ended_at),
        "waits_on": None if frame.waits_on is None else dump(frame.waits_on),
        "error": None if frame.error is None else dump(frame.error),
        "why": frame.why or None,
        "attempts": [
            {
                "number": one.number,
                "started_at": str(one.started_at),
                "ended_at": None if one.ended_at is None else str(one.ended_at),
                "error": None if one.error is None else dump(one.error),
            }
            for one in frame.attempts
        ],
    }
    if values:
        found["value"] = frame.value
    return found
