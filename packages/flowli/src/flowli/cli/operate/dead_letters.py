"""``flowli dead-letters``: the tasks that were set aside."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from flowli.cli.exits import CommandFailed, ExitCode
from flowli.cli.options import common
from flowli.cli.session import Session, operator, run
from flowli.cli.shell import FlowliCommand, FlowliParts

if TYPE_CHECKING:
    from flowli.cli.render.screen import Cell
    from flowli.domain.data import Data
    from flowli.domain.tasks import DeadTask

__all__ = ["dead_letters"]

_LISTED = 10_000
_reason = click.option("--reason", default="", metavar="TEXT", help="Why; it is recorded.")


@click.group("dead-letters", cls=FlowliParts, invoke_without_command=True)
@click.option("--queue", metavar="QUEUE", help="Only of this queue.")
@click.option(
    "--limit", type=click.IntRange(min=1), default=100, show_default=True, metavar="N", help="How many of a queue."
)
@common()
@click.pass_context
def dead_letters(context: click.Context, queue: str | None, limit: int) -> None:
    """List the tasks that were set aside, with the cause. Put them back, or drop them."""
    if context.invoked_subcommand is not None:
        return

    async def body(session: Session) -> None:
        found = await session.engine.dead_letters(queue, limit=limit)
        if session.screen.json_wanted:
            session.screen.json([_data(one) for one in found])
        elif found:
            _print(session, found)
        else:
            session.screen.note("flowli: no task was set aside")

    run(body)


@dead_letters.command("retry", cls=FlowliCommand, under="dead-letters")
@click.argument("eid", metavar="EID")
@_reason
@common()
def retry(eid: str, reason: str) -> None:
    """Put the tasks of the execution EID that were set aside back into their queues.

    The execution goes on from where it stood. EID may be an unambiguous prefix.
    """

    async def body(session: Session) -> None:
        found = await _of(session, eid)
        back = [one for one in found if await session.engine.retry_dead(one, reason, actor=operator())]
        _done(session, back, "is back in its queue")

    run(body)


@dead_letters.command("drop", cls=FlowliCommand, under="dead-letters")
@click.argument("eid", metavar="EID")
@_reason
@common()
def drop(eid: str, reason: str) -> None:
    """Remove the tasks of the execution EID that were set aside for good.

    The execution stays as it is until `flowli resume` or `flowli terminate`. EID may be an unambiguous prefix.
    """

    async def body(session: Session) -> None:
        found = await _of(session, eid)
        gone = [one for one in found if await session.engine.drop_dead(one, reason, actor=operator())]
        _done(session, gone, "was dropped")

    run(body)


async def _of(session: Session, text: str) -> list[DeadTask]:
    eid = await session.eid(text)
    found = await session.engine.dead_letters(eid=eid, limit=_LISTED)
    if not found:
        message = f"no task of execution {eid} was set aside; `flowli dead-letters` lists those that were"
        raise CommandFailed(message, ExitCode.REFUSED, "NoDeadLetter")
    return found


def _print(session: Session, found: list[DeadTask]) -> None:
    from flowli.cli.render import words

    now = session.engine.world.now()
    rows: list[list[Cell]] = [
        [one.task.queue, str(one.task.target), one.task.kind, words.ago(one.died_at, now), str(one.deaths), one.cause]
        for one in found
    ]
    session.screen.table(("QUEUE", "EXECUTION", "TASK", "DIED", "DEATHS", "CAUSE"), rows)


def _data(one: DeadTask) -> dict[str, Data]:
    return {
        "queue": one.task.queue,
        "eid": str(one.task.target),
        "task_id": one.task.task_id,
        "died_at": str(one.died_at),
        "deaths": one.deaths,
        "cause": one.cause,
    }


def _done(session: Session, tasks: list[DeadTask], what: str) -> None:
    if session.screen.json_wanted:
        session.screen.json([{"eid": str(one.task.target), "task_id": one.task.task_id} for one in tasks])
    for one in [] if session.screen.json_wanted else tasks:
        session.screen.line(f"{one.task.target}  {one.task.task_id} {what}")
