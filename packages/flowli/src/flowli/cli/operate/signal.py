"""``flowli signal``."""

from __future__ import annotations

import click

from flowli.cli.options import common
from flowli.cli.session import Session, operator, run
from flowli.cli.shell import FlowliCommand
from flowli.cli.values import json_value, key_values
from flowli.domain.data import Data

__all__ = ["signal"]


@click.command(cls=FlowliCommand)
@click.argument("eid", metavar="EID")
@click.argument("channel", metavar="CHANNEL")
@click.option("--json", "data", metavar="JSON", help="The payload; @file and - (standard input) work too.")
@click.option(
    "--arg", "pairs", multiple=True, metavar="KEY=VALUE", help="One field of an object as payload; repeatable."
)
@click.option("--key", metavar="KEY", help="Makes the message once-only: the same key again sends nothing.")
@click.option("--correlation", metavar="TEXT", help="Lets the receiver wait for exactly this answer.")
@common(json=False)
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


def _payload(data: str | None, pairs: tuple[str, ...]) -> Data:
    if data is not None and pairs:
        raise click.UsageError("--json and --arg both give the payload; use one of them")
    if data is not None:
        return json_value("--json", data)
    return dict(key_values(pairs)) if pairs else None
