"""``flowli export``: executions as a file."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from flowli.cli.exits import CommandFailed, ExitCode
from flowli.cli.filters import Chosen, filters
from flowli.cli.options import common
from flowli.cli.session import Session, operator, run
from flowli.cli.shell import FlowliCommand

if TYPE_CHECKING:
    from flowli.adapters.projection import ExecutionRow
    from flowli.runtime.portable import Portable

__all__ = ["export"]

_PAGE = 1000


@click.command(cls=FlowliCommand)
@click.argument("eids", metavar="[EID]...", nargs=-1)
@filters
@click.option("--output", default="-", show_default=True, metavar="FILE", help="Where to; - is standard output.")
@common()
def export(eids: tuple[str, ...], chosen: Chosen, output: str) -> None:
    """Write executions to a file that `flowli import` reads: those named, or all that the options choose.

    The file is one of lines of JSON, with a version and checksums. It holds arguments and results as they are, also
    where the bucket holds them encrypted. An EID may be an unambiguous prefix.
    """
    if bool(eids) == (not chosen.empty):
        raise CommandFailed("name executions, or give options that choose them", ExitCode.USAGE, "NoTarget")

    async def body(session: Session) -> None:
        from flowli.runtime.portable import portable, write_export

        rows = await _rows(session, eids, chosen)
        ports = session.engine.ports
        made: list[Portable] = []
        for row in rows:
            made.append(await portable(ports, row.eid, row.attributes))
        _write(output, write_export(made, at=session.engine.world.now(), by=operator()))
        if output != "-" and session.screen.json_wanted:
            session.screen.json({"file": output, "executions": len(made)})
        elif output != "-":
            session.screen.line(f"{len(made)} executions in {output}")

    run(body)


async def _rows(session: Session, eids: tuple[str, ...], chosen: Chosen) -> list[ExecutionRow]:
    from flowli.cli.index import opened
    from flowli.domain.errors import UnknownExecution

    wanted = [await session.eid(text) for text in dict.fromkeys(eids)]
    found: list[ExecutionRow] = []
    after: str | None = None
    async with opened(session) as index:
        for eid in wanted:
            row = next(iter(await index.beginning_with(str(eid), limit=1)), None)
            if row is None:
                raise UnknownExecution(eid)
            found.append(row)
        while not wanted:
            page = await index.rows(chosen, session.engine.world.now(), limit=_PAGE, after=after)
            found += page.rows
            after = page.next_cursor
            if after is None:
                break
    return found


def _write(output: str, lines: Iterable[str]) -> None:
    """A file appears when it is whole."""
    if output == "-":
        for line in lines:
            sys.stdout.write(f"{line}\n")
        return
    beside = Path(f"{output}.part")
    try:
        with beside.open("w", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in lines)
        os.replace(beside, output)
    except OSError as error:
        beside.unlink(missing_ok=True)
        message = f"{output} cannot be written: {error.strerror or error}"
        raise CommandFailed(message, ExitCode.USAGE, "BadFile") from None
