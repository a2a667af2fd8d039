"""``flowli erase``: removing the payloads of finished executions on request."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from flowli.cli.operate.target import ENDED, Target, Verb, on_target, targets
from flowli.cli.session import Session, operator
from flowli.cli.shell import FlowliCommand

if TYPE_CHECKING:
    from flowli.domain.ids import Eid

__all__ = ["erase"]


@click.command(cls=FlowliCommand)
@click.option("--reason", default="", metavar="TEXT", help="A reference to the request, no personal data.")
@targets
def erase(target: Target, reason: str) -> None:
    """Remove the payloads of the finished execution EID for good: arguments, results, messages, logs, errors.

    What stays is what it did and when, and who erased it; attributes stay. EID may be an unambiguous prefix; without
    it, all finished executions that the options choose are erased.
    """

    async def act(session: Session, found: Eid, key: str | None) -> None:
        await session.engine.erase(found, reason, key=key, actor=operator())

    on_target(target, Verb("erase", act, "erased", ENDED, asks="Erase {eid} for good?"))
