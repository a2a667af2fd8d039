"""``flowli bucket copy SRC DST``: move an installation to another store."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from flowli.cli.exits import CommandFailed, ExitCode
from flowli.cli.options import common, settings
from flowli.cli.shell import FlowliCommand

if TYPE_CHECKING:
    from flowli.cairn.copying import Moved
    from flowli.cairn.copying.sweep import Progress

__all__ = ["bucket", "copy"]


@click.group()
def bucket() -> None:
    """Do something to a bucket as a whole."""


@bucket.command(cls=FlowliCommand, under="bucket")
@click.argument("source", metavar="SRC")
@click.argument("target", metavar="DST")
@click.option("--cut-over", is_flag=True, help="Finish: refused while leases on SRC are live.")
@common(bucket=False)
def copy(source: str, target: str, cut_over: bool) -> None:
    """Copy an installation from the bucket SRC to the empty bucket DST, as often as wanted while SRC is in use.

    Each run copies what changed, reads everything back and compares; a run that was killed is gone on with. DST lets
    no process work on it before --cut-over: that is refused while leases on SRC are live, copies the last changes, and
    from then on SRC lets no process begin on it. Stop everything that uses SRC first; a service that runs on would
    write where nobody looks.
    """
    from flowli.cairn.errors import CopyRefused
    from flowli.cli.render.screen import Screen

    screen = Screen(json_wanted=settings().json)
    try:
        with _bars(shown=not screen.json_wanted) as progress:
            moved = asyncio.run(_run(source, target, cut_over, progress))
    except CopyRefused as error:
        raise CommandFailed(str(error), ExitCode.REFUSED, "CopyRefused") from error
    if screen.json_wanted:
        screen.json({"source": source, "target": target, **asdict(moved)})
        return
    screen.fields(
        [
            ("copied", f"{moved.copied} objects, {moved.size_bytes} bytes; passes: {moved.passes}"),
            ("removed", f"{moved.removed} objects"),
            ("verified", f"{moved.verified} objects" + (f", {moved.mended} mended" if moved.mended else "")),
            ("state", _state(moved, target)),
        ]
    )


def _state(moved: Moved, target: str) -> str:
    if moved.done:
        return f"moved: name {target} as the storage from now on"
    return f"{moved.keys} objects are the same; stop everything and give --cut-over to finish"


async def _run(source: str, target: str, cut_over: bool, progress: Progress) -> Moved:
    from flowli.cairn.copying import Move
    from flowli.cli.opening import open_named
    from flowli.world import SYSTEM

    first = open_named(source)
    try:
        second = open_named(target, create=True)
        try:
            return await Move(first, second, SYSTEM, progress).run(cut_over=cut_over)
        finally:
            await second.close()
    finally:
        await first.close()


@contextmanager
def _bars(*, shown: bool) -> Iterator[Progress]:
    """Progress on standard error, if somebody looks."""
    import sys

    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), disable=not (shown and sys.stderr.isatty())) as bars:
        tasks: dict[str, TaskID] = {}

        def tell(what: str, done: int, total: int) -> None:
            if done == 0 or what not in tasks:
                tasks[what] = bars.add_task(what, total=total)
            bars.update(tasks[what], completed=done)

        yield tell
