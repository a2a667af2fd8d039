"""``flowli inspect``: everything that the bucket says of one execution."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from flowli.cli.options import common
from flowli.cli.session import Session, run
from flowli.cli.shell import FlowliCommand

if TYPE_CHECKING:
    from flowli.cli.render.screen import Cell
    from flowli.domain.channels import Message
    from flowli.domain.data import Data
    from flowli.runtime.insight import Inspection

__all__ = ["inspect"]


@click.command(cls=FlowliCommand)
@click.argument("eid", metavar="EID")
@click.option("--values", is_flag=True, help="Show the payloads of unread messages too.")
@common()
def inspect(eid: str, values: bool) -> None:
    """Show everything that the bucket says of the execution EID at one instant.

    Its lease, tasks, timers, waits, unread messages, open requests, children, attempts, and what does not fit in its
    journal. EID may be an unambiguous prefix. It reads and never writes.
    """

    async def body(session: Session) -> None:
        seen = await session.engine.inspect(await session.eid(eid))
        if session.screen.json_wanted:
            session.screen.json(_data(seen, values=values))
        else:
            session.screen.fields([*_head(seen), *_queued(seen), *_waits(seen, values=values), *_frames(seen)])

    run(body)


def _head(seen: Inspection) -> list[tuple[str, Cell]]:
    from flowli.cli.render import words

    record, lease = seen.execution, seen.lease
    fields: list[tuple[str, Cell]] = [
        ("execution", str(record.eid)),
        ("workflow", f"{record.workflow} {seen.version}"),
        ("status", words.status(seen.fold.status.value)),
        ("at", words.instant(seen.at)),
        ("journal", f"{seen.fold.seq} entries, epoch {seen.fold.epoch}"),
    ]
    if seen.archived_at is not None:
        fields.append(("archived", words.instant(seen.archived_at)))
    if lease is not None:
        holder = "nobody" if lease.holder is None else lease.holder.id
        stands = "expired" if seen.expired else "held" if seen.owned else "released"
        told = f"epoch {lease.epoch}, {holder}, {stands}, ttl {lease.ttl_s:g} s, unchanged for {lease.idle_s:.1f} s"
        fields.append(("lease", told))
    for one in seen.requests:
        told = f"{one.verb} by {words.actor(one.by.actor)} at {words.instant(one.by.at)}, not applied"
        fields.append(("request", told))
    return fields


def _queued(seen: Inspection) -> list[tuple[str, Cell]]:
    from flowli.cli.render import words

    fields: list[tuple[str, Cell]] = []
    for view in seen.tasks:
        state = f"held by {view.holder}" if view.holder else "delayed" if view.delayed else "ready"
        since = f"since {words.instant(view.task.cause_at)}" if not view.delayed else ""
        deaths = f", {view.deaths} deaths" if view.deaths else ""
        fields.append(("task", f"{view.task.task_id} {state} {since}{deaths}".rstrip()))
    fields += [("dead letter", f"{one.task.task_id}: {one.cause}") for one in seen.dead]
    fields += [("timer", f"{words.instant(one.due_at)} for {one.fid}") for one in seen.timers]
    queue = seen.queue
    worker = "none so far" if queue.worker is None else f"{queue.worker.worker} at {words.instant(queue.worker.at)}"
    paused = f", paused ({queue.settings.paused})" if queue.settings.paused is not None else ""
    if seen.archived_at is None:
        fields.append(("queue", f"{queue.name}, worker seen last: {worker}{paused}"))
        sweeper = (
            "none so far" if seen.sweeper is None else f"{seen.sweeper.worker} at {words.instant(seen.sweeper.at)}"
        )
        due = "" if seen.due_timers is None else f"; timers due in the bucket: {seen.due_timers}"
        fields.append(("sweeper", f"seen last: {sweeper}{due}"))
    return fields


def _waits(seen: Inspection, *, values: bool) -> list[tuple[str, Cell]]:
    from flowli.cli.render import words

    fields: list[tuple[str, Cell]] = []
    for wait in seen.waits:
        until = f", until {words.instant(wait.deadline)}" if wait.deadline is not None else ""
        come = ", which has come" if seen.has_come(wait) else ""
        fields.append(("waits", f"{wait.fid} for {words.on(wait.on, seen.at)}{until}{come} (entry {wait.seq})"))
    for channel in seen.channels:
        for message in channel.unread:
            name, by = channel.name.rpartition(".")[2], words.actor(message.sent_by.actor)
            payload = f": {words.short(message.payload)}" if values else ""
            fields.append(("unread", f"{name} {message.seq} by {by} at {words.instant(message.sent_by.at)}{payload}"))
    for child in seen.children:
        status = "unknown" if child.status is None else child.status.value
        fields.append(("child", f"{child.eid} {child.workflow} {status}, for {child.fid}"))
    return fields


def _frames(seen: Inspection) -> list[tuple[str, Cell]]:
    fields: list[tuple[str, Cell]] = []
    for frame in [] if seen.fold.end is not None else seen.fold.live_frames():
        error = f", before: {' '.join(str(frame.error).split())}" if frame.error is not None else ""
        fields.append(("frame", f"{frame.fid} {frame.kind} {frame.status}, attempt {frame.attempt}{error}"))
    fields += [("anomaly", (f"entry {one.seq}: {one.problem}", "yellow")) for one in seen.anomalies]
    return fields


def _data(seen: Inspection, *, values: bool) -> dict[str, Data]:
    from flowli.codec import dump

    lease: Data = None
    if seen.lease is not None:
        holder = None if seen.lease.holder is None else seen.lease.holder.id
        lease = {"epoch": seen.lease.epoch, "holder": holder, "owned": seen.owned, "expired": seen.expired}
    return {
        "at": str(seen.at),
        "steady": seen.steady,
        "eid": str(seen.eid),
        "workflow": seen.execution.workflow,
        "version": seen.version,
        "status": seen.fold.status.value,
        "journal": {"seq": seen.fold.seq, "epoch": seen.fold.epoch},
        "archived_at": None if seen.archived_at is None else str(seen.archived_at),
        "lease": lease,
        "requests": [{"id": one.id, "verb": one.verb, "at": str(one.by.at)} for one in seen.requests],
        "tasks": [
            {"task_id": one.task.task_id, "holder": one.holder, "deaths": one.deaths, "delayed": one.delayed}
            for one in seen.tasks
        ],
        "dead": [{"task_id": one.task.task_id, "cause": one.cause, "deaths": one.deaths} for one in seen.dead],
        "timers": [{"due_at": str(one.due_at), "fid": one.fid} for one in seen.timers],
        "waits": [
            {
                "fid": one.fid,
                "on": dump(one.on),
                "since": str(one.since),
                "deadline": None if one.deadline is None else str(one.deadline),
                "has_come": seen.has_come(one),
                "seq": one.seq,
            }
            for one in seen.waits
        ],
        "unread": [_unread(one, values=values) for channel in seen.channels for one in channel.unread],
        "children": [
            {"fid": one.fid, "eid": str(one.eid), "status": None if one.status is None else one.status.value}
            for one in seen.children
        ],
        "anomalies": [{"seq": one.seq, "problem": one.problem} for one in seen.anomalies],
    }


def _unread(one: Message, *, values: bool) -> dict[str, Data]:
    told: dict[str, Data] = {"channel": one.channel, "seq": one.seq, "id": one.id}
    return {**told, "payload": one.payload} if values else told
