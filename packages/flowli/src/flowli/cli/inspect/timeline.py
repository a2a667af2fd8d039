"""``flowli timeline``: what happened in one execution, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from flowli.cli.options import common
from flowli.cli.session import Session, run
from flowli.cli.shell import FlowliCommand

if TYPE_CHECKING:
    from flowli.domain.data import Data
    from flowli.runtime.insight import Moment

__all__ = ["timeline"]

_STYLES = {
    "execution.completed": "green",
    "execution.failed": "bold red",
    "frame.failed": "red",
    "frame.completed": "green",
    "frame.suspended": "cyan",
    "execution.suspended": "cyan",
}


@click.command(cls=FlowliCommand)
@click.argument("eid", metavar="EID")
@click.option("--values", is_flag=True, help="Show arguments and results too.")
@common()
def timeline(eid: str, values: bool) -> None:
    """Tell what happened in the execution EID, in order, one line each.

    EID may be an unambiguous prefix. Values may be confidential; they are shown with --values only. `flowli journal`
    prints the entries themselves.
    """

    async def body(session: Session) -> None:
        moments = await session.engine.timeline(await session.eid(eid), values=values)
        if session.screen.json_wanted:
            session.screen.json([_data(one, values=values) for one in moments])
        else:
            _print(session, moments)

    run(body)


def _print(session: Session, moments: tuple[Moment, ...]) -> None:
    from flowli.cli.render import words

    screen, above = session.screen, ""
    for one in moments:
        day = str(one.at)[:10]
        if screen.terminal and day != above:
            screen.line((day, "dim"))
            above = day
        time = str(one.at)[11:23] if screen.terminal else str(one.at)
        seq = "" if one.seq is None else str(one.seq)
        shown = "".join(f"  {name}={words.short(value)}" for name, value in one.values.items())
        screen.line((f"{seq:>5}  {time}  ", "dim"), (one.text, _STYLES.get(one.kind, "")), shown)


def _data(one: Moment, *, values: bool) -> dict[str, Data]:
    found: dict[str, Data] = {
        "at": str(one.at),
        "seq": one.seq,
        "kind": one.kind,
        "fid": one.fid,
        "text": one.text,
        "by": None if one.by is None else {"kind": one.by.actor.kind.value, "id": one.by.actor.id},
    }
    if values:
        found["values"] = one.values
    return found
