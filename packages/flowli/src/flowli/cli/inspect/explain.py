"""``flowli explain``: why an execution stands where it stands, and what moves it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from flowli.cli.options import common
from flowli.cli.session import Session, run
from flowli.cli.shell import FlowliCommand

if TYPE_CHECKING:
    from flowli.cli.render.screen import Cell, Screen
    from flowli.domain.data import Data
    from flowli.runtime.insight import Explanation, Inspection

__all__ = ["explain", "page_of"]

_MOVES = {
    "nobody": ("ended", "dim"),
    "itself": ("goes on by itself", "green"),
    "outside": ("waits for somebody outside", "cyan"),
    "operator": ("needs an operator", "bold red"),
}


@click.command(cls=FlowliCommand)
@click.argument("eid", metavar="EID")
@common()
def explain(eid: str) -> None:
    """Say why the execution EID stands where it stands: one reason, the evidence, and the commands that move it.

    EID may be an unambiguous prefix. Words in capitals in a command stand for what only you know. It reads and never
    writes. Each reason has a page in the runbook.
    """

    async def body(session: Session) -> None:
        engine = session.engine
        session.teach()
        seen = await engine.inspect(await session.eid(eid))
        told = await engine.explain(seen)
        if session.screen.json_wanted:
            session.screen.json({"at": str(seen.at), "status": seen.fold.status.value, **_data(told)})
        else:
            _print(session, seen, told)

    run(body)


def page_of(reason: str) -> str:
    """The page of the runbook about a reason of the core."""
    return f"docs/runbook/{reason}.md"


def _print(session: Session, seen: Inspection, told: Explanation) -> None:
    from flowli.cli.render import words

    screen, record = session.screen, seen.execution
    head = f"{record.eid}  {record.workflow} {seen.version}  "
    age = words.duration(seen.at - record.created_at)
    screen.line(head, words.status(seen.fold.status.value), f"  {age}")
    _reason(screen, told)
    for action in told.actions:
        screen.line()
        screen.paragraph((action.command, "bold"), indent=2, whole=True)
        screen.paragraph((action.text, "dim"), indent=6)
    screen.line()
    screen.fields(_fields(told))
    for other in told.others:
        screen.line()
        screen.line(("It is also so that:", "dim"))
        _reason(screen, other)
        for action in other.actions:
            screen.paragraph((action.command, "bold"), indent=2, whole=True)
    if not seen.steady:
        screen.note("flowli: the journal grew while it was looked at; look again for what came since")


def _reason(screen: Screen, told: Explanation) -> None:
    screen.line()
    screen.paragraph((told.sentence, "bold"))
    text, style = _MOVES[told.moves.value]
    screen.line((f"{told.reason}: ", "dim"), (text, style))


def _fields(told: Explanation) -> list[tuple[str, Cell]]:
    fields: list[tuple[str, Cell]] = [("fact", detail) for detail in told.details]
    if told.evidence.journal:
        fields.append(("journal", "entry " + ", ".join(map(str, told.evidence.journal))))
    fields += [("key", key) for key in told.evidence.keys]
    if "." not in told.reason:
        fields.append(("runbook", page_of(told.reason)))
    return fields


def _data(told: Explanation) -> dict[str, Data]:
    return {
        "eid": str(told.eid),
        "reason": told.reason,
        "sentence": told.sentence,
        "moves": told.moves.value,
        "actions": [{"text": one.text, "command": one.command, "fill": list(one.fill)} for one in told.actions],
        "evidence": {"journal": list(told.evidence.journal), "keys": list(told.evidence.keys)},
        "details": list(told.details),
        "page": None if "." in told.reason else page_of(told.reason),
        "others": [_data(other) for other in told.others],
    }
