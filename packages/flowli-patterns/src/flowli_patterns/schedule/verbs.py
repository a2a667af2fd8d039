"""``engine.schedules``: define schedules, look at them, start what they would start."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from flowli import Engine
from flowli.domain.control_entries import Announced, ControlEntry, OperatorActed
from flowli.domain.data import Data
from flowli.domain.errors import NotAllowed, UsageError
from flowli.domain.ids import Eid, check_key
from flowli.domain.provenance import Actor, ActorKind, Provenance
from flowli.timestamp import Timestamp
from flowli_patterns.errors import UnknownSchedule
from flowli_patterns.schedule.book import DEFINED, Book, Run, Standing
from flowli_patterns.schedule.declare import definition
from flowli_patterns.schedule.fire import start_slot
from flowli_patterns.schedule.model import Schedule
from flowli_patterns.schedule.when import Ticks, When, next_after, slots_between

__all__ = ["Backfilled", "ScheduleView", "Schedules", "tick_of"]

_MOST = 1_000
_JUST_BEFORE = timedelta(microseconds=-1)


@dataclass(frozen=True, slots=True)
class ScheduleView:
    """A schedule as it stands.

    Attributes:
        schedule: its definition.
        revision: changes with every definition.
        decided_upto: all slots up to this instant are started or left out.
        next: the next slots, as far as they were asked for.
        runs: the latest executions, the newest last.
        running: how many of its executions have not ended, as far as the control log tells.
        left_out: how many slots were left out so far.
        why: the last reason for leaving one out.
    """

    schedule: Schedule
    revision: int
    decided_upto: Timestamp
    next: tuple[Timestamp, ...]
    runs: tuple[Run, ...]
    running: int
    left_out: int
    why: str


@dataclass(frozen=True, slots=True)
class Backfilled:
    """One slot of a backfill and the execution that it leads to; None in a dry run."""

    slot: Timestamp
    eid: Eid | None


class Schedules:
    """The schedules of a bucket. ``engine.schedules`` is one.

    Sweepers start what is due; any number of them may run. Each method reads what is new in the control log first.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._book = Book()

    async def list(self) -> list[ScheduleView]:
        """All schedules, by id."""
        await self._book.catch_up(self._engine.ports.control)
        found = sorted(self._book.standings.items())
        return [self._view(standing.schedule, standing, 1) for _, standing in found if standing.schedule is not None]

    async def get(self, name: str, *, slots: int = 5) -> ScheduleView:
        """One schedule with its next slots.

        Raises:
            UnknownSchedule: there is none of that id; near ones are named.
        """
        standing = await self._standing(name)
        return self._view(_readable(standing, name), standing, slots)

    async def add(
        self,
        name: str,
        workflow: Callable[..., Any] | str,
        when: When,
        *,
        actor: Actor | None = None,
        **options: Any,
    ) -> ScheduleView:
        """Define a new schedule.

        Args:
            workflow: a registered function or its name. A name that is not registered here is taken as it is, with
                ``version=``.
            options: the other fields of ``Schedule``.

        Raises:
            NotAllowed: there is a schedule of that id.
            UsageError: the workflow is unknown, it does not take these arguments, or a value makes no sense.
        """
        schedule = Schedule(id=name, workflow=self._name(workflow, options.get("version")), when=when, **options)
        await self._book.catch_up(self._engine.ports.control)
        if name in self._book.standings:
            raise NotAllowed(f"there is a schedule '{name}' already; update it, remove it first, or choose another id")
        return await self._put(schedule, actor)

    async def update(self, name: str, *, actor: Actor | None = None, **changes: Any) -> ScheduleView:
        """Change fields of a schedule. Slots until now are past: the new definition begins to count now.

        Raises:
            UnknownSchedule: there is none of that id.
            UsageError: there is no such field, or a value makes no sense.
        """
        standing = await self._standing(name)
        unknown = sorted(set(changes) - (set(Schedule.__slots__) - {"id"}))
        if unknown:
            raise UsageError(f"a schedule has no field '{unknown[0]}' that can be changed")
        return await self._put(replace(_readable(standing, name), **changes), actor)

    async def pause(self, name: str, reason: str = "", *, actor: Actor | None = None) -> ScheduleView:
        """Start nothing until it is resumed. What becomes due meanwhile is not made up for."""
        return await self._paused(name, True, reason, actor)

    async def resume(self, name: str, reason: str = "", *, actor: Actor | None = None) -> ScheduleView:
        """Go on with the next slot."""
        return await self._paused(name, False, reason, actor)

    async def remove(self, name: str, reason: str = "", *, actor: Actor | None = None) -> None:
        """Remove a schedule; its executions stay. The slots that were started are never started again.

        Raises:
            UnknownSchedule: there is none of that id.
        """
        await self._standing(name)
        await self._append({"id": name, "removed": True}, actor, "schedule.remove", reason or name)

    async def run(self, name: str, *, key: str | None = None, actor: Actor | None = None) -> Eid:
        """Start its workflow now, beside its slots.

        Args:
            key: the same call with the same key starts one execution; None for a new one.

        Raises:
            UnknownSchedule: there is none of that id.
        """
        schedule = _readable(await self._standing(name), name)
        slot = self._engine.world.now()
        kwargs = dict(schedule.kwargs)
        if schedule.slot_argument is not None:
            kwargs[schedule.slot_argument] = str(slot)
        asked = check_key("key", key) if key is not None else self._engine.world.token()
        result = await self._engine.start_args(
            schedule.workflow,
            schedule.args,
            kwargs,
            key=f"schedule:{name}:by-hand:{asked}",
            queue=schedule.queue,
            priority=schedule.priority,
            version=schedule.version,
            timeout=schedule.timeout_s,
            actor=actor,
            request=asked,
        )
        return result.eid

    async def tick(self, name: str, window: datetime | None, *, actor: Actor | None = None) -> Eid:
        """Deliver a tick of an external scheduler; ``engine.tick`` is the same. The same slot leads to the same
        execution, also where a sweeper or a backfill has started it.

        Args:
            window: the instant that the tick is for, at which its window begins: aware. It is the identity of the slot.
            actor: who delivers it; the execution is started by the schedule, on their behalf.

        Raises:
            UnknownSchedule: there is none of that id.
            UsageError: the tick has no identity, or names an instant that is no slot of the schedule.
            NotAllowed: the schedule is paused.
        """
        schedule = _readable(await self._standing(name), name)
        if window is None:
            raise UsageError(
                f"the tick for schedule '{name}' says not for which instant it is, and has no identity; give the "
                "beginning of its window, the same one whenever it is delivered"
            )
        if window.tzinfo is None:
            raise UsageError(f"the tick for schedule '{name}' is for {window.isoformat()} without a zone; give one")
        at = Timestamp.from_datetime(window)
        if not isinstance(schedule.when, Ticks):
            following = next_after(schedule.when, Timestamp(max(0, at.us - 1)))
            if following != at:
                told = "there is none any more" if following is None else f"the next one is {following}"
                raise UsageError(f"{at} is no slot of schedule '{name}' ({schedule.when}); {told}")
        if schedule.paused:
            raise NotAllowed(f"schedule '{name}' is paused; resume it first")
        return await start_slot(self._engine, schedule, at, asked_by=actor)

    async def backfill(
        self,
        name: str,
        start: datetime,
        end: datetime,
        *,
        limit: int = _MOST,
        queue: str | None = None,
        dry_run: bool = False,
    ) -> tuple[Backfilled, ...]:
        """Start the slots of a time that is past; those that were started before lead to the same executions.

        Args:
            start: the first instant.
            end: the last instant; not in the future.
            limit: refuse more slots than this.
            queue: where these executions go, for example one of low concurrency.
            dry_run: start nothing, only tell the slots.

        Raises:
            UnknownSchedule: there is none of that id.
            UsageError: the time is empty, in the future, or holds more slots than ``limit``.
        """
        schedule = _readable(await self._standing(name), name)
        for one in (start, end):
            if one.tzinfo is None:
                raise UsageError(f"{one.isoformat()} has no time zone; give one, for example tzinfo=datetime.UTC")
        first, last = Timestamp.from_datetime(start), Timestamp.from_datetime(end)
        if last < first:
            raise UsageError(f"the backfill would end at {last}, before it begins at {first}")
        if last > self._engine.world.now():
            raise UsageError(f"the backfill would end at {last}, in the future; sweepers see to what is to come")
        slots = slots_between(schedule.when, Timestamp(max(0, first.us - 1)), last, limit + 1)
        if len(slots) > limit:
            raise UsageError(
                f"between {first} and {last} schedule '{name}' has more than {limit} slots; take less, or raise limit"
            )
        if dry_run:
            return tuple(Backfilled(slot, None) for slot in slots)
        return tuple([Backfilled(slot, await start_slot(self._engine, schedule, slot, queue=queue)) for slot in slots])

    async def _standing(self, name: str) -> Standing:
        await self._book.catch_up(self._engine.ports.control)
        found = self._book.standings.get(name)
        if found is None:
            raise UnknownSchedule.of(name, self._book.standings)
        return found

    async def _paused(self, name: str, paused: bool, reason: str, actor: Actor | None) -> ScheduleView:
        standing = await self._standing(name)
        schedule = _readable(standing, name)
        if schedule.paused is paused:
            return self._view(schedule, standing, 1)
        verb = "schedule.pause" if paused else "schedule.resume"
        return await self._put(replace(schedule, paused=paused), actor, verb, reason or name)

    async def _put(
        self, schedule: Schedule, actor: Actor | None, verb: str = "schedule.put", reason: str = ""
    ) -> ScheduleView:
        await self._append(definition(schedule), actor, verb, reason or schedule.id)
        return await self.get(schedule.id)

    async def _append(self, data: dict[str, Data], actor: Actor | None, verb: str, reason: str) -> None:
        engine = self._engine
        by = Provenance(actor or Actor(ActorKind.SYSTEM, engine.site.worker_id), engine.site, engine.world.now())
        bodies = (Announced(DEFINED, data), OperatorActed(verb, None, reason))
        await engine.ports.control.append([ControlEntry(body, by) for body in bodies])

    def _name(self, workflow: Callable[..., Any] | str, version: object) -> str:
        if isinstance(workflow, str) and version is not None and self._engine.registry.find(workflow) is None:
            return workflow
        return self._engine.registry.of(workflow).name

    def _view(self, schedule: Schedule, standing: Standing, slots: int) -> ScheduleView:
        coming: list[Timestamp] = []
        moment = max(standing.upto, self._engine.world.now())
        while not schedule.paused and len(coming) < slots:
            following = next_after(schedule.when, coming[-1] if coming else moment)
            if following is None or _over(schedule, following):
                break
            if schedule.not_before is None or following.to_datetime() >= schedule.not_before:
                coming.append(following)
            else:
                moment = max(moment, Timestamp.from_datetime(schedule.not_before) + _JUST_BEFORE)
        return ScheduleView(
            schedule,
            standing.revision,
            standing.upto,
            tuple(coming),
            tuple(standing.runs),
            len(standing.running),
            standing.left_out,
            standing.why,
        )


def tick_of(engine: Engine) -> Callable[..., Coroutine[Any, Any, Eid]]:
    """What ``engine.tick`` is: the tick of its schedules."""
    return engine.schedules.tick


def _over(schedule: Schedule, slot: Timestamp) -> bool:
    return schedule.not_after is not None and slot.to_datetime() > schedule.not_after


def _readable(standing: Standing, name: str) -> Schedule:
    if standing.schedule is None:
        raise UsageError(f"schedule '{name}' cannot be read here: {standing.unreadable}")
    return standing.schedule
