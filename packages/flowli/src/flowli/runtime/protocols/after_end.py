"""What follows an end, whoever brought it about. Each step may be done twice.

1. Post the twin to the control log (and, for an end that is found, wait for it). *Crash before it*: the sweeper posts
   it from the journal.
2. Tell the parent (``complete_child``), ask children to cancel that still run and were not started to outlive it, and
   withdraw detached steps.
   *Crash before it*: the task that led to the end is still there, and the worker that takes it finds the end and does
   the same; the audit of the parent finds the end of its child as well.
3. Remove the wait markers, so that senders learn that nobody receives any more, and the timers. *Crash before it*: the
   sweeper clears the markers, a timer fires for nothing.
4. Wake who waits for the end in this process.
"""

from __future__ import annotations

import asyncio

from flowli.domain.entries import ExecutionSuspended, FrameFulfilled, FrameSuspended, JournalEntry
from flowli.domain.execution import Execution
from flowli.domain.frames import FrameKind, FrameStatus
from flowli.domain.ids import child_eid
from flowli.domain.memo import JournalFold
from flowli.domain.provenance import Provenance
from flowli.domain.waits import OnChannel
from flowli.runtime.protocols.cancel_child import cancel_child
from flowli.runtime.protocols.complete_child import tell_parent
from flowli.runtime.protocols.deadline import drop_timeout
from flowli.runtime.protocols.detached import withdraw_steps
from flowli.runtime.protocols.standing import Standing
from flowli.runtime.protocols.twins import twins
from flowli.runtime.services import Services

__all__ = ["after_end", "drop_timeout", "spread_end", "waited_on"]


async def after_end(services: Services, standing: Standing) -> None:
    """Do what follows the end of the execution; returns when all of it is durable."""
    end = standing.entries[standing.fold.lifecycle_seq - 1]
    await services.announcer.post(twins([end], standing.execution.eid))
    await spread_end(services, standing.execution, standing.fold, end.by)
    for channel in {channel for entry in standing.entries for channel in waited_on(entry)}:
        await services.ports.channel.unmark(channel, standing.execution.eid, up_to_epoch=standing.fold.epoch)
    for timer in standing.fold.timers():
        await services.ports.timers.cancel(timer)
    await drop_timeout(services, standing.execution)
    services.hub.ended(standing.execution, standing.fold)


async def spread_end(services: Services, execution: Execution, fold: JournalFold, by: Provenance) -> None:
    """Step 2."""
    assert fold.end is not None
    assert fold.at is not None
    await tell_parent(services.ports, services.hub, execution, fold.end, at=fold.at, by=by)
    open_ends = (FrameStatus.COMPLETED, FrameStatus.FAILED)
    children = [f.fid for f in fold.frames.values() if f.kind is FrameKind.CHILD and f.status not in open_ends]
    await asyncio.gather(*(cancel_child(services, execution, child_eid(execution.eid, fid), by=by) for fid in children))
    await withdraw_steps(services.ports, services.hub, execution, fold, by)


def waited_on(entry: JournalEntry) -> tuple[str, ...]:
    """The channels that an entry says were waited on."""
    match entry.body:
        case FrameSuspended(on=OnChannel(channel)) | FrameFulfilled(on=OnChannel(channel)):
            return (channel,)
        case ExecutionSuspended(on):
            return tuple(wait.channel for wait in on if isinstance(wait, OnChannel))
        case _:
            return ()
