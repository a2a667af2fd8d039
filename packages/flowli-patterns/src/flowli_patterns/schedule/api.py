"""Schedules over HTTP, under ``/v1/schedules``. The HTTP service loads it; nothing else does.

Reading needs ``executions:read``, everything else ``schedules:manage``. A caller who may see some workflows only is not
told of the schedules of others.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import Path, Query, Request, Response
from pydantic import Field, JsonValue

from flowli_api.answers import answer, written
from flowli_api.dto.base import In, Out
from flowli_api.params import WHOLE, BusinessKey, Instant, Name, Reason, VersionText
from flowli_api.problems import Problem
from flowli_api.routing import ApiRouter, Caller, ServiceOf, requires
from flowli_api.service import Service
from flowli_patterns.errors import UnknownSchedule
from flowli_patterns.schedule.model import Schedule
from flowli_patterns.schedule.shown import view_data
from flowli_patterns.schedule.verbs import ScheduleView
from flowli_patterns.schedule.when import LONGEST_S

__all__ = ["router"]

router = ApiRouter(tags=["schedules"])

_UNSET = frozenset(("slot_argument", "version", "queue", "priority", "timeout_s", "not_before", "not_after"))
"""Fields of a schedule that can be without a value."""

Seconds = Annotated[float, Field(ge=0, le=LONGEST_S)]
ScheduleName = Annotated[str, Path(pattern=r"^[A-Za-z0-9_-]{1,100}$", examples=["nightly"])]


class SlotRun(Out):
    """An execution that a slot has led to."""

    slot: str
    eid: str


class ScheduleOut(Out):
    """A schedule as it stands."""

    id: str
    workflow: str
    when: dict[str, JsonValue] = Field(examples=[{"kind": "cron", "expression": "0 2 * * *", "zone": "Europe/Berlin"}])
    args: list[JsonValue]
    kwargs: dict[str, JsonValue]
    slot_argument: str | None
    version: str | None
    queue: str | None
    priority: int | None
    timeout_s: float | None
    overlap: str
    catch_up: str
    catch_up_window_s: float
    catch_up_limit: int
    jitter_s: float
    not_before: str | None
    not_after: str | None
    paused: bool
    note: str
    revision: int
    decided_upto: str = Field(description="All slots up to here are started or left out.")
    next: list[str]
    runs: list[SlotRun] = Field(description="The latest ones, the newest last.")
    running: int
    left_out: int
    why: str = Field(description="The last reason for leaving a slot out.")


class ScheduleList(Out):
    """All schedules, by id."""

    items: list[ScheduleOut]


class SchedulePolicies(In):
    """What a definition says beside what and when; what is left out stays, or is the default."""

    args: list[JsonValue] | None = Field(None, max_length=100)
    kwargs: dict[str, JsonValue] | None = Field(None, max_length=100)
    slot_argument: Name | None = None
    version: VersionText | None = None
    queue: Name | None = None
    priority: Annotated[int, Field(ge=0, le=99), WHOLE] | None = None
    timeout_s: Annotated[float, Field(gt=0, le=LONGEST_S)] | None = None
    overlap: Literal["skip", "queue", "cancel_previous", "allow"] | None = Field(None, examples=["skip"])
    catch_up: Literal["skip", "last", "all"] | None = Field(None, examples=["last"])
    catch_up_window_s: Seconds | None = None
    catch_up_limit: Annotated[int, Field(ge=1, le=100_000), WHOLE] | None = None
    jitter_s: Seconds | None = None
    not_before: Instant | None = None
    not_after: Instant | None = None
    note: Reason | None = None


class NewSchedule(SchedulePolicies):
    """A new schedule."""

    id: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,100}$")]
    workflow: Name
    when: dict[str, JsonValue]


class ScheduleChange(SchedulePolicies):
    """What changes. Null takes the value away from a field that can be without one."""

    when: dict[str, JsonValue] | None = None


class ScheduleReason(In):
    """Why, for the record."""

    reason: Reason = ""


class ScheduleRun(In):
    """The same key starts one execution; null starts a new one."""

    key: BusinessKey | None = None


class ScheduleTick(In):
    """The instant that the tick is for: its identity."""

    slot: Instant


class ScheduleBackfill(In):
    """A time that is past."""

    start: Instant
    end: Instant
    limit: Annotated[int, Field(ge=1, le=10_000), WHOLE] = 1000
    queue: Name | None = None
    dry_run: bool = False


class SlotStarted(Out):
    """The execution."""

    eid: str


class SlotFilled(Out):
    """One slot, and the execution that it leads to; null in a dry run."""

    slot: str
    eid: str | None


class SlotList(Out):
    """The slots of a backfill."""

    items: list[SlotFilled]


@router.get("", response_model=ScheduleList, operation_id="list_schedules")
@requires("executions:read")
async def list_schedules(request: Request, caller: Caller, service: ServiceOf) -> Response:
    """List all schedules."""
    found = await service.engine.schedules.list()
    seen = [_shown(view) for view in found if caller.sees(view.schedule.workflow)]
    return answer(request, ScheduleList(items=seen))


@router.post("", response_model=ScheduleOut, status_code=201, operation_id="add_schedule")
@requires("schedules:manage")
async def add_schedule(body: NewSchedule, caller: Caller, service: ServiceOf) -> Response:
    """Define a new schedule of a workflow that the service knows. One of that id is refused with 409."""
    service.engine.registry.of(body.workflow)
    if not caller.sees(body.workflow):
        raise Problem("forbidden", f"The token does not reach workflow '{body.workflow}'.")
    made = Schedule.from_data({"id": body.id, "workflow": body.workflow, **_given(body)})
    options = {name: getattr(made, name) for name in _given(body)}
    view = await service.engine.schedules.add(made.id, made.workflow, actor=caller.actor, **options)
    return await _written(service, caller, "add_schedule", view, 201)


@router.get("/{name}", response_model=ScheduleOut, operation_id="get_schedule")
@requires("executions:read")
async def get_schedule(
    request: Request,
    name: ScheduleName,
    caller: Caller,
    service: ServiceOf,
    slots: Annotated[int, Query(ge=1, le=1000)] = 5,
) -> Response:
    """One schedule with its next slots."""
    return answer(request, _shown(await _found(service, caller, name, slots)))


@router.patch("/{name}", response_model=ScheduleOut, operation_id="update_schedule")
@requires("schedules:manage")
async def update_schedule(name: ScheduleName, body: ScheduleChange, caller: Caller, service: ServiceOf) -> Response:
    """Change a schedule. Slots until now are past; the new definition begins to count now."""
    view = await _found(service, caller, name)
    made = Schedule.from_data({**view.schedule.to_data(), **_given(body)})
    changes = {field: getattr(made, field) for field in _given(body)}
    view = await service.engine.schedules.update(name, actor=caller.actor, **changes)
    return await _written(service, caller, "update_schedule", view)


@router.post("/{name}/pause", response_model=ScheduleOut, operation_id="pause_schedule")
@requires("schedules:manage")
async def pause_schedule(name: ScheduleName, body: ScheduleReason, caller: Caller, service: ServiceOf) -> Response:
    """Start nothing until it is resumed; what becomes due meanwhile is not made up for."""
    await _found(service, caller, name)
    view = await service.engine.schedules.pause(name, body.reason, actor=caller.actor)
    return await _written(service, caller, "pause_schedule", view)


@router.post("/{name}/resume", response_model=ScheduleOut, operation_id="resume_schedule")
@requires("schedules:manage")
async def resume_schedule(name: ScheduleName, body: ScheduleReason, caller: Caller, service: ServiceOf) -> Response:
    """Go on with the next slot."""
    await _found(service, caller, name)
    view = await service.engine.schedules.resume(name, body.reason, actor=caller.actor)
    return await _written(service, caller, "resume_schedule", view)


@router.post("/{name}/run", response_model=SlotStarted, operation_id="run_schedule")
@requires("schedules:manage")
async def run_schedule(name: ScheduleName, body: ScheduleRun, caller: Caller, service: ServiceOf) -> Response:
    """Start its workflow now, beside its slots."""
    await _found(service, caller, name)
    eid = await service.engine.schedules.run(name, key=body.key, actor=caller.actor)
    service.logged(caller, "run_schedule", eid, schedule=name)
    return written(SlotStarted(eid=str(eid)), await service.control_seq())


@router.post("/{name}/tick", response_model=SlotStarted, operation_id="tick_schedule")
@requires("schedules:manage")
async def tick_schedule(name: ScheduleName, body: ScheduleTick, caller: Caller, service: ServiceOf) -> Response:
    """Deliver a tick of an external scheduler; the same slot leads to the same execution."""
    await _found(service, caller, name)
    eid = await service.engine.schedules.tick(name, datetime.fromisoformat(body.slot), actor=caller.actor)
    service.logged(caller, "tick_schedule", eid, schedule=name)
    return written(SlotStarted(eid=str(eid)), await service.control_seq())


@router.post("/{name}/backfill", response_model=SlotList, operation_id="backfill_schedule")
@requires("schedules:manage")
async def backfill_schedule(name: ScheduleName, body: ScheduleBackfill, caller: Caller, service: ServiceOf) -> Response:
    """Start the slots of a time that is past; those that were started before are not started again."""
    await _found(service, caller, name)
    first, last = datetime.fromisoformat(body.start), datetime.fromisoformat(body.end)
    found = await service.engine.schedules.backfill(
        name, first, last, limit=body.limit, queue=body.queue, dry_run=body.dry_run
    )
    service.logged(caller, "backfill_schedule", schedule=name)
    items = [SlotFilled(slot=str(one.slot), eid=None if one.eid is None else str(one.eid)) for one in found]
    return written(SlotList(items=items), await service.control_seq())


@router.delete("/{name}", status_code=204, operation_id="remove_schedule")
@requires("schedules:manage")
async def remove_schedule(
    name: ScheduleName, caller: Caller, service: ServiceOf, reason: Annotated[Reason, Query()] = ""
) -> Response:
    """Remove a schedule; its executions stay."""
    await _found(service, caller, name)
    await service.engine.schedules.remove(name, reason, actor=caller.actor)
    service.logged(caller, "remove_schedule", schedule=name)
    return Response(status_code=204)


async def _found(service: Service, caller: Caller, name: str, slots: int = 1) -> ScheduleView:
    """A schedule within the caller's reach; one that is out of it is not told from none."""
    try:
        view: ScheduleView | None = await service.engine.schedules.get(name, slots=slots)
    except UnknownSchedule:
        view = None
    if view is None or not caller.sees(view.schedule.workflow):
        raise Problem("not_found", f"There is no schedule '{name}'; GET /v1/schedules lists those that exist.")
    return view


async def _written(service: Service, caller: Caller, verb: str, view: ScheduleView, status: int = 200) -> Response:
    service.logged(caller, verb, schedule=view.schedule.id)
    return written(_shown(view), await service.control_seq(), status)


def _given(body: SchedulePolicies) -> dict[str, Any]:
    """The fields of a definition that a request gives."""
    fields = body.model_dump(exclude={"id", "workflow"}, exclude_unset=True)
    given = {name: value for name, value in fields.items() if value is not None or name in _UNSET}
    when = given.get("when")
    if isinstance(when, dict) and when.get("kind") == "every":
        given["when"] = {"since": "1970-01-01T00:00:00+00:00", **when}
    return given


def _shown(view: ScheduleView) -> ScheduleOut:
    return ScheduleOut.model_validate(view_data(view))
