"""``flowli fork``, ``retry`` and ``replay``: a new execution made of a finished one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

import click

from flowli.cli.options import common
from flowli.cli.session import Session, operator, run
from flowli.cli.shell import FlowliCommand

if TYPE_CHECKING:
    from flowli.domain.ids import Eid

__all__ = ["fork", "replay", "retry"]

F = TypeVar("F", bound=Callable[..., object])
Make = Callable[[Session, "Eid"], Awaitable["Eid"]]


def _options(function: F) -> F:
    reason = click.option("--reason", default="", metavar="TEXT", help="Why; it is recorded.")
    key = click.option("--key", metavar="KEY", help="The same request with the same key makes one execution only.")
    allow = click.option(
        "--allow-irreversible", is_flag=True, help="Steps marked irreversible that have completed may run again."
    )
    return click.argument("eid", metavar="EID")(reason(key(allow(common()(function)))))


def _make(eid: str, verb: str, make: Make) -> None:
    async def body(session: Session) -> None:
        source = await session.eid(eid)
        made = await make(session, source)
        if session.screen.json_wanted:
            session.screen.json({"eid": str(made), "source": str(source), "verb": verb})
        else:
            session.screen.line(str(made))

    run(body, uses_app=True)


@click.command(cls=FlowliCommand)
@click.option("--from", "fid", required=True, metavar="FRAME", help="The first frame that is done again.")
@_options
def fork(eid: str, fid: str, reason: str, key: str | None, allow_irreversible: bool) -> None:
    """Start a new execution that goes on from a frame of the finished execution EID; print its id.

    What came before that frame is taken over; the frame itself and what follows is done again, with the code that is
    there now. `flowli show EID` lists the frames. EID may be an unambiguous prefix.
    """

    async def make(session: Session, found: Eid) -> Eid:
        allow = allow_irreversible
        return await session.engine.fork(found, fid, reason, allow_irreversible=allow, key=key, actor=operator())

    _make(eid, "fork", make)


@click.command(cls=FlowliCommand)
@_options
def retry(eid: str, reason: str, key: str | None, allow_irreversible: bool) -> None:
    """Start a new execution that goes on from where the failed execution EID failed; print its id.

    EID may be an unambiguous prefix.
    """

    async def make(session: Session, found: Eid) -> Eid:
        allow = allow_irreversible
        return await session.engine.retry(found, reason, allow_irreversible=allow, key=key, actor=operator())

    _make(eid, "retry", make)


@click.command(cls=FlowliCommand)
@click.option("--version", metavar="VERSION", help="Of the workflow; that of the source by default.")
@_options
def replay(eid: str, version: str | None, reason: str, key: str | None, allow_irreversible: bool) -> None:
    """Start a new execution with the input of the finished execution EID; print its id.

    Nothing else is taken over. EID may be an unambiguous prefix.
    """

    async def make(session: Session, found: Eid) -> Eid:
        allow, by = allow_irreversible, operator()
        return await session.engine.replay(found, reason, version=version, allow_irreversible=allow, key=key, actor=by)

    _make(eid, "replay", make)
