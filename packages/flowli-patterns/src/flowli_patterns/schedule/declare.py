"""Schedules declared beside the code: put into the bucket by the first sweeper of the application that finds them new.

A declaration is compared with the last one of that id, not with what operators have made of the schedule since: paused
stays paused, and a change on the command line lasts until the code says something new.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any
from weakref import WeakKeyDictionary

from flowli import Engine, Registry
from flowli.codec import digest
from flowli.domain.control_entries import Announced, ControlEntry
from flowli.domain.data import Data
from flowli.domain.errors import UsageError
from flowli.domain.provenance import Actor, ActorKind, Provenance
from flowli_patterns.schedule.book import DEFINED, Book
from flowli_patterns.schedule.model import Schedule
from flowli_patterns.schedule.when import When

__all__ = ["declare", "declared", "definition", "put_declared"]

_declared: WeakKeyDictionary[Registry, dict[str, Schedule]] = WeakKeyDictionary()


def declare(registry: Registry, name: str, workflow: Callable[..., Any] | str, when: When, **options: Any) -> Schedule:
    """Say that an application has a schedule; sweepers started with this registry see to it.

    Args:
        registry: of the application.
        name: of the schedule.
        workflow: a registered function, or a name.
        when: its slots.
        options: the other fields of ``Schedule``.

    Raises:
        UsageError: the id is declared twice, the workflow is not registered, or a value makes no sense.

    Example:
        >>> declare(registry, "nightly", close_books, Cron("0 2 * * *", "Europe/Berlin"), overlap=Overlap.QUEUE)
    """
    mine = _declared.setdefault(registry, {})
    if name in mine:
        raise UsageError(f"schedule '{name}' is declared twice; give one of them another id")
    schedule = Schedule(id=name, workflow=registry.of(workflow).name, when=when, **options)
    mine[name] = schedule
    return schedule


def declared(registry: Registry) -> tuple[Schedule, ...]:
    """What an application has declared."""
    return tuple(_declared.get(registry, {}).values())


async def put_declared(engine: Engine, book: Book, schedules: Iterable[Schedule]) -> None:
    """Put those into the bucket that are new there, or declared otherwise than before."""
    entries: list[ControlEntry] = []
    for schedule in schedules:
        mark = digest(schedule.to_data())
        if book.declarations.get(schedule.id) == mark:
            continue
        standing = book.standings.get(schedule.id)
        if standing is not None and standing.schedule is not None and standing.schedule.paused:
            schedule = replace(schedule, paused=True)
        by = Provenance(Actor(ActorKind.SYSTEM, engine.site.worker_id), engine.site, engine.world.now())
        entries.append(ControlEntry(Announced(DEFINED, definition(schedule, declared=mark)), by))
    if entries:
        await engine.ports.control.append(entries)


def definition(schedule: Schedule, *, declared: str | None = None) -> dict[str, Data]:
    """What the control log is told of a schedule."""
    data: dict[str, Data] = {"id": schedule.id, "put": schedule.to_data()}
    return data if declared is None else {**data, "declared": declared}
