"""Acting on all executions that fit: list, ask, act; under one name, so that it can be gone on with."""

from __future__ import annotations

import asyncio
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from flowli.cli.exits import CommandFailed, ExitCode

if TYPE_CHECKING:
    from collections.abc import Callable

    from flowli.adapters.projection import ExecutionRow
    from flowli.cli.operate.target import Target, Verb
    from flowli.cli.session import Session
    from flowli.domain.ids import Eid

__all__ = ["on_many"]

_PAGE, _SHOWN, _AT_ONCE = 1000, 20, 8


@dataclass(slots=True)
class _Report:
    """What has become of each execution."""

    done: list[tuple[Eid, Eid | None]] = field(default_factory=list)
    refused: list[tuple[Eid, str]] = field(default_factory=list)


async def on_many(session: Session, target: Target, verb: Verb) -> None:
    """Act on all that fit.

    Raises:
        CommandFailed: the person said no, or some refused.
    """
    rows = await _rows(session, target, verb)
    if target.dry_run or not rows:
        _would(session, rows, verb)
        return
    batch = target.batch or f"{verb.name}-{session.engine.world.token()[:8]}"
    if not target.yes:
        _would(session, rows, verb)
        if not session.screen.confirm(f"{verb.name} these {len(rows)} executions?"):
            raise CommandFailed("nothing was done; --yes does it without asking", ExitCode.REFUSED, "NotConfirmed")
    report = _Report()
    try:
        with _progress(session, len(rows), verb.name) as advance:
            await _all(session, rows, verb, batch, report, advance)
    except BaseException:
        session.screen.note(
            f"flowli: {len(report.done)} of {len(rows)} are done; --batch {batch} goes on with the rest"
        )
        raise
    _print(session, verb, batch, report)
    if report.refused:
        message = f"{len(report.refused)} of {len(rows)} executions refused; the lines above say why"
        raise CommandFailed(message, ExitCode.REFUSED, "SomeRefused")


async def _rows(session: Session, target: Target, verb: Verb) -> list[ExecutionRow]:
    from flowli.cli.index import opened

    found: list[ExecutionRow] = []
    now, after = session.engine.world.now(), None
    async with opened(session) as index:
        while True:
            page = await index.rows(target.chosen, now, limit=_PAGE, after=after)
            found += [row for row in page.rows if row.status.value in verb.fits and not row.erased]
            after = page.next_cursor
            if after is None:
                return found


def _would(session: Session, rows: list[ExecutionRow], verb: Verb) -> None:
    """The dry run."""
    from flowli.cli.inspect.listing import table

    if session.screen.json_wanted:
        session.screen.json({"verb": verb.name, "would": [str(row.eid) for row in rows]})
        return
    if rows:
        table(session, tuple(rows[:_SHOWN]), ["workflow", "status", "age", "detail"], session.engine.world.now())
    more = f", the newest {_SHOWN} are shown" if len(rows) > _SHOWN else ""
    fit = "1 execution fits" if len(rows) == 1 else f"{len(rows)} executions fit"
    session.screen.note(f"flowli: {fit} for {verb.name}{more}")


async def _all(
    session: Session,
    rows: list[ExecutionRow],
    verb: Verb,
    batch: str,
    report: _Report,
    advance: Callable[[], object],
) -> None:
    from flowli.domain.errors import Outcome, UsageError

    free = asyncio.Semaphore(_AT_ONCE)

    async def one(eid: Eid) -> None:
        async with free:
            try:
                report.done.append((eid, await verb.act(session, eid, batch)))
            except (UsageError, Outcome) as error:
                report.refused.append((eid, " ".join(str(error).split())))
            advance()

    async with asyncio.TaskGroup() as group:
        for row in rows:
            group.create_task(one(row.eid))


def _print(session: Session, verb: Verb, batch: str, report: _Report) -> None:
    screen = session.screen
    if screen.json_wanted:
        screen.json(
            {
                "verb": verb.name,
                "batch": batch,
                "done": [{"source": str(eid), "eid": str(made or eid)} for eid, made in report.done],
                "refused": [{"eid": str(eid), "message": why} for eid, why in report.refused],
            }
        )
        return
    for eid, made in report.done:
        screen.line(f"{eid}  {verb.done}" if made is None else f"{eid}  {made}")
    for eid, why in report.refused:
        screen.line(f"{eid}  ", (f"refused: {why}", "red"))
    screen.note(f"flowli: batch {batch}: {len(report.done)} done, {len(report.refused)} refused")


def _progress(session: Session, total: int, what: str) -> AbstractContextManager[Callable[[], object]]:
    """A bar on a terminal; nothing elsewhere. Its value is called once for each execution."""
    if not session.screen.terminal:
        return nullcontext(lambda: None)
    from flowli.cli.render.progress import bar

    return bar(session.screen, what, total)
