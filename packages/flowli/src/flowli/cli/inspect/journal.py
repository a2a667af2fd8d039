"""``flowli journal``: what happened in one execution, entry by entry."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from flowli.cli.options import common
from flowli.cli.session import Session, run
from flowli.cli.shell import FlowliCommand

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flowli.cli.render.screen import Screen
    from flowli.domain.data import Data
    from flowli.domain.entries import JournalEntry

__all__ = ["journal"]


@click.command(cls=FlowliCommand)
@click.argument("eid", metavar="EID")
@click.option("--values", is_flag=True, help="Show arguments and results too.")
@common()
def journal(eid: str, values: bool) -> None:
    """Print the journal of the execution EID, one line per entry; from the archive if it was archived.

    EID may be an unambiguous prefix. With --json every entry is one JSON object on a line of its own, complete.
    """

    async def body(session: Session) -> None:
        entries = await session.engine.journal(await session.eid(eid))
        if session.screen.json_wanted:
            for entry in entries:
                session.screen.json_line(_data(entry))
        elif session.screen.terminal:
            _show(session.screen, entries, values=values)
        else:
            _print(session.screen, entries, values=values)

    run(body)


def _print(screen: Screen, entries: Sequence[JournalEntry], *, values: bool) -> None:
    """Every line stands for itself."""
    for entry in entries:
        where = f"{entry.by.site.worker_id} epoch {entry.by.site.epoch}"
        detail = _detail(entry, values=values)
        screen.line(f"{entry.seq:>5}  {entry.at}  {entry.body.tag:<26}{detail}  {where}")


def _show(screen: Screen, entries: Sequence[JournalEntry], *, values: bool) -> None:
    """The day and the worker stand above the entries that have them in common."""
    above = ""
    for entry in entries:
        heading = f"{str(entry.at)[:10]}  {entry.by.site.worker_id} epoch {entry.by.site.epoch}"
        if heading != above:
            screen.line((heading, "dim"))
            above = heading
        detail = _detail(entry, values=values)
        time = (f"{str(entry.at)[11:23]}  ", "dim")
        screen.line(f"{entry.seq:>5}  ", time, (f"{entry.body.tag:<20}", "cyan"), f"  {detail}")


def _detail(entry: JournalEntry, *, values: bool) -> str:
    """What the entry says beside its tag, as ``name=value`` words."""
    from flowli.cli.render import words
    from flowli.domain import entries

    match body := entry.body:
        case entries.ExecutionStarted(execution):
            shown = f" args={words.short(execution.args)}" if values else ""
            return f"{execution.workflow} {execution.version}{shown}"
        case entries.ExecutionSuspended(on, _, others):
            return words.waits(on, others)
        case entries.ExecutionResumed(_, reasons):
            return ", ".join(reasons)
        case entries.ExecutionMigrated(before, after):
            return f"{before} -> {after}"
        case entries.ExecutionPatched(change, value):
            return f"{change} {str(value).lower()}"
        case entries.ExecutionCompleted(value):
            return words.short(value) if values else ""
        case entries.ExecutionFailed(error):
            return " ".join(str(error).split())
        case entries.UnknownBody():
            return "(written by a newer version)"
        case _:
            return _frame_detail(body, values=values)


def _frame_detail(body: object, *, values: bool) -> str:
    from flowli.cli.render import words
    from flowli.domain import entries

    match body:
        case entries.FrameStarted(fid, kind, _, _, attempt):
            return f"{fid} {kind.value} attempt {attempt}"
        case entries.FrameCompleted(fid, _, value):
            return f"{fid} {words.short(value)}" if values else fid
        case entries.FrameFailed(fid, attempt, error, _, retry_at):
            again = f"; again at {words.instant(retry_at)}" if retry_at else ""
            return f"{fid} attempt {attempt}: {' '.join(str(error).split())}{again}"
        case entries.FrameDeferred(fid, _, until):
            return f"{fid} until {words.instant(until)}"
        case entries.FrameCancelled(fid, _, why):
            return f"{fid} {why}"
        case entries.FrameSuspended(fid, _, on):
            return f"{fid} waits on {words.on(on)}"
        case entries.FrameFulfilled(fid, _, on):
            return f"{fid} got {words.on(on)}"
        case _:
            return str(getattr(body, "reason", ""))


def _data(entry: JournalEntry) -> Data:
    from flowli.codec import dump

    return dump(entry)
