"""``flowli import``: executions from a file."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING

import click

from flowli.cli.exits import CommandFailed, ExitCode
from flowli.cli.options import common
from flowli.cli.session import Session, operator, run
from flowli.cli.shell import FlowliCommand

if TYPE_CHECKING:
    from flowli.domain.data import Data
    from flowli.runtime.portable import Portable

__all__ = ["import_executions"]


@click.command("import", cls=FlowliCommand)
@click.argument("file", metavar="FILE", type=click.File(encoding="utf-8"))
@click.option("--dry-run", is_flag=True, help="Only verify the file and say what would be taken in.")
@common()
def import_executions(file: IO[str], dry_run: bool) -> None:
    """Take the executions of FILE, which `flowli export` wrote, into the bucket, as archived ones.

    FILE may be - for standard input. The whole file is verified first. What has not ended is left out: it is still
    under way where it comes from. Taking the same file in again does nothing; an id under which the bucket holds
    something else is refused.
    """

    async def body(session: Session) -> None:
        from flowli.domain.errors import NotAllowed
        from flowli.domain.provenance import Provenance
        from flowli.runtime.portable import check, read_export, take_in

        found = list(read_export(file))
        answers: list[dict[str, Data]] = []
        engine = session.engine
        by = Provenance(operator(), engine.site, engine.world.now())
        for one in found:
            problem, state = check(one), "would be taken in"
            if not problem and not dry_run:
                try:
                    taken = await take_in(engine.services, one, by)
                    state = "taken in" if taken.new else "there already"
                except NotAllowed as error:
                    problem = str(error)
            answers.append(_answer(one, problem or state, bool(problem)))
        _print(session, answers)

    run(body, create=True)


def _answer(one: Portable, state: str, refused: bool) -> dict[str, Data]:
    workflow = f"{one.execution.workflow} {one.execution.version}"
    return {"eid": str(one.execution.eid), "workflow": workflow, "state": state, "refused": refused}


def _print(session: Session, answers: list[dict[str, Data]]) -> None:
    if session.screen.json_wanted:
        session.screen.json(list(answers))
    for one in [] if session.screen.json_wanted else answers:
        session.screen.line(f"{one['eid']}  {one['workflow']}  ", (str(one["state"]), "red" if one["refused"] else ""))
    refused = sum(bool(one["refused"]) for one in answers)
    if refused:
        message = f"{refused} of {len(answers)} executions were left out; the lines above say why"
        raise CommandFailed(message, ExitCode.REFUSED, "SomeRefused")
