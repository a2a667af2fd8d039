"""Worker plane: tasks. A token is minted with each taking; whoever shows it is authorised for the queue of its task."""

from __future__ import annotations

from typing import Annotated

from fastapi import Header, Query, Request, Response

from flowli.domain.delegate import Answer, AnswerOutcome
from flowli.domain.errors import ErrorInfo
from flowli_api.answers import written
from flowli_api.dto.tasks import (
    Ack,
    AnswerOut,
    Deliver,
    Dequeue,
    EvidenceWritten,
    HeldOut,
    Nack,
    Renew,
    Renewed,
    State,
    StateCleared,
    StateOut,
    TakenPage,
)
from flowli_api.params import IdempotencyKey, NamePath
from flowli_api.routing import KNOWN, ApiRouter, Caller, ServiceOf, requires
from flowli_api.service import Service
from flowli_api.worker.evidence import MOST_PARTS, keep
from flowli_api.worker.seal import Held
from flowli_api.worker.states import clear_state, look_at_state, take_state, write_state
from flowli_api.worker.tasks import answered, send, take, wanted

__all__ = ["router"]

router = ApiRouter(tags=["worker"])

_What = Annotated[str, Query(pattern=r"^[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}$", description="Names the body.")]
_Part = Annotated[int, Query(ge=1, le=MOST_PARTS, description="Of a body that is sent in parts, from 1.")]
_BODY = {"requestBody": {"required": True, "content": {"application/octet-stream": {"schema": {"type": "string"}}}}}


@router.post("/queues/{queue}/dequeue", response_model=TakenPage, operation_id="dequeue_tasks")
@requires("tasks:consume:{queue}")
async def dequeue_tasks(
    queue: NamePath, body: Dequeue, request: Request, caller: Caller, service: ServiceOf, key: IdempotencyKey = None
) -> Response:
    """Take delegated tasks, waiting for some if there are none. Renew each before a third of its ttl is over.

    A taking cannot be repeated: an idempotency key changes nothing, and what is lost on the way comes back when its ttl
    is over.
    """
    wait_s = min(body.wait_s, service.config.max_wait_s)
    found = await take(service, caller, queue, body.limit, body.ttl_s, wait_s, request.is_disconnected)
    for one in found:
        service.logged(caller, "dequeue", task=one.task_id)
    return written(TakenPage(items=found), None)


@router.post("/tasks/renew", response_model=Renewed, operation_id="renew_task")
@requires(KNOWN)
async def renew_task(body: Renew, caller: Caller, service: ServiceOf, key: IdempotencyKey = None) -> Response:
    """Show that the holder lives; `lease_lost` means: stop the work."""
    held = await _held(service, caller, body.token)
    lease = await service.engine.ports.queue.renew(held.lease)
    token = await service.seal.close_task(caller, answered(held, lease))
    return written(Renewed(token=token, ttl_s=lease.ttl_s, wanted=await wanted(service, held)), None)


@router.post("/tasks/ack", response_model=HeldOut, operation_id="ack_tasks")
@requires(KNOWN)
async def ack_tasks(body: Ack, caller: Caller, service: ServiceOf, key: IdempotencyKey = None) -> Response:
    """Remove tasks that are done. One that was lost meanwhile is left alone."""
    held = [await _held(service, caller, token) for token in body.tokens]
    await service.engine.ports.queue.ack([one.lease for one in held])
    names = [one.lease.task.task_id for one in held]
    for name in names:
        service.logged(caller, "ack", task=name)
    return written(HeldOut(task_ids=names), None)


@router.post("/tasks/nack", response_model=HeldOut, operation_id="nack_task")
@requires(KNOWN)
async def nack_task(body: Nack, caller: Caller, service: ServiceOf, key: IdempotencyKey = None) -> Response:
    """Give a task back; it can be taken again after `delay_s`."""
    held = await _held(service, caller, body.token)
    await service.engine.ports.queue.nack(held.lease, delay_s=body.delay_s)
    task = held.lease.task
    service.engine.hub.wake_queue(task.queue)
    service.logged(caller, "nack", task=task.task_id)
    return written(HeldOut(task_ids=[task.task_id]), None)


