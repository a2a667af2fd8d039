"""Writes: starting, messages, operator verbs. The actor is the caller of the token, and nobody else."""

from __future__ import annotations

from collections.abc import Awaitable

from fastapi import Response
from pydantic import Field, JsonValue

from flowli.codec import load_arguments
from flowli.domain.errors import ResultTimeout, UnknownWorkflow
from flowli.domain.ids import Eid
from flowli_api.answers import written
from flowli_api.dto.common import Written
from flowli_api.dto.requests import Act, Broadcast, Fork, Migrate, Remake, Replay, Signal, Start, Update
from flowli_api.keys import scoped
from flowli_api.params import EidPath, IdempotencyKey
from flowli_api.problems import Problem
from flowli_api.routing import ApiRouter, Caller, ServiceOf, requires
from flowli_api.service import Service

__all__ = ["router"]

router = ApiRouter(tags=["operate"])


class Started(Written):
    """An execution is certain to run."""

    joined: bool = Field(description="An earlier start with the same key had made it.")


class Sent(Written):
    """A message is durable."""

    message_seq: int = Field(description="Its number in the channel.")


class Answered(Written):
    """The workflow's answer to an update.

    Without an answer in time `answered` is false: the update stays, and the same call with the same key waits on.
    """

    answered: bool
    value: JsonValue = None


@router.post("/executions", response_model=Started, status_code=201, operation_id="start_execution")
@requires("executions:start")
async def start_execution(body: Start, caller: Caller, service: ServiceOf, key: IdempotencyKey = None) -> Response:
    """Start an execution."""
    engine, request = service.engine, scoped(caller, key)
    if not caller.sees(body.workflow):
        raise UnknownWorkflow(f"no workflow '{body.workflow}' is registered in this service")
    known = engine.registry.find(body.workflow, body.version)
    args: tuple[object, ...] | list[JsonValue] = body.args
    kwargs: dict[str, object] = {**body.kwargs}
    if known is not None:
        args, kwargs = load_arguments(known.fn, {"args": body.args, "kwargs": body.kwargs}, skip_first=True)
    started = await engine.start_args(
        body.workflow,
        args,
        kwargs,
        key=body.key or request,
        on_conflict=body.on_conflict,
        queue=body.queue,
        priority=body.priority,
        version=body.version,
        timeout=body.timeout_s,
        actor=caller.actor,
        announced=True,
        request=request,
    )
    service.logged(caller, "start", started.eid)
    eid, seq = str(started.eid), started.control_seq
    seq = await service.control_seq() if seq is None else seq
    made = Started(eid=eid, joined=started.joined, control_seq=seq)
    return written(made, seq, 200 if started.joined else 201, {"location": f"/v1/executions/{eid}"})


@router.post("/executions/{eid}/signals", response_model=Sent, operation_id="signal_execution")
@requires("executions:signal")
async def signal_execution(
    eid: EidPath, body: Signal, caller: Caller, service: ServiceOf, key: IdempotencyKey = None
) -> Response:
    """Send a message to an execution. One that it does not yet wait for is kept."""
    await service.reach(caller, eid)
    engine_key = scoped(caller, key)
    number = await service.engine.signal(
        eid, body.channel, body.payload, key=engine_key, correlation=body.correlation, actor=caller.actor
    )
    seq = await service.acted(caller, "signal", eid, body.channel, engine_key)
    return written(Sent(eid=str(eid), message_seq=number, control_seq=seq), seq)


@router.post("/broadcasts", response_model=Sent, operation_id="broadcast")
@requires("executions:signal")
async def broadcast(body: Broadcast, caller: Caller, service: ServiceOf, key: IdempotencyKey = None) -> Response:
    """Send a message to everyone who receives on a global channel."""
    if caller.workflows is not None:
        raise Problem("forbidden", "A broadcast reaches executions of every workflow; the caller has some only.")
    engine_key = scoped(caller, key)
    number = await service.engine.broadcast(
        body.channel, body.payload, key=engine_key, correlation=body.correlation, actor=caller.actor
    )
    seq = await service.acted(caller, "broadcast", None, body.channel, engine_key)
    return written(Sent(message_seq=number, control_seq=seq), seq)


@router.post("/executions/{eid}/updates", response_model=Answered, operation_id="update_execution")
@requires("executions:signal")
async def update_execution(
    eid: EidPath, body: Update, caller: Caller, service: ServiceOf, key: IdempotencyKey = None
) -> Response:
    """Ask an execution for something, and wait for its answer. The same call with the same key waits on."""
    await service.reach(caller, eid)
    engine_key = scoped(caller, key)
    timeout = min(body.timeout_s, service.config.max_wait_s)
    try:
        value = await service.engine.update(
            eid, body.name, body.payload, timeout=timeout, key=engine_key, actor=caller.actor
        )
    except ResultTimeout:
        seq = await service.acted(caller, "update", eid, body.name, engine_key)
        return written(Answered(eid=str(eid), answered=False, control_seq=seq), seq, 202)
    seq = await service.acted(caller, "update", eid, body.name, engine_key)
    shown = value if caller.may("values:read") else None
    return written(Answered(eid=str(eid), answered=True, value=shown, control_seq=seq), seq)


