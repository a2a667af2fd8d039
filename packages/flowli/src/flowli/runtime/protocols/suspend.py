"""Suspending: the execution goes to sleep, and nothing that wakes it can be missed.

1. Wait markers on the channels waited on, and the timer of the earliest instant. A marker that stands since an earlier
   suspension is left as it is. *Crash after it*: the execution is still owned; its task is taken again, and the
   takeover waits again. A marker that nobody waits for leads to a RESUME that is acked.
2. Look again at every channel and at the requests in the lease. Senders append first and read the marker second, so
   one of the two sees the other. If something has come, the execution runs on.
3. Commit ``frame.suspended`` for the frames that wait anew, and ``execution.suspended``, which names what is waited
   on anew and little of the rest. This entry is the release: the lease of this epoch is free, nothing is written for
   it. *Crash after it*: only the twin is missing, which the sweeper posts; the task is taken again and acked.
4. Remove the markers and the timer that nobody waits for any more, and the RESUME tasks of messages and requests that
   were dealt with before their task was taken. *Crash before it*: the sweeper clears the markers, a timer fires for
   nothing, a RESUME is acked unread.
5. Post the control twin; 6. when it is durable, ack the tasks (both by the worker).

There is nothing to look at for children: a child's RESUME follows its end and stays until its outcome is journaled.
"""

from __future__ import annotations

import asyncio
from itertools import islice
from typing import TYPE_CHECKING

from flowli.domain.channels import WaitMarker
from flowli.domain.entries import ExecutionSuspended, FrameSuspended
from flowli.domain.errors import LeaseLost
from flowli.domain.provenance import Provenance
from flowli.domain.timers import Timer
from flowli.domain.waits import On
from flowli.runtime.owner.waits import due_at, is_waiting, waits_on
from flowli.runtime.protocols.wake import Cause, resume_task

if TYPE_CHECKING:
    from flowli.runtime.owner.owner import Owner

__all__ = ["mark", "release", "suspend", "tidy"]

_NAMED = 10


async def mark(owner: Owner) -> None:
    """Write the markers that do not stand yet.

    Raises:
        LeaseLost: a marker of a later owner stands.
    """
    execution, epoch = owner.execution, owner.guard.epoch

    async def one(channel: str) -> None:
        fids = tuple(frame.fid for frame in owner.waits.receivers(channel))
        marker = WaitMarker(channel, execution.eid, epoch, fids, execution.queue, execution.priority)
        if not await owner.services.ports.channel.mark(marker):
            raise LeaseLost(f"a marker of a later owner stands on channel {channel}")
        owner.traces.marked[channel] = epoch

    await asyncio.gather(*map(one, owner.traces.unmarked(owner.waits.channels)))


async def suspend(owner: Owner) -> bool:
    """Suspend the quiet execution; False if something came meanwhile and it runs on."""
    await owner.patiently(lambda: asyncio.gather(mark(owner), _set_timer(owner)))
    ownership, eid = owner.services.ports.ownership, owner.execution.eid
    lease, _ = await owner.patiently(lambda: asyncio.gather(ownership.read(eid), owner.channels.look()))
    if lease is not None and owner.listener.take_requests(lease.requests):
        return False
    if owner.something_came():
        return False
    await release(owner)
    return True


async def release(owner: Owner, on: tuple[On, ...] | None = None) -> None:
    """Steps 3 and 4: the execution waits on ``on``; by default on what all its frames wait on."""
    session, guard = owner.session, owner.guard
    owner.sealed = True
    for frame in session.frames.values():
        if frame.launched and is_waiting(frame):
            waits = waits_on(frame)
            if frame.waits_on != waits:
                session.append(FrameSuspended(frame.fid, frame.attempt, waits, due_at(frame)), frame.attempt)
                frame.waits_on = waits
    session.append(_all_waits(owner) if on is None else ExecutionSuspended(on, guard.epoch))
    await owner.commits.flush()
    await owner.patiently(lambda: tidy(owner))


def _all_waits(owner: Owner) -> ExecutionSuspended:
    """Names what no earlier entry has named, and of the rest only so much that an operator sees something of it.

    A fan-in of n suspends up to n times: naming all that is left each time would be O(n * n) bytes.
    """
    frames = sorted(owner.session.frames.values(), key=lambda frame: frame.fid)
    waits, known = dict.fromkeys(waits_on(frame) for frame in frames), owner.session.fold.named
    named = {on for on in waits if on not in known}
    named.update(islice((on for on in waits if on in known), max(0, _NAMED - len(named))))
    return ExecutionSuspended(tuple(on for on in waits if on in named), owner.guard.epoch, len(waits) - len(named))


async def _set_timer(owner: Owner) -> None:
    due = owner.waits.next_due_frame()
    if due is None:
        return
    instant = due_at(due)
    assert instant is not None
    timer = Timer(instant, owner.execution.eid, due.fid, owner.execution.queue, owner.execution.priority)
    if timer not in owner.traces.timers:
        await owner.services.ports.timers.set(timer)
        owner.traces.timers.append(timer)


async def tidy(owner: Owner) -> None:
    """Step 4; also after an end."""
    traces, ports, eid = owner.traces, owner.services.ports, owner.execution.eid
    suspended = owner.session.fold.suspended
    # who is paused, handed over or has ended is not to be woken: whoever goes on looks at everything again
    asleep = suspended is not None and suspended.on and owner.session.fold.parked is None
    waited = set(owner.waits.channels) if asleep else set()
    needed = owner.waits.next_due() if asleep else None

    marked = {*traces.marked, *(owner.waits.known_channels if traces.unclean else ())}

    async def unmark(channel: str) -> None:
        await ports.channel.unmark(channel, eid, up_to_epoch=owner.guard.epoch)
        traces.marked.pop(channel, None)

    async def cancel(timer: Timer) -> None:
        await ports.timers.cancel(timer)
        traces.timers.remove(timer)

    if marked or traces.timers or traces.consumed:
        await asyncio.gather(
            *(unmark(channel) for channel in sorted(marked - waited)),
            *(cancel(timer) for timer in traces.timers if timer.due_at != needed),
            _withdraw(owner),
        )
    traces.unclean = False


async def _withdraw(owner: Owner) -> None:
    """Remove the RESUME tasks of what this owner found by itself."""
    execution, traces = owner.execution, owner.traces

    async def one(cause: Cause, by: Provenance) -> None:
        task = resume_task(
            queue=execution.queue,
            priority=execution.priority,
            eid=execution.eid,
            cause=cause,
            at=by.at,
            by=by,
        )
        await owner.services.ports.queue.withdraw(task)
        traces.consumed.pop(cause.key, None)

    await asyncio.gather(*(one(cause, by) for cause, by in traces.consumed.values()))
