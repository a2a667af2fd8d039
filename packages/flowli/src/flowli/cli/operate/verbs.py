"""``flowli cancel``, ``terminate``, ``pause``, ``resume`` and ``migrate``: the operator's verbs for one execution."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

import click

from flowli.cli.options import common
from flowli.cli.session import Session, operator, run
from flowli.cli.shell import FlowliCommand

if TYPE_CHECKING:
    from flowli.domain.ids import Eid

__all__ = ["cancel", "migrate", "pause", "resume", "terminate"]

F = TypeVar("F", bound=Callable[..., object])
Ask = Callable[[Session, "Eid"], Awaitable[object]]


def _verb_options(function: F) -> F:
    reason = click.option("--reason", default="", metavar="TEXT", help="Why; it is recorded.")
    key = click.option("--key", metavar="KEY", help="Makes the request once-only: the same key again does nothing.")
    eid = click.argument("eid", metavar="EID")
    return eid(reason(key(common()(function))))


def _ask(eid: str, ask: Ask, done: str, verb: str, *, uses_app: bool = False) -> None:
    async def body(session: Session) -> None:
        found = await session.eid(eid)
        await ask(session, found)
        if session.screen.json_wanted:
            session.screen.json({"eid": str(found), "verb": verb})
        else:
            session.screen.line(f"{found}  {done}")

    run(body, uses_app=uses_app)


@click.command(cls=FlowliCommand)
@_verb_options
def cancel(eid: str, reason: str, key: str | None) -> None:
    """Ask the execution EID to stop. Its code sees a cancellation and may clean up.

    EID may be an unambiguous prefix. Asking again delivers the cancellation again.
    """

    async def ask(session: Session, found: Eid) -> None:
        await session.engine.cancel(found, reason, key=key, actor=operator())

    _ask(eid, ask, "cancel requested; the worker that runs it next delivers it", "cancel")


@click.command(cls=FlowliCommand)
@_verb_options
def terminate(eid: str, reason: str, key: str | None) -> None:
    """End the execution EID as cancelled, without running any of its code.

    EID may be an unambiguous prefix. Use `flowli cancel` unless the code itself is what hangs: clean-up does not run.
    """

    async def ask(session: Session, found: Eid) -> None:
        await session.engine.terminate(found, reason, key=key, actor=operator())

    _ask(eid, ask, "terminated", "terminate")


@click.command(cls=FlowliCommand)
@_verb_options
def pause(eid: str, reason: str, key: str | None) -> None:
    """Hold the execution EID: steps under way end, nothing new begins until `flowli resume`.

    EID may be an unambiguous prefix.
    """

    async def ask(session: Session, found: Eid) -> None:
        await session.engine.pause(found, reason, key=key, actor=operator())

    _ask(eid, ask, "pause requested", "pause")


@click.command(cls=FlowliCommand)
@_verb_options
def resume(eid: str, reason: str, key: str | None) -> None:
    """Let the execution EID go on after a pause, or try again after it was parked.

    EID may be an unambiguous prefix.
    """

    async def ask(session: Session, found: Eid) -> None:
        await session.engine.resume(found, reason, key=key, actor=operator())

    _ask(eid, ask, "resume requested", "resume")


@click.command(cls=FlowliCommand)
@click.option("--version", required=True, metavar="VERSION", help="The version that runs it from now on.")
@_verb_options
def migrate(eid: str, version: str, reason: str, key: str | None) -> None:
    """Move the execution EID to another version of its workflow.

    EID may be an unambiguous prefix. The new code must replay what the journal records; if it does not, the execution
    is parked with the first difference, and nothing is lost. If --app knows the workflow, it must know VERSION.
    """

    async def ask(session: Session, found: Eid) -> None:
        await session.engine.migrate(found, version, reason, key=key, actor=operator())

    _ask(eid, ask, f"moved to version {version}", "migrate", uses_app=True)
