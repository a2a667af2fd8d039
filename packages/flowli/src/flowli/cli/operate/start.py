"""``flowli start``."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING

import click

from flowli.cli.options import common
from flowli.cli.session import Session, operator, run
from flowli.cli.shell import FlowliCommand
from flowli.cli.values import DURATION, json_value, key_values
from flowli.domain.data import Data

if TYPE_CHECKING:
    from flowli.runtime.engine import StartResult

    Workflow = Callable[..., Awaitable[object]]

__all__ = ["start"]

_FOREVER = timedelta.max


@click.command(cls=FlowliCommand)
@click.argument("name", metavar="NAME")
@click.option("--arg", "pairs", multiple=True, metavar="KEY=VALUE", help="One argument by name; repeatable.")
@click.option("--json", "data", metavar="JSON", help="All arguments: an object by name, or an array by position.")
@click.option("--key", metavar="KEY", help="Business key: the same key again joins the execution it leads to.")
@click.option(
    "--on-conflict",
    type=click.Choice(["join", "reject", "allow_after_finish", "replace"]),
    default="join",
    metavar="HOW",
    help="If the key leads to an execution: join (default), reject, allow_after_finish or replace.",
)
@click.option("--queue", metavar="QUEUE", help="Queue of the execution; the workflow's own by default.")
@click.option("--priority", type=click.IntRange(0, 99), metavar="N", help="0 first, 99 last; 50 by default.")
@click.option("--version", metavar="VERSION", help="Version of the workflow; the newest by default.")
@click.option("--timeout", type=DURATION, help="Cancel it if it has not ended after this time.")
@click.option(
    "--wait",
    type=DURATION,
    is_flag=False,
    flag_value=_FOREVER,
    metavar="[DURATION]",
    help="Wait for the end, and print the result as JSON.",
)
@common(json=False)
def start(
    name: str,
    pairs: tuple[str, ...],
    data: str | None,
    key: str | None,
    on_conflict: str,
    queue: str | None,
    priority: int | None,
    version: str | None,
    timeout: timedelta | None,
    wait: timedelta | None,
) -> None:
    """Start an execution of the workflow NAME of the application --app.

    Prints its id, and with --wait its result instead. The VALUE of --arg is taken as JSON if it is JSON and the
    parameter is not a str; anything else is text. --json also takes @file and - (standard input). With --version, and
    without --app, a workflow is started that only its workers know. `flowli --json start ...` answers in JSON.

    \b
    flowli start fulfil --arg order=INV-7 --arg quantity=2 --key INV-7
    flowli start fulfil --json '{"order": "INV-7", "quantity": 2}' --wait 30s
    """
    if data is not None and pairs:
        raise click.UsageError("--json and --arg both give the arguments; use one of them")

    async def body(session: Session) -> None:
        fn = session.engine.registry.get(name, version).fn if session.has_app else None
        args, kwargs = _typed(fn, *_arguments(fn, data, pairs))
        started = await session.engine.start_args(
            name,
            args,
            kwargs,
            key=key,
            on_conflict=on_conflict,
            queue=queue,
            priority=priority,
            version=version,
            timeout=timeout,
            actor=operator(),
            announced=True,
        )
        await _answer(session, started, wait)

    run(body, needs_app="" if version else "start", uses_app=True, create=True)


async def _answer(session: Session, started: StartResult, wait: timedelta | None) -> None:
    screen, eid, joined = session.screen, started.eid, started.joined
    if joined:
        screen.note(f"flowli: the key leads to {eid}, which was started before; joined it")
    if wait is None:
        if screen.json_wanted:
            screen.json({"eid": str(eid), "joined": joined})
        else:
            screen.line(str(eid))
        return
    screen.note(f"flowli: waiting for {eid}")
    await session.engine.result(eid, timeout=None if wait == _FOREVER else wait)
    result = await session.value(eid)
    screen.json({"eid": str(eid), "joined": joined, "result": result} if screen.json_wanted else result)


def _arguments(fn: Workflow | None, data: str | None, pairs: tuple[str, ...]) -> tuple[list[Data], dict[str, Data]]:
    """The arguments by place and by name, in their JSON form."""
    if data is None:
        return [], key_values(pairs, _texts(fn) if fn is not None else ())
    match json_value("--json", data):
        case dict() as named:
            return [], named
        case list() as placed:
            return placed, {}
        case _:
            raise click.BadParameter("write an object with the arguments by name, or an array", param_hint="--json")


def _typed(
    fn: Workflow | None, placed: list[Data], named: dict[str, Data]
) -> tuple[Sequence[object], Mapping[str, object]]:
    """The values that the workflow is annotated with; an error names the place inside the value."""
    if fn is None:
        return placed, named
    from flowli.codec import load_arguments

    return load_arguments(fn, {"args": placed, "kwargs": named}, skip_first=True)


def _texts(fn: Workflow) -> set[str]:
    """The parameters that take a str: ``--arg zip=01234`` and ``--arg code=17`` stay text for them."""
    from flowli.codec.signatures import callee

    return {name for name, hint in callee(fn).hints.items() if hint in (str, str | None)}
