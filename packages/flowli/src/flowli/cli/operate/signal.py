"""``flowli signal`` and ``flowli broadcast``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import click

from flowli.cli.options import common
from flowli.cli.session import Session, operator, run
from flowli.cli.shell import FlowliCommand
from flowli.cli.values import json_value, key_values
from flowli.domain.data import Data

__all__ = ["broadcast", "signal"]

F = TypeVar("F", bound=Callable[..., object])


def _message(function: F) -> F:
    data = click.option("--json", "data", metavar="JSON", help="The payload; @file and - (standard input) work too.")
    pairs = click.option(
        "--arg", "pairs", multiple=True, metavar="KEY=VALUE", help="One field of an object as payload; repeatable."
    )
    key = click.option("--key", metavar="KEY", help="Makes the message once-only: the same key again sends nothing.")
    wanted = click.option("--correlation", metavar="TEXT", help="Lets the receiver wait for exactly this answer.")
    return data(pairs(key(wanted(common(json=False)(function)))))


@click.command(cls=FlowliCommand)
@click.argument("eid", metavar="EID")
@click.argument("channel", metavar="CHANNEL")
@_message
def signal(
    eid: str, channel: str, data: str | None, pairs: tuple[str, ...], key: str | None, correlation: str | None
) -> None:
    """Send a message to CHANNEL of the execution EID, and wake it if it waits there.

    EID may be an unambiguous prefix. A message that comes before the execution asks for it is kept. Without --json
    and --arg the payload is null. `flowli --json signal ...` answers in JSON.

    \b
    flowli signal 0197a1 payments --arg amount=40 --arg currency=EUR
    flowli signal 0197a1 approvals --json '{"by": "ann", "ok": true}'
    """
    payload = _payload(data, pairs)

    async def body(session: Session) -> None:
        found = await session.eid(eid)
        seq = await session.engine.signal(found, channel, payload, key=key, correlation=correlation, actor=operator())
        if session.screen.json_wanted:
            session.screen.json({"eid": str(found), "channel": channel, "seq": seq})
        else:
            session.screen.line(f"{found}  message {seq} on channel {channel}")

    run(body)


@click.command(cls=FlowliCommand)
@click.argument("channel", metavar="CHANNEL")
@_message
def broadcast(channel: str, data: str | None, pairs: tuple[str, ...], key: str | None, correlation: str | None) -> None:
    """Send a message to every execution that receives on the global CHANNEL.

    The options are those of `flowli signal`. `flowli --json broadcast ...` answers in JSON.
    """
    payload = _payload(data, pairs)

    async def body(session: Session) -> None:
        seq = await session.engine.broadcast(channel, payload, key=key, correlation=correlation, actor=operator())
        if session.screen.json_wanted:
            session.screen.json({"channel": channel, "seq": seq})
        else:
            session.screen.line(f"message {seq} on the global channel {channel}")

    run(body)


def _payload(data: str | None, pairs: tuple[str, ...]) -> Data:
    if data is not None and pairs:
        raise click.UsageError("--json and --arg both give the payload; use one of them")
    if data is not None:
        return json_value("--json", data)
    return dict(key_values(pairs)) if pairs else None
