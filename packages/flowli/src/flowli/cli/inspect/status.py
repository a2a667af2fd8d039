"""``flowli status``: one screen about one execution."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from flowli.cli.options import common
from flowli.cli.session import Session, run
from flowli.cli.shell import FlowliCommand

if TYPE_CHECKING:
    from flowli.cli.render.screen import Cell
    from flowli.domain.data import Data
    from flowli.runtime import ExecutionView
    from flowli.timestamp import Timestamp

__all__ = ["status"]


@click.command(cls=FlowliCommand)
@click.argument("eid", metavar="EID")
@common()
def status(eid: str) -> None:
    """Show where the execution EID stands: its status, what it waits on, who runs it, how it ended.

    EID may be an unambiguous prefix.
    """

    async def body(session: Session) -> None:
        view = await session.engine.status(await session.eid(eid))
        if session.screen.json_wanted:
            session.screen.json(_data(view))
        else:
            session.screen.fields(_fields(view, session.engine.world.now()))

    run(body)


def _fields(view: ExecutionView, now: Timestamp) -> dict[str, Cell]:
    from flowli.cli.render import words
    from flowli.codec import to_data

    record = view.execution
    fields: dict[str, Cell] = {
        "execution": str(record.eid),
        "workflow": f"{record.workflow} {view.version}",
        "status": words.status(view.status.value),
        "created": f"{words.instant(record.created_at)} ({words.ago(record.created_at, now)}) by {_by(view)}",
        "queue": record.queue,
    }
    if record.dispatch_key:
        fields["key"] = record.dispatch_key
    if record.parent:
        fields["parent"] = f"{record.parent.eid} frame {record.parent.fid}"
    if record.origin:
        fields["origin"] = f"{record.origin.verb} of {record.origin.eid}"
    for number, wait in enumerate(view.waits_on):
        fields["waits on" if number == 0 else f"{'':<7}{number}"] = words.on(wait, now)
    if view.owner is not None:
        site = view.owner.site
        fields["owner"] = f"{view.owner.id} (host {site.host}, pid {site.pid}), epoch {view.epoch}"
    if view.ended_at is not None:
        took = words.duration(view.ended_at - record.created_at)
        fields["ended"] = f"{words.instant(view.ended_at)} (after {took})"
    if view.error is not None:
        fields["error"] = (" ".join(str(view.error).split()), "red")
    elif view.status.value == "completed":
        fields["value"] = words.short(to_data(view.value), 500)
    hint = _next(view)
    if hint:
        fields["next"] = hint
    return fields


def _by(view: ExecutionView) -> str:
    from flowli.cli.render import words

    return words.actor(view.execution.created_by.actor)


def _next(view: ExecutionView) -> str:
    """The command that moves an execution which waits on somebody."""
    from flowli.domain.waits import OnChannel, OnOperator

    for wait in view.waits_on:
        match wait:
            case OnOperator():
                return f"flowli resume {view.execution.eid}"
            case OnChannel(channel):
                first, dot, name = channel.partition(".")
                return f"flowli signal {view.execution.eid} {name if dot else first} --json ..."
            case _:
                continue
    return ""


def _data(view: ExecutionView) -> dict[str, Data]:
    from flowli.codec import dump, to_data

    record = view.execution
    owner = (
        None if view.owner is None else {"id": view.owner.id, "host": view.owner.site.host, "pid": view.owner.site.pid}
    )
    return {
        "eid": str(record.eid),
        "workflow": record.workflow,
        "version": view.version,
        "status": view.status.value,
        "queue": record.queue,
        "priority": record.priority,
        "key": record.dispatch_key,
        "parent": None if record.parent is None else {"eid": str(record.parent.eid), "fid": record.parent.fid},
        "created_at": str(record.created_at),
        "created_by": dump(record.created_by.actor),
        "ended_at": None if view.ended_at is None else str(view.ended_at),
        "epoch": view.epoch,
        "owner": owner,
        "waits_on": [dump(wait) for wait in view.waits_on],
        "error": None if view.error is None else dump(view.error),
        "value": to_data(view.value),
    }
