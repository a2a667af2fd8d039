"""Firing a timer.

1. Enqueue a RESUME for it, on the queue the timer names, at its due time: one task, however often the timer is fired.
   *Crash after it*: the timer is fired again; a RESUME that was acked meanwhile is put once more, and acked unread,
   since what it names is journaled.
2. Delete the timer, now that the RESUME is durable.

A timer of the execution as a whole leads to a cancel instead of a RESUME (``timeout``).
"""

from __future__ import annotations

from flowli.domain.provenance import Provenance
from flowli.domain.timers import Timer
from flowli.runtime.protocols.timeout import is_execution_timeout, time_out
from flowli.runtime.protocols.wake import TimerCause, resume_task
from flowli.runtime.services import Services

__all__ = ["fire"]


async def fire(services: Services, timer: Timer, by: Provenance) -> bool:
    """Fire a timer that is due; False if it is kept, for an execution that is still to be started."""
    if is_execution_timeout(timer):
        done = await time_out(services, timer, by)
        if done:
            await services.ports.timers.cancel(timer)
        return done
    await services.ports.queue.enqueue(
        resume_task(
            queue=timer.queue,
            priority=timer.priority,
            eid=timer.eid,
            cause=TimerCause(timer.timer_id),
            at=timer.due_at,
            by=by,
        )
    )
    await services.ports.timers.cancel(timer)
    services.hub.wake_queue(timer.queue)
    services.hub.wake_execution(timer.eid, TimerCause(timer.timer_id).key)
    return True
