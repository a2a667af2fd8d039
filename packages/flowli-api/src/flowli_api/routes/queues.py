"""Queues, tasks, dead letters, timers."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query, Request, Response

from flowli.domain.tasks import DeadTask
from flowli.runtime.signs import queue_sign, seen
from flowli_api.answers import answer, written
from flowli_api.dto.common import Written, instant
from flowli_api.dto.queues import (
    DeadOut,
    DeadPage,
    QueueOut,
    QueuePage,
    SettingsOut,
    TaskOut,
    TaskPage,
    TimerOut,
    TimerPage,
)
from flowli_api.dto.requests import Act, DeadLetter, Limits, Pause
from flowli_api.keys import scoped
from flowli_api.params import EidValue, IdempotencyKey, NamePath
from flowli_api.problems import Problem
from flowli_api.routing import ApiRouter, Caller, ServiceOf, requires
from flowli_api.service import Service

__all__ = ["router"]

router = ApiRouter(tags=["queues"])

_COUNTED_TO = 1000
_Limit = Annotated[int, Query(ge=1, le=1000)]


class SettingsWritten(Written):
    """The settings of a queue as they are now."""

    settings: SettingsOut


class DeadWritten(Written):
    """Whether the task was still among the dead."""

    found: bool


@router.get("/queues", response_model=QueuePage, operation_id="list_queues")
@requires("queues:read")
async def list_queues(request: Request, service: ServiceOf) -> Response:
    """The queues that hold anything, and those of this process's workflows."""
    named = {workflow.queue for workflow in service.engine.registry}
    names = sorted({*named, *await service.engine.ports.queue.queues()})
    return answer(request, QueuePage(items=[await _queue(service, name) for name in names]))


@router.get("/queues/{queue}", response_model=QueueOut, operation_id="read_queue")
@requires("queues:read")
async def read_queue(queue: NamePath, request: Request, service: ServiceOf) -> Response:
    """One queue: its settings, what is in it, who takes from it."""
    return answer(request, await _queue(service, queue))


@router.get("/queues/{queue}/tasks", response_model=TaskPage, operation_id="list_tasks")
@requires("queues:read")
async def list_tasks(
    queue: NamePath, request: Request, caller: Caller, service: ServiceOf, limit: _Limit = 100
) -> Response:
    """The first tasks of a queue, ready ones before delayed ones."""
    listed = await service.engine.ports.queue.list(queue, limit=limit)
    views = [view for view in listed if await service.visible(caller, view.task.target)]
    values = caller.may("values:read")
    return answer(request, TaskPage(items=[TaskOut.of(view, values) for view in views], values_hidden=not values))


@router.post("/queues/{queue}/pause", response_model=SettingsWritten, operation_id="pause_queue")
@requires("executions:operate")
async def pause_queue(
    queue: NamePath, body: Pause, caller: Caller, service: ServiceOf, key: IdempotencyKey = None
) -> Response:
    """No worker takes a task from the queue until it is resumed."""
    await service.engine.pause_queue(queue, body.reason, key=scoped(caller, key), actor=caller.actor)
    return await _configured(service, caller, "pause_queue", queue)


@router.post("/queues/{queue}/resume", response_model=SettingsWritten, operation_id="resume_queue")
@requires("executions:operate")
async def resume_queue(
    queue: NamePath, body: Act, caller: Caller, service: ServiceOf, key: IdempotencyKey = None
) -> Response:
    """Workers take tasks from the queue again."""
    await service.engine.resume_queue(queue, body.reason, key=scoped(caller, key), actor=caller.actor)
    return await _configured(service, caller, "resume_queue", queue)


@router.put("/queues/{queue}/limits", response_model=SettingsWritten, operation_id="limit_queue")
@requires("executions:operate")
async def limit_queue(
    queue: NamePath, body: Limits, caller: Caller, service: ServiceOf, key: IdempotencyKey = None
) -> Response:
    """Limit a queue in the whole fleet."""
    await service.engine.limit_queue(
        queue,
        concurrency=body.concurrency,
        rate=body.rate,
        rate_period_s=body.rate_period_s,
        reason=body.reason,
        key=scoped(caller, key),
        actor=caller.actor,
    )
    return await _configured(service, caller, "limit_queue", queue)