@router.post("/executions/{eid}/cancel", response_model=Written, status_code=202, operation_id="cancel_execution")
@requires("executions:cancel")
async def cancel_execution(
    eid: EidPath, body: Act, caller: Caller, service: ServiceOf, key: IdempotencyKey = None
) -> Response:
    """Ask for the cancel of an execution: its code is told and its clean-up runs."""
    await service.reach(caller, eid)
    call = service.engine.cancel(eid, body.reason, key=scoped(caller, key), actor=caller.actor)
    return await _done(service, caller, "cancel", eid, call)


@router.post("/executions/{eid}/terminate", response_model=Written, operation_id="terminate_execution")
@requires("executions:operate")
async def terminate_execution(
    eid: EidPath, body: Act, caller: Caller, service: ServiceOf, key: IdempotencyKey = None
) -> Response:
    """End an execution as cancelled without running its code."""
    await service.reach(caller, eid)
    call = service.engine.terminate(eid, body.reason, key=scoped(caller, key), actor=caller.actor)
    return await _done(service, caller, "terminate", eid, call, 200)


@router.post("/executions/{eid}/pause", response_model=Written, status_code=202, operation_id="pause_execution")
@requires("executions:operate")
async def pause_execution(
    eid: EidPath, body: Act, caller: Caller, service: ServiceOf, key: IdempotencyKey = None
) -> Response:
    """Ask that an execution not go on until it is resumed."""
    await service.reach(caller, eid)
    call = service.engine.pause(eid, body.reason, key=scoped(caller, key), actor=caller.actor)
    return await _done(service, caller, "pause", eid, call)


@router.post("/executions/{eid}/resume", response_model=Written, status_code=202, operation_id="resume_execution")
@requires("executions:operate")
async def resume_execution(
    eid: EidPath, body: Act, caller: Caller, service: ServiceOf, key: IdempotencyKey = None
) -> Response:
    """Let a paused execution go on, and try a parked one again."""
    await service.reach(caller, eid)
    call = service.engine.resume(eid, body.reason, key=scoped(caller, key), actor=caller.actor)
    return await _done(service, caller, "resume", eid, call)


@router.post("/executions/{eid}/migrate", response_model=Written, operation_id="migrate_execution")
@requires("executions:migrate")
async def migrate_execution(
    eid: EidPath, body: Migrate, caller: Caller, service: ServiceOf, key: IdempotencyKey = None
) -> Response:
    """Have an execution run on by another version of its workflow."""
    await service.reach(caller, eid)
    call = service.engine.migrate(eid, body.version, body.reason, key=scoped(caller, key), actor=caller.actor)
    return await _done(service, caller, "migrate", eid, call, 200)


@router.post("/executions/{eid}/fork", response_model=Written, status_code=201, operation_id="fork_execution")
@requires("executions:operate")
async def fork_execution(
    eid: EidPath, body: Fork, caller: Caller, service: ServiceOf, key: IdempotencyKey = None
) -> Response:
    """Start a new execution that goes on from a frame of a finished one."""
    await service.reach(caller, eid)
    made = await service.engine.fork(
        eid,
        body.from_fid,
        body.reason,
        allow_irreversible=body.allow_irreversible,
        key=scoped(caller, key),
        actor=caller.actor,
    )
    return await _made(service, caller, "fork", made)


@router.post("/executions/{eid}/retry", response_model=Written, status_code=201, operation_id="retry_execution")
@requires("executions:operate")
async def retry_execution(
    eid: EidPath, body: Remake, caller: Caller, service: ServiceOf, key: IdempotencyKey = None
) -> Response:
    """Fork a failed execution from the frame that failed."""
    await service.reach(caller, eid)
    made = await service.engine.retry(
        eid, body.reason, allow_irreversible=body.allow_irreversible, key=scoped(caller, key), actor=caller.actor
    )
    return await _made(service, caller, "retry", made)


@router.post("/executions/{eid}/replay", response_model=Written, status_code=201, operation_id="replay_execution")
@requires("executions:operate")
async def replay_execution(
    eid: EidPath, body: Replay, caller: Caller, service: ServiceOf, key: IdempotencyKey = None
) -> Response:
    """Start a new execution with the input of a finished one."""
    await service.reach(caller, eid)
    made = await service.engine.replay(
        eid,
        body.reason,
        version=body.version,
        allow_irreversible=body.allow_irreversible,
        key=scoped(caller, key),
        actor=caller.actor,
    )
    return await _made(service, caller, "replay", made)


@router.post("/executions/{eid}/erase", response_model=Written, operation_id="erase_execution")
@requires("executions:erase")
async def erase_execution(
    eid: EidPath, body: Act, caller: Caller, service: ServiceOf, key: IdempotencyKey = None
) -> Response:
    """Remove the payloads of a finished execution for good."""
    await service.reach(caller, eid)
    call = service.engine.erase(eid, body.reason, key=scoped(caller, key), actor=caller.actor)
    return await _done(service, caller, "erase", eid, call, 200)


async def _done(
    service: Service, caller: Caller, verb: str, eid: Eid, call: Awaitable[None], status: int = 202
) -> Response:
    await call
    service.logged(caller, verb, eid)
    seq = await service.control_seq()
    return written(Written(eid=str(eid), control_seq=seq), seq, status)


async def _made(service: Service, caller: Caller, verb: str, eid: Eid) -> Response:
    service.logged(caller, verb, eid)
    seq = await service.control_seq()
    location = {"location": f"/v1/executions/{eid}"}
    return written(Written(eid=str(eid), control_seq=seq), seq, 201, location)
