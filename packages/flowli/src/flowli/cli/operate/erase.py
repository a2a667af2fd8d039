"""``flowli erase``: removing the payloads of a finished execution on request."""

from __future__ import annotations

import click

from flowli.cli.exits import CommandFailed, ExitCode
from flowli.cli.options import common
from flowli.cli.session import Session, operator, run
from flowli.cli.shell import FlowliCommand

__all__ = ["erase"]


@click.command(cls=FlowliCommand)
@click.argument("eid", metavar="EID")
@click.option("--reason", default="", metavar="TEXT", help="A reference to the request, no personal data.")
@click.option("--key", metavar="KEY", help="Makes the request once-only: the same key again does nothing.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@common()
def erase(eid: str, reason: str, key: str | None, yes: bool) -> None:
    """Remove the payloads of the finished execution EID for good: arguments, results, messages, logs, errors.

    What stays is what it did and when, and who erased it. EID may be an unambiguous prefix. Attributes stay.
    """

    async def body(session: Session) -> None:
        found = await session.eid(eid)
        view = await session.engine.status(found)
        if not yes and not session.screen.confirm(f"Erase {found} ({view.execution.workflow}) for good?"):
            raise CommandFailed("nothing was erased; --yes erases without asking", ExitCode.REFUSED, "NotConfirmed")
        await session.engine.erase(found, reason, key=key, actor=operator())
        if session.screen.json_wanted:
            session.screen.json({"eid": str(found), "verb": "erase"})
        else:
            session.screen.line(f"{found}  erased")

    run(body)
