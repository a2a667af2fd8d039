"""``flowli queues``: what stands in the queues, and what holds for them in the whole fleet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from flowli.cli.exits import CommandFailed, ExitCode
from flowli.cli.options import common
from flowli.cli.session import Session, operator, run
from flowli.cli.shell import FlowliCommand, FlowliParts

if TYPE_CHECKING:
    from flowli.cli.render.screen import Cell
    from flowli.domain.data import Data
    from flowli.domain.tasks import QueueSettings, TaskView
    from flowli.runtime.signs import Seen

__all__ = ["queues"]

_LISTED = 1000
_reason = click.option("--reason", default="", metavar="TEXT", help="Why; it is recorded.")


@dataclass(frozen=True, slots=True)
class _Queue:
    name: str
    settings: QueueSettings
    tasks: list[TaskView]
    dead: int
    worker: Seen | None


@click.group(cls=FlowliParts, invoke_without_command=True)
@common()
@click.pass_context
def queues(context: click.Context) -> None:
    """List the queues: tasks, who listens, limits. Pause, resume or limit one.

    At most the first 1,000 tasks of a queue are counted.
    """
    if context.invoked_subcommand is None:
        run(_list)


@queues.command("pause", cls=FlowliCommand, under="queues")
@click.argument("queue", metavar="QUEUE")
@click.option("--reason", required=True, metavar="TEXT", help="Why; it is shown wherever the queue is.")
@common()
def pause(queue: str, reason: str) -> None:
    """No worker takes a task from QUEUE until it is resumed. What is being worked on goes on."""

    async def body(session: Session) -> None:
        await session.engine.pause_queue(queue, reason, actor=operator())
        _done(session, queue, "paused")

    run(body)


@queues.command("resume", cls=FlowliCommand, under="queues")
@click.argument("queue", metavar="QUEUE")
@_reason
@common()
def resume(queue: str, reason: str) -> None:
    """Workers take tasks from QUEUE again."""

    async def body(session: Session) -> None:
        await session.engine.resume_queue(queue, reason, actor=operator())
        _done(session, queue, "open")

    run(body)


@queues.command("limit", cls=FlowliCommand, under="queues")
@click.argument("queue", metavar="QUEUE")
@click.option("--concurrency", type=click.IntRange(min=1), metavar="N", help="Tasks that may be worked on at once.")
@click.option("--rate", type=click.IntRange(min=1), metavar="N", help="Tasks that may be begun per second.")
@click.option("--none", is_flag=True, help="Take the limits away.")
@_reason
@common()
def limit(queue: str, concurrency: int | None, rate: int | None, none: bool, reason: str) -> None:
    """Limit QUEUE in the whole fleet, in the place of the limits so far."""
    if none == (concurrency is not None or rate is not None):
        raise CommandFailed("give --concurrency, --rate or both, or --none alone", ExitCode.USAGE)

    async def body(session: Session) -> None:
        await session.engine.limit_queue(queue, concurrency=concurrency, rate=rate, reason=reason, actor=operator())
        _done(session, queue, "limited" if not none else "without limits")

    run(body)


async def _list(session: Session) -> None:
    from flowli.runtime.signs import queue_sign, seen

    ports, found = session.engine.ports, list[_Queue]()
    names = sorted(set(await ports.queue.queues()) | {one.queue for one in session.engine.registry})
    for name in names:
        tasks, dead = await ports.queue.list(name, limit=_LISTED), await ports.queue.dead(name, limit=_LISTED)
        worker = await seen(ports, queue_sign(name))
        found.append(_Queue(name, await ports.queue.settings(name), list(tasks), len(dead), worker))
    if session.screen.json_wanted:
        session.screen.json([_data(one) for one in found])
    elif found:
        _print(session, found)
    else:
        session.screen.note("flowli: no queue holds anything")


def _print(session: Session, found: list[_Queue]) -> None:
    from flowli.cli.render import words

    now = session.engine.world.now()
    rows: list[list[Cell]] = []
    for one in found:
        ready, held, delayed = _counts(one)
        waiting = [view.task.cause_at for view in one.tasks if not view.delayed and view.holder is None]
        oldest = words.duration(now - min(waiting)) if waiting else "-"
        worker = "never" if one.worker is None else words.ago(one.worker.at, now)
        dead: Cell = (str(one.dead), "red") if one.dead else "0"
        rows.append([one.name, str(ready), str(held), str(delayed), dead, oldest, worker, _limits(one.settings)])
    headers = ("QUEUE", "READY", "HELD", "DELAYED", "DEAD", "OLDEST", "WORKER SEEN", "HOLDS")
    session.screen.table(headers, rows)


def _counts(one: _Queue) -> tuple[int, int, int]:
    held = sum(view.holder is not None for view in one.tasks)
    delayed = sum(view.delayed for view in one.tasks)
    return len(one.tasks) - held - delayed, held, delayed


def _limits(settings: QueueSettings) -> str:
    told = [f"paused: {settings.paused}"] if settings.paused is not None else []
    told += [f"{settings.concurrency} at once"] if settings.concurrency is not None else []
    told += [f"{settings.rate} per {settings.rate_period_s:g} s"] if settings.rate is not None else []
    return ", ".join(told) or "-"


def _data(one: _Queue) -> dict[str, Data]:
    ready, held, delayed = _counts(one)
    return {
        "queue": one.name,
        "ready": ready,
        "held": held,
        "delayed": delayed,
        "dead": one.dead,
        "worker": None if one.worker is None else {"id": one.worker.worker, "at": str(one.worker.at)},
        "paused": one.settings.paused,
        "concurrency": one.settings.concurrency,
        "rate": one.settings.rate,
    }


def _done(session: Session, queue: str, state: str) -> None:
    if session.screen.json_wanted:
        session.screen.json({"queue": queue, "state": state})
    else:
        session.screen.line(f"{queue}  {state}")