@router.get("/dead-letters", response_model=DeadPage, operation_id="list_dead_letters")
@requires("queues:read")
async def list_dead_letters(
    request: Request, caller: Caller, service: ServiceOf, eid: EidValue | None = None, limit: _Limit = 100
) -> Response:
    """The tasks of all queues that were set aside, or those of one execution."""
    return await _dead(service, caller, request, await service.engine.dead_letters(eid=eid, limit=limit))


@router.get("/queues/{queue}/dead-letters", response_model=DeadPage, operation_id="list_dead_letters_of_queue")
@requires("queues:read")
async def list_dead_letters_of_queue(
    queue: NamePath, request: Request, caller: Caller, service: ServiceOf, limit: _Limit = 100
) -> Response:
    """The tasks of a queue that were set aside."""
    return await _dead(service, caller, request, await service.engine.dead_letters(queue, limit=limit))


@router.post("/queues/{queue}/dead-letters/retry", response_model=DeadWritten, operation_id="retry_dead_letter")
@requires("executions:operate")
async def retry_dead_letter(
    queue: NamePath, body: DeadLetter, caller: Caller, service: ServiceOf, key: IdempotencyKey = None
) -> Response:
    """Put a task that was set aside back into its queue."""
    dead = await _letter(service, caller, queue, body)
    found = await service.engine.retry_dead(dead, body.reason, key=scoped(caller, key), actor=caller.actor)
    return await _buried(service, caller, "retry_dead", dead, found)


@router.post("/queues/{queue}/dead-letters/drop", response_model=DeadWritten, operation_id="drop_dead_letter")
@requires("executions:operate")
async def drop_dead_letter(
    queue: NamePath, body: DeadLetter, caller: Caller, service: ServiceOf, key: IdempotencyKey = None
) -> Response:
    """Remove a task that was set aside for good."""
    dead = await _letter(service, caller, queue, body)
    found = await service.engine.drop_dead(dead, body.reason, key=scoped(caller, key), actor=caller.actor)
    return await _buried(service, caller, "drop_dead", dead, found)


@router.get("/timers", response_model=TimerPage, operation_id="list_timers")
@requires("queues:read")
async def list_timers(request: Request, caller: Caller, service: ServiceOf, limit: _Limit = 100) -> Response:
    """The first timers, due or not."""
    pending = await service.engine.ports.timers.pending(limit=limit)
    shown = [TimerOut.of(one) for one in pending if await service.visible(caller, one.eid)]
    return answer(request, TimerPage(items=shown))


async def _queue(service: Service, name: str) -> QueueOut:
    ports = service.engine.ports
    views = await ports.queue.list(name, limit=_COUNTED_TO)
    worker = await seen(ports, queue_sign(name))
    return QueueOut(
        name=name,
        settings=SettingsOut.of(await service.engine.queue_settings(name)),
        tasks=len(views),
        held=sum(view.holder is not None for view in views),
        delayed=sum(view.delayed for view in views),
        dead=len(await ports.queue.dead(name, limit=_COUNTED_TO)),
        counted_to=_COUNTED_TO,
        worker_seen_at=None if worker is None else instant(worker.at),
    )


async def _configured(service: Service, caller: Caller, verb: str, queue: str) -> Response:
    service.logged(caller, verb, queue=queue)
    seq = await service.control_seq()
    settings = SettingsOut.of(await service.engine.queue_settings(queue))
    return written(SettingsWritten(settings=settings, control_seq=seq), seq)


async def _dead(service: Service, caller: Caller, request: Request, found: list[DeadTask]) -> Response:
    values = caller.may("values:read")
    shown = [DeadOut.dead(one, values) for one in found if await service.visible(caller, one.task.target)]
    return answer(request, DeadPage(items=shown, values_hidden=not values))


async def _letter(service: Service, caller: Caller, queue: str, body: DeadLetter) -> DeadTask:
    found = [one for one in await service.engine.dead_letters(queue, limit=1000) if one.task.task_id == body.task_id]
    found = [one for one in found if body.died_at in (None, str(one.died_at))]
    if not found:
        raise Problem("not_found", f"Queue '{queue}' has no dead letter with that task id.")
    await service.reach(caller, found[0].task.target)
    return found[0]


async def _buried(service: Service, caller: Caller, verb: str, dead: DeadTask, found: bool) -> Response:
    service.logged(caller, verb, dead.task.target)
    seq = await service.control_seq()
    return written(DeadWritten(eid=str(dead.task.target), found=found, control_seq=seq), seq)
