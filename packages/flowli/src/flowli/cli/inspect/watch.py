"""``flowli watch``: one execution as it goes on, until it ends."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Protocol

import click

from flowli.cli.exits import CommandFailed, ExitCode
from flowli.cli.options import common
from flowli.cli.session import Session, run
from flowli.cli.shell import FlowliCommand
from flowli.cli.values import DURATION

if TYPE_CHECKING:
    from rich.console import Group

    from flowli.cli.render.screen import Cell, Screen
    from flowli.runtime.insight import Explanation, Inspection, NextAction

__all__ = ["watch"]

_LOOK_AGAIN_S = 10.0


class View(Protocol):
    """Shows what is new."""

    def update(self, seen: Inspection, told: Explanation) -> None:
        """Show the present state."""

    def close(self) -> None:
        """Leave the screen as it is."""


@click.command(cls=FlowliCommand)
@click.argument("eid", metavar="EID")
@click.option("--interval", type=DURATION, default="1s", show_default=True, help="Time between two looks.")
@common()
def watch(eid: str, interval: timedelta) -> None:
    """Watch the execution EID until it ends: its frames on a terminal, one line per event when piped.

    EID may be an unambiguous prefix. The exit code is 1 if it failed or was cancelled. Ctrl-C ends the watching only.
    """

    async def body(session: Session) -> None:
        engine, world = session.engine, session.engine.world
        session.teach()
        found = await session.eid(eid)
        view: View = _Tree(session.screen) if session.screen.terminal else _Lines(session.screen)
        seen = await engine.inspect(found)
        looked_s = world.monotonic_s()
        try:
            while True:
                view.update(seen, await engine.explain(seen))
                if seen.fold.end is not None:
                    break
                await world.sleep(max(interval.total_seconds(), 0.05))
                stale = world.monotonic_s() - looked_s >= _LOOK_AGAIN_S
                grown = (await engine.ports.journal.read(found, after=seen.position)).entries
                if grown or stale or session.screen.terminal:
                    seen, looked_s = await engine.inspect(found), world.monotonic_s()
        finally:
            view.close()
        if seen.fold.status.value != "completed":
            message = f"execution {found} {seen.fold.status}; `flowli explain {found}` says why and what moves it"
            raise CommandFailed(message, ExitCode.REFUSED, "NotCompleted")

    run(body)


class _Lines:
    """One line for each moment, and one when the reason why it stands still is another one."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._shown = 0
        self._sentence = ""

    def update(self, seen: Inspection, told: Explanation) -> None:
        from flowli.runtime.insight import timeline

        moments = timeline(seen)
        for one in moments[self._shown :]:
            if self._screen.json_wanted:
                self._screen.json_line({"at": str(one.at), "seq": one.seq, "kind": one.kind, "text": one.text})
            else:
                self._screen.line(f"{one.at}  {one.text}")
        self._shown = len(moments)
        if told.sentence != self._sentence and seen.fold.end is None:
            self._sentence = told.sentence
            if self._screen.json_wanted:
                self._screen.json_line({"at": str(seen.at), "kind": told.reason, "text": told.sentence})
            else:
                self._screen.line(f"{seen.at}  {told.sentence}")

    def close(self) -> None:
        return


class _Tree:
    """The tree of the frames, drawn anew in place, and below it why it stands where it stands."""

    def __init__(self, screen: Screen) -> None:
        from rich.live import Live

        self._live = Live(console=screen.console, auto_refresh=False)
        self._live.start()

    def update(self, seen: Inspection, told: Explanation) -> None:
        self._live.update(_drawn(seen, told), refresh=True)

    def close(self) -> None:
        self._live.stop()


def _drawn(seen: Inspection, told: Explanation) -> Group:
    from rich.console import Group
    from rich.text import Text

    from flowli.cli.render import words
    from flowli.cli.render.screen import aligned
    from flowli.cli.render.tree import frame_rows

    took = words.duration((seen.at if seen.fold.end is None else seen.entries[-1].at) - seen.execution.created_at)
    head: list[Cell] = [f"{seen.eid}  {seen.execution.workflow} {seen.version}  "]
    lines: list[list[Cell]] = [[*head, words.status(seen.fold.status.value), f"  {took}"]]
    rows: list[list[Cell]] = [
        [row.label, row.kind, row.status, row.time, row.detail]
        for row in frame_rows(seen.fold, seen.at, guides=True, values=False)
    ]
    lines += aligned(("FRAME", "KIND", "STATUS", "TIME", "DETAIL"), rows) if rows else []
    texts = [Text.assemble(*cells, no_wrap=True, overflow="ellipsis") for cells in lines]
    hints = [Text(f"  {one.command}") for one in _hints(told)]
    return Group(*texts, Text(), Text(told.sentence, style="bold"), Text(), *hints)


def _hints(told: Explanation) -> list[NextAction]:
    return [one for one in told.actions if not one.command.startswith("flowli watch")][:2]
