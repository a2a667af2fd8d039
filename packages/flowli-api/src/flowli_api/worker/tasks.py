"""What a consumer does with tasks, on its behalf. The order is that of ``flowli.runtime.Consumer``."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

import structlog

from flowli import codec
from flowli.domain.channels import Message, scoped_channel
from flowli.domain.delegate import Answer, Delegate
from flowli.domain.entries import START
from flowli.domain.errors import BackendError, InvalidName, InvalidValue, NotAllowed, UnknownExecution
from flowli.domain.ids import parse_eid
from flowli.domain.tasks import TaskKind, TaskLease
from flowli.runtime.protocols.deliver import check_receiver, deliver, sent_before
from flowli_api.auth.identity import Identity
from flowli_api.dto.tasks import TakenOut
from flowli_api.service import Service
from flowli_api.worker.seal import Held

__all__ = ["answered", "send", "take", "wanted"]

_log = structlog.get_logger("flowli.api.worker")
_FOREIGN_DELAY_S = 30.0


async def take(
    service: Service,
    caller: Identity,
    queue: str,
    limit: int,
    ttl_s: float,
    wait_s: float,
    gone: Callable[[], Awaitable[bool]],
) -> list[TakenOut]:
    """Tasks for a consumer, waited for if there are none.

    Args:
        gone: whether the caller has hung up: then nothing is taken any more.
    """
    ports, world, hub = service.engine.ports, service.world, service.engine.hub
    until_s = world.monotonic_s() + wait_s
    while True:
        mark = hub.queue_mark([queue])
        holder = f"{caller.actor.id}/{world.token()}"
        leases = await ports.queue.dequeue(queue, holder, ttl_s, limit=limit)
        taken = [one for lease in leases if (one := await _handed(service, caller, lease)) is not None]
        left_s = until_s - world.monotonic_s()
        if taken or (left_s <= 0 and not leases):
            return taken
        if not leases:
            await _rest(service, queue, min(left_s, max(ports.poll_hint_s, 0.05)), mark)
        if service.closing.is_set() or await gone():
            return []


async def _rest(service: Service, queue: str, seconds: float, mark: int) -> None:
    """Until something is put on the queue here, the process shuts down, or it is time to look again."""
    woken = asyncio.ensure_future(service.engine.hub.wait_queue([queue], seconds, mark=mark))
    closing = asyncio.ensure_future(service.closing.wait())
    try:
        await asyncio.wait({woken, closing}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        woken.cancel()
        closing.cancel()


async def _handed(service: Service, caller: Identity, lease: TaskLease) -> TakenOut | None:
    """A taken task as the consumer sees it; None if it is none for consumers, or was answered before."""
    queue, task = service.engine.ports.queue, lease.task
    if task.kind is not TaskKind.DELEGATE:
        _log.error("a task on this queue is not for consumers", queue=task.queue, task=task.task_id)
        await queue.nack(lease, delay_s=_FOREIGN_DELAY_S)
        return None
    try:
        delegate = codec.load(Delegate, task.payload)
        reply = None if delegate.reply_to is None else (str(delegate.reply_to.eid), delegate.reply_to.channel)
        held = Held(lease, reply, delegate.correlation)
        channel = _channel(held)
    except (InvalidValue, InvalidName) as error:
        await queue.bury(lease, f"its payload is not that of a delegate: {error}", service.world.now())
        return None
    if lease.epoch > 1 and channel is not None and await _answered_before(service, caller, held, channel):
        await queue.ack([lease])  # its consumer crashed between the answer and the ack
        return None
    return TakenOut(
        token=await service.seal.close_task(caller, held),
        task_id=task.task_id,
        eid=str(task.target),
        queue=task.queue,
        payload=delegate.payload,
        correlation=delegate.correlation,
        reply=channel is not None,
        delivery=lease.epoch,
        ttl_s=lease.ttl_s,
    )


async def send(service: Service, caller: Identity, held: Held, answer: Answer) -> bool:
    """Deliver an answer, once however often it is asked for; False if nobody waits for one."""
    channel = _channel(held)
    if channel is None or held.reply is None:
        return False
    by = service.by(caller)
    message = Message(held.lease.task.task_id, channel, answer.to_data(), by, held.correlation)
    eid = parse_eid(held.reply[0])
    await deliver(service.engine.ports, service.engine.hub, message, eid=eid, by=by, search_after=START)
    return True


def answered(held: Held, lease: TaskLease) -> Held:
    """The same task after a renewal."""
    return replace(held, lease=lease)


async def wanted(service: Service, held: Held) -> bool:
    """Whether an answer could still be received."""
    channel = _channel(held)
    if channel is None or held.reply is None:
        return True
    try:
        await check_receiver(service.engine.ports, parse_eid(held.reply[0]), channel)
    except (NotAllowed, UnknownExecution):
        return False
    except BackendError:
        return True  # unknown; the next renewal tells
    return True


async def _answered_before(service: Service, caller: Identity, held: Held, channel: str) -> bool:
    message = Message(held.lease.task.task_id, channel, None, service.by(caller))
    return await sent_before(service.engine.ports, message) is not None


def _channel(held: Held) -> str | None:
    """The full name of the reply channel; an envelope may hold it, or the execution's own name for it."""
    if held.reply is None:
        return None
    eid, name = held.reply
    return scoped_channel(parse_eid(eid), name.removeprefix(f"{eid}."))
