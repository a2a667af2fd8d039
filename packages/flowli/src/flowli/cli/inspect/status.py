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
    from flowli.runtime.engine import ExecutionView
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
        value = await session.value(view.execution.eid) if view.status.value == "completed" else None
        if session.screen.json_wanted:
            session.screen.json(_data(view, value))
        else:
            session.screen.fields(_fields(view, value, session.engine.world.now()))

    run(body)


def _fields(view: ExecutionView, value: Data, now: Timestamp) -> list[tuple[str, Cell]]:
    from flowli.cli.render import words

    record = view.execution
    created, by = record.created_at, words.actor(record.created_by.actor)
    fields: list[tuple[str, Cell]] = [
        ("execution", str(record.eid)),
        ("workflow", f"{record.workflow} {view.version}"),
        ("status", words.status(view.status.value)),
        ("created", f"{words.instant(created)} ({words.ago(created, now)}) by {by}"),
        ("queue", record.queue),
    ]
    if record.dispatch_key:
        fields.append(("key", record.dispatch_key))
    if record.parent:
        fields.append(("parent", f"{record.parent.eid} frame {record.parent.fid}"))
    if record.origin:
        fields.append(("origin", f"{record.origin.verb} of {record.origin.eid}"))
    fields += [("waits on", words.on(wait, now)) for wait in view.waits_on]
    if view.owner is not None:
        site = view.owner.site
        fields.append(("owner", f"{site.worker_id} (host {site.host}, pid {site.pid}), epoch {view.epoch}"))
    return [*fields, *_end(view, value)]


def _end(view: ExecutionView, value: Data) -> list[tuple[str, Cell]]:
    """How it ended, or what moves it."""
    from flowli.cli.render import words

    fields: list[tuple[str, Cell]] = []
    if view.ended_at is not None:
        took = words.duration(view.ended_at - view.execution.created_at)
        fields.append(("ended", f"{words.instant(view.ended_at)} (after {took})"))
    if view.error is not None:
        fields.append(("error", (words.error(view.error), "red")))
    elif view.status.value == "completed":
        fields.append(("value", words.short(value, 500)))
    elif view.reason:
        fields.append(("reason", view.reason))
    if view.archived_at is not None:
        fields.append(("archived", words.instant(view.archived_at)))
    hint = _next(view)
    return [*fields, ("next", hint)] if hint else fields


def _next(view: ExecutionView) -> str:
    """The command that moves an execution which waits on somebody."""
    from flowli.domain.waits import OnChannel, OnOperator

    for wait in view.waits_on:
        match wait:
            case OnOperator():
                return f"flowli resume {view.execution.eid}"
            case OnChannel(channel):
                first, dot, name = channel.partition(".")
                if name.startswith("_"):  # a channel of the engine or of a pattern: no message that one types moves it
                    return f"flowli explain {view.execution.eid}"
                return f"flowli signal {view.execution.eid} {name if dot else first} --json ..."
            case _:
                continue
    return ""


def _data(view: ExecutionView, value: Data) -> dict[str, Data]:
    from flowli.codec import dump

    record = view.execution
    owner: Data = None
    if view.owner is not None:
        owner = {"id": view.owner.id, "host": view.owner.site.host, "pid": view.owner.site.pid}
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
        "reason": view.reason or None,
        "value": value,
        "archived_at": None if view.archived_at is None else str(view.archived_at),
    }