@router.post("/tasks/deliver", response_model=AnswerOut, operation_id="deliver_answer")
@requires(KNOWN)
async def deliver_answer(body: Deliver, caller: Caller, service: ServiceOf, key: IdempotencyKey = None) -> Response:
    """Answer a task that the caller holds; ack it afterwards, or at once with `ack`. Again changes nothing."""
    held = await _held(service, caller, body.token)
    lease = await service.engine.ports.queue.renew(held.lease)  # who holds it no more is refused
    delivered = await send(service, caller, held, _answer(body))
    task = lease.task
    seq = await service.acted(caller, "deliver", task.target, task.queue, None)
    if body.ack:
        await service.engine.ports.queue.ack([lease])
    return written(AnswerOut(task_id=task.task_id, delivered=delivered, control_seq=seq), seq)


@router.post("/tasks/evidence", response_model=EvidenceWritten, openapi_extra=_BODY, operation_id="put_evidence")
@requires(KNOWN)
async def put_evidence(
    what: _What,
    token: Annotated[str, Header(alias="Flowli-Task", max_length=16_384, description="Token of the task.")],
    request: Request,
    caller: Caller,
    service: ServiceOf,
    part: _Part = 1,
    parts: _Part = 1,
    key: IdempotencyKey = None,
) -> Response:
    """Keep a body beside the execution of a task: a transcript, a diff. The first one of a name stays.

    A body over the limit of a request is sent in parts, the last one last; it is kept whole.
    """
    held = await _held(service, caller, token)
    kept = await keep(service, held, what, await request.body(), part, parts)
    if kept.whole:
        service.logged(caller, "evidence", held.lease.task.target, task=held.lease.task.task_id)
    return written(kept, None)


@router.post("/tasks/state/take", response_model=StateOut, operation_id="take_task_state")
@requires(KNOWN)
async def take_task_state(body: Renew, caller: Caller, service: ServiceOf, key: IdempotencyKey = None) -> Response:
    """What the last consumer left of a task that the caller holds; it can write no more from now on."""
    found = await take_state(service, caller, await _held(service, caller, body.token))
    service.logged(caller, "take_state")
    return written(found, None)


@router.post("/tasks/state", response_model=StateOut, operation_id="write_task_state")
@requires(KNOWN)
async def write_task_state(body: State, caller: Caller, service: ServiceOf, key: IdempotencyKey = None) -> Response:
    """Leave something for whoever goes on with the task; `lease_lost`: somebody does already."""
    return written(await write_state(service, caller, body.token, body.state), None)


@router.post("/tasks/state/look", response_model=StateOut, operation_id="look_at_task_state")
@requires(KNOWN)
async def look_at_task_state(body: Renew, caller: Caller, service: ServiceOf, key: IdempotencyKey = None) -> Response:
    """The state as it stands, whoever has it, and whether the task stands in its queue. Nothing is changed."""
    return written(await look_at_state(service, caller, body.token), None)


@router.post("/tasks/state/clear", response_model=StateCleared, operation_id="clear_task_state")
@requires(KNOWN)
async def clear_task_state(body: Renew, caller: Caller, service: ServiceOf, key: IdempotencyKey = None) -> Response:
    """Remove the state of a task that is done, unless somebody else has taken it."""
    await clear_state(service, caller, body.token)
    return written(StateCleared(), None)


async def _held(service: Service, caller: Caller, token: str) -> Held:
    """The task of a token, if its holder may still work on that queue."""
    held = await service.seal.open_task(caller, token)
    service.guard.check(caller, f"tasks:consume:{held.lease.task.queue}")
    return held


def _answer(body: Deliver) -> Answer:
    if body.error is None:
        return Answer(AnswerOutcome.COMPLETED, body.value)
    return Answer(AnswerOutcome.FAILED, error=ErrorInfo(body.error.type, body.error.message, body.error.traceback))
