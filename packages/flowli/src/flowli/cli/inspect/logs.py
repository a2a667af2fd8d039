"""``flowli logs``: what the steps of one execution printed and logged."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import click

from flowli.cli.options import common
from flowli.cli.session import Session, run
from flowli.cli.shell import FlowliCommand
from flowli.cli.values import DURATION

if TYPE_CHECKING:
    from flowli.cli.render.screen import Screen
    from flowli.evidence import KeptLog

__all__ = ["logs"]


@click.command(cls=FlowliCommand)
@click.argument("eid", metavar="EID")
@click.option("--frame", metavar="FRAME", help="Only of this frame: root/charge#1, or charge#1.")
@click.option("--follow", is_flag=True, help="Go on as further attempts end, until the execution ends.")
@click.option("--interval", type=DURATION, default="1s", show_default=True, help="Time between two looks.")
@common()
def logs(eid: str, frame: str | None, follow: bool, interval: timedelta) -> None:
    """Print what the steps of the execution EID printed and logged, attempt by attempt.

    EID may be an unambiguous prefix. The log of an attempt is there when the attempt has ended. With --json every
    attempt is one JSON object on a line of its own.
    """

    async def body(session: Session) -> None:
        engine, found = session.engine, await session.eid(eid)
        fid = frame if frame is None or frame.startswith("root") else f"root/{frame}"
        shown: set[tuple[str, int, int, int]] = set()
        while True:
            ended = (await engine.status(found)).status.terminal  # before the logs, so that none is missed
            for one in await engine.logs(found, fid):
                name = (one.fid, one.attempt, one.epoch, one.run)
                if name not in shown:
                    shown.add(name)
                    _print(session.screen, one)
            if ended or not follow:
                break
            await engine.world.sleep(max(interval.total_seconds(), 0.05))
        if not shown:
            session.screen.note("flowli: no attempt left a log")

    run(body)


def _print(screen: Screen, one: KeptLog) -> None:
    if screen.json_wanted:
        screen.json_line({"fid": one.fid, "attempt": one.attempt, "epoch": one.epoch, "run": one.run, "text": one.text})
        return
    name = f"{one.fid.removeprefix('root/')} attempt {one.attempt}"
    if screen.terminal:
        screen.line((name, "bold"))
    for line in one.text.splitlines():
        screen.line(f"  {line}" if screen.terminal else f"{name}  {line}")
