"""``flowli cancel``, ``terminate``, ``pause``, ``resume`` and ``migrate``: the operator's verbs on live executions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from flowli.cli.operate.target import LIVE, Target, Verb, on_target, targets
from flowli.cli.session import Session, operator
from flowli.cli.shell import FlowliCommand

if TYPE_CHECKING:
    from flowli.domain.ids import Eid

__all__ = ["cancel", "migrate", "pause", "resume", "terminate"]

_reason = click.option("--reason", default="", metavar="TEXT", help="Why; it is recorded.")


@click.command(cls=FlowliCommand)
@_reason
@targets
def cancel(target: Target, reason: str) -> None:
    """Ask the execution EID to stop. Its code sees a cancellation and may clean up.

    EID may be an unambiguous prefix; without it, all executions that the options choose are asked. Asking again
    delivers the cancellation again.
    """

    async def act(session: Session, found: Eid, key: str | None) -> None:
        await session.engine.cancel(found, reason, key=key, actor=operator())

    on_target(target, Verb("cancel", act, "cancel requested; the worker that runs it next delivers it", LIVE))


@click.command(cls=FlowliCommand)
@_reason
@targets
def terminate(target: Target, reason: str) -> None:
    """End the execution EID as cancelled, without running any of its code.

    EID may be an unambiguous prefix; without it, all executions that the options choose are ended. Use
    `flowli cancel` unless the code itself is what hangs: clean-up does not run.
    """

    async def act(session: Session, found: Eid, key: str | None) -> None:
        await session.engine.terminate(found, reason, key=key, actor=operator())

    on_target(target, Verb("terminate", act, "terminated", LIVE))


@click.command(cls=FlowliCommand)
@_reason
@targets
def pause(target: Target, reason: str) -> None:
    """Hold the execution EID: steps under way end, nothing new begins until `flowli resume`.

    EID may be an unambiguous prefix; without it, all executions that the options choose are held.
    """

    async def act(session: Session, found: Eid, key: str | None) -> None:
        await session.engine.pause(found, reason, key=key, actor=operator())

    on_target(target, Verb("pause", act, "pause requested", LIVE))


@click.command(cls=FlowliCommand)
@_reason
@targets
def resume(target: Target, reason: str) -> None:
    """Let the execution EID go on after a pause, or try again after it was parked.

    EID may be an unambiguous prefix; without it, all executions that the options choose go on.
    """

    async def act(session: Session, found: Eid, key: str | None) -> None:
        await session.engine.resume(found, reason, key=key, actor=operator())

    on_target(target, Verb("resume", act, "resume requested", LIVE))


@click.command(cls=FlowliCommand)
@click.option("--version", required=True, metavar="VERSION", help="The version that runs it from now on.")
@_reason
@targets
def migrate(target: Target, version: str, reason: str) -> None:
    """Move the execution EID to another version of its workflow.

    EID may be an unambiguous prefix; without it, all executions that the options choose are moved. The new code must
    replay what the journal records; if it does not, the execution is parked with the first difference, and nothing is
    lost. If --app knows the workflow, it must know VERSION.
    """

    async def act(session: Session, found: Eid, key: str | None) -> None:
        await session.engine.migrate(found, version, reason, key=key, actor=operator())

    on_target(target, Verb("migrate", act, f"moved to version {version}", LIVE, uses_app=True))
