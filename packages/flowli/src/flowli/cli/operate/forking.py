"""``flowli fork``, ``retry`` and ``replay``: a new execution made of a finished one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from flowli.cli.operate.target import ENDED, Target, Verb, on_target, targets
from flowli.cli.options import common
from flowli.cli.session import Session, operator, run
from flowli.cli.shell import FlowliCommand

if TYPE_CHECKING:
    from flowli.domain.ids import Eid

__all__ = ["fork", "replay", "retry"]

_reason = click.option("--reason", default="", metavar="TEXT", help="Why; it is recorded.")
_allow = click.option(
    "--allow-irreversible", is_flag=True, help="Steps marked irreversible that have completed may run again."
)


@click.command(cls=FlowliCommand)
@click.argument("eid", metavar="EID")
@click.option("--from", "fid", required=True, metavar="FRAME", help="The first frame that is done again.")
@_reason
@click.option("--key", metavar="KEY", help="The same request with the same key makes one execution only.")
@_allow
@common()
def fork(eid: str, fid: str, reason: str, key: str | None, allow_irreversible: bool) -> None:
    """Start a new execution that goes on from a frame of the finished execution EID; print its id.

    What came before that frame is taken over; the frame itself and what follows is done again, with the code that is
    there now. `flowli show EID` lists the frames. EID may be an unambiguous prefix.
    """

    async def body(session: Session) -> None:
        source, allow = await session.eid(eid), allow_irreversible
        made = await session.engine.fork(source, fid, reason, allow_irreversible=allow, key=key, actor=operator())
        if session.screen.json_wanted:
            session.screen.json({"eid": str(made), "source": str(source), "verb": "fork"})
        else:
            session.screen.line(str(made))

    run(body, uses_app=True)


@click.command(cls=FlowliCommand)
@_reason
@_allow
@targets
def retry(target: Target, reason: str, allow_irreversible: bool) -> None:
    """Start a new execution that goes on from where the failed execution EID failed; print its id.

    EID may be an unambiguous prefix; without it, all failed executions that the options choose are retried.
    """

    async def act(session: Session, found: Eid, key: str | None) -> Eid:
        allow = allow_irreversible
        return await session.engine.retry(found, reason, allow_irreversible=allow, key=key, actor=operator())

    on_target(target, Verb("retry", act, "", ("failed",), uses_app=True))


@click.command(cls=FlowliCommand)
@click.option("--version", metavar="VERSION", help="Of the workflow; that of the source by default.")
@_reason
@_allow
@targets
def replay(target: Target, version: str | None, reason: str, allow_irreversible: bool) -> None:
    """Start a new execution with the input of the finished execution EID; print its id.

    Nothing else is taken over. EID may be an unambiguous prefix; without it, all finished executions that the options
    choose are started again.
    """

    async def act(session: Session, found: Eid, key: str | None) -> Eid:
        allow, by = allow_irreversible, operator()
        return await session.engine.replay(found, reason, version=version, allow_irreversible=allow, key=key, actor=by)

    on_target(target, Verb("replay", act, "", ENDED, uses_app=True))
