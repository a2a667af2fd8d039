"""One execution or many: what the operator's verbs act on.

With an EID a verb acts on that execution. With options that choose executions it acts on all that fit: it lists them,
asks, and acts under one batch name. The name makes each request once-only, so that the same command with the same
``--batch`` goes on where an interrupted one stopped, and does nothing twice.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, TypeVar

import click

from flowli.cli.exits import CommandFailed, ExitCode
from flowli.cli.filters import STATUSES, Chosen, filters
from flowli.cli.options import common
from flowli.cli.session import Session, run

if TYPE_CHECKING:
    from flowli.domain.ids import Eid

__all__ = ["ENDED", "LIVE", "Target", "Verb", "on_target", "targets"]

ENDED = ("completed", "failed", "cancelled")
LIVE = tuple(status for status in STATUSES if status not in ENDED)

F = TypeVar("F", bound=Callable[..., object])
Act = Callable[[Session, "Eid", str | None], Awaitable["Eid | None"]]


@dataclass(frozen=True, slots=True)
class Target:
    """What was typed.

    Attributes:
        eid: an id or the beginning of one.
        key: of the one request.
        batch: names the requests of many.
    """

    eid: str | None
    chosen: Chosen
    key: str | None
    batch: str | None
    dry_run: bool
    yes: bool


@dataclass(frozen=True, slots=True)
class Verb:
    """What is done to each execution.

    Attributes:
        name: of the command.
        act: does it, and returns the id of an execution that was made by it.
        done: what is printed behind the id; "" prints only the id of what was made.
        fits: the statuses in which it makes sense; executions of others are left out of a batch.
        uses_app: it knows more with the application's registry.
        asks: the question before it is done to a single execution; None asks nothing.
    """

    name: str
    act: Act
    done: str
    fits: Collection[str]
    uses_app: bool = False
    asks: str | None = None


def targets(function: F) -> F:
    """Add the argument EID and the options that stand for it; the command takes them as one argument ``target``."""

    @wraps(function)
    def call(
        *args: object,
        eid: str | None,
        chosen: Chosen,
        key: str | None,
        batch: str | None,
        dry_run: bool,
        yes: bool,
        **kwargs: object,
    ) -> object:
        return function(*args, target=Target(eid, chosen, key, batch, dry_run, yes), **kwargs)

    options = (
        click.argument("eid", metavar="[EID]", required=False),
        click.option("--key", metavar="KEY", help="Makes the request once-only: the same key again does nothing."),
        filters,
        click.option("--dry-run", is_flag=True, help="Only list what it would act on."),
        click.option("--yes", is_flag=True, help="Do not ask."),
        click.option("--batch", metavar="NAME", help="Go on with an interrupted run of this name."),
        common(),
    )
    decorated: Callable[..., object] = call
    for option in reversed(options):
        decorated = option(decorated)
    return decorated  # type: ignore[return-value]


def on_target(target: Target, verb: Verb) -> None:
    """Act on what was typed.

    Raises:
        CommandFailed: neither an EID nor an option that chooses was given, or both, or the person said no.
    """
    one = target.eid is not None
    if one == (not target.chosen.empty):
        which = "both an EID and options that choose executions are" if one else "no EID is"
        message = f"{which} given; give an EID, or options that choose many (flowli {verb.name} --help lists them)"
        raise CommandFailed(message, ExitCode.USAGE, "NoTarget")
    if target.key is not None and not one:
        message = "--key is for one execution; --batch names the requests of many"
        raise CommandFailed(message, ExitCode.USAGE, "NoTarget")

    async def body(session: Session) -> None:
        if one:
            await _on_one(session, target, verb)
        else:
            from flowli.cli.operate.batch import on_many

            await on_many(session, target, verb)

    run(body, uses_app=verb.uses_app)


async def _on_one(session: Session, target: Target, verb: Verb) -> None:
    assert target.eid is not None
    found = await session.eid(target.eid)
    if target.dry_run:
        session.screen.line(f"{found}  {(await session.engine.status(found)).status}")
        return
    if verb.asks is not None and not target.yes and not session.screen.confirm(verb.asks.format(eid=found)):
        raise CommandFailed("nothing was done; --yes does it without asking", ExitCode.REFUSED, "NotConfirmed")
    made = await verb.act(session, found, target.key)
    if session.screen.json_wanted:
        answer = {"eid": str(found), "verb": verb.name}
        session.screen.json({**answer} if made is None else {**answer, "eid": str(made), "source": str(found)})
    else:
        session.screen.line(f"{found}  {verb.done}" if made is None else str(made))
