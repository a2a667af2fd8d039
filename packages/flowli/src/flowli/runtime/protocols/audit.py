"""The audit of one execution that waits: finds what is satisfied and what was left half done. It may be done twice.

1. Read the journal. An execution that no longer waits, or has ended, only misses its twins: post them.
2. Read the lease. For each request in it that is not journaled, enqueue its RESUME (a request whose sender crashed).
3. For each thing it waits on, look whether that has come: a message after the last one consumed, a missing wait
   marker, the end of a child, the outcome of a detached step or that its task is gone, a timer that is long due. If
   any has, enqueue a RESUME ``audit:{seq}`` at the instant of the last entry.
4. Clear the wait markers of the channels in its journal that the last suspension does not name, if they are not of a
   later epoch: an owner that crashed between writing a marker and suspending left them.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from flowli.domain.ids import Eid
from flowli.domain.memo import Frame
from flowli.domain.ports import Lease
from flowli.domain.provenance import Provenance
from flowli.domain.waits import On, OnChannel, OnChild, OnOperator, OnStep, OnTimer
from flowli.runtime.protocols.after_end import waited_on
from flowli.runtime.protocols.ask import request_task
from flowli.runtime.protocols.detached import detached_queue, read_step_end, run_of
from flowli.runtime.protocols.recover import repair_twins, vacant
from flowli.runtime.protocols.standing import Standing, find_standing
from flowli.runtime.protocols.wake import AuditCause, resume_task
from flowli.runtime.services import Services

__all__ = ["Audited", "audit"]

_SEARCHED = 10_000
_TIMER_GRACE = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Audited:
    """What the audit of one execution did.

    Attributes:
        woken: RESUME tasks put.
        twins: missing twins were posted.
        markers: wait markers cleared.
    """

    woken: int = 0
    twins: bool = False
    markers: int = 0


async def audit(services: Services, eid: Eid, *, known_seq: int, by: Provenance) -> Audited:
    """Look at one waiting execution (steps 1 to 4)."""
    standing = await find_standing(services.ports, eid)
    if standing is None:
        return Audited()
    repaired = await repair_twins(services, standing, known_seq=known_seq)
    if standing.fold.suspended is None:
        return Audited(twins=repaired)
    lease = await services.ports.ownership.read(eid)
    woken = await _wake_for_requests(services, standing, lease)
    if not woken and await _satisfied(services, standing):
        woken = await _wake(services, standing, by)
    owned = lease is not None and lease.epoch > standing.fold.epoch and not vacant(lease)
    markers = 0 if owned else await _clear_markers(services, standing)
    return Audited(woken, repaired, markers)


async def _wake_for_requests(services: Services, standing: Standing, lease: Lease | None) -> int:
    """A ``wake`` needs none: the task that left it is still in the queue."""
    requests = lease.requests if lease is not None else ()
    waiting = [r for r in requests if r.verb != "wake" and r.id not in standing.fold.applied]
    put = [await services.ports.queue.enqueue(request_task(standing.execution, request)) for request in waiting]
    if any(put):
        services.hub.wake_queue(standing.execution.queue)
    return sum(put)


async def _satisfied(services: Services, standing: Standing) -> bool:
    waits = standing.fold.waits
    if any(isinstance(on, OnOperator) for on in waits):
        return False
    if not waits:
        return True
    for on in waits:
        if await _has_come(services, standing, on):
            return True
    return False


async def _has_come(services: Services, standing: Standing, on: On) -> bool:
    ports, eid = services.ports, standing.execution.eid
    match on:
        case OnChannel(channel):
            end = await ports.channel.end(channel)
            last, _ = standing.fold.last_consumed.get(channel, (0, 0))
            return end.seq > last or await ports.channel.marker(channel, eid) is None
        case OnChild(child):
            found = await find_standing(ports, child)
            return found is None or found.ended
        case OnStep(fid):
            frame = standing.fold.frames.get(fid)
            return frame is None or await _step_is_over(services, standing, frame)
        case OnTimer(due_at):
            return due_at + _TIMER_GRACE < services.world.now()
        case _:
            return False


async def _step_is_over(services: Services, standing: Standing, frame: Frame) -> bool:
    """Whether a detached step has its outcome, or its task is gone: then the owner puts it again."""
    run, queue = run_of(standing.execution.eid, frame), detached_queue(frame)
    if queue is None or await read_step_end(services.ports, run) is not None:
        return True
    views = await services.ports.queue.find(queue, run.eid, limit=_SEARCHED)
    return all(view.task.key != run.cause.detail for view in views)


async def _wake(services: Services, standing: Standing, by: Provenance) -> int:
    execution = standing.execution
    put = await services.ports.queue.enqueue(
        resume_task(
            queue=execution.queue,
            priority=execution.priority,
            eid=execution.eid,
            cause=AuditCause(standing.fold.seq),
            at=standing.at,
            by=by,
        )
    )
    services.hub.wake_queue(execution.queue)
    return int(put)


async def _clear_markers(services: Services, standing: Standing) -> int:
    named = {on.channel for on in standing.fold.waits if isinstance(on, OnChannel)}
    seen = {channel for entry in standing.entries for channel in waited_on(entry)} - named
    cleared = [
        await services.ports.channel.unmark(channel, standing.execution.eid, up_to_epoch=standing.fold.epoch)
        for channel in sorted(seen)
    ]
    return sum(cleared)
