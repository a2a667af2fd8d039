"""What follows an end that an operator brought about. Each step may be done twice.

1. Post the twin to the control log and wait for it. *Crash before it*: the sweeper posts it from the journal.
2. Tell the parent, and ask children that still run to cancel (step 2 of ``finish``). *Crash before it*: the RESUME of
   the request is still there, and the worker that takes it finds the end and does the same; the audit of the parent
   finds the end of its child as well.
3. Remove the wait markers, so that senders learn that nobody receives any more.
4. Wake who waits for the end in this process.
"""

from __future__ import annotations

from flowli.domain.entries import ExecutionSuspended, FrameFulfilled, FrameSuspended, JournalEntry
from flowli.domain.waits import OnChannel
from flowli.runtime.protocols.finish import spread_end
from flowli.runtime.protocols.standing import Standing
from flowli.runtime.protocols.twins import twins
from flowli.runtime.services import Services

__all__ = ["after_end", "waited_on"]


async def after_end(services: Services, standing: Standing) -> None:
    """Do what follows the end of the execution; returns when all of it is durable."""
    end = standing.entries[standing.fold.lifecycle_seq - 1]
    await services.announcer.post(twins([end], standing.execution.eid))
    await spread_end(services, standing.execution, standing.fold, end.by)
    for channel in {channel for entry in standing.entries for channel in waited_on(entry)}:
        await services.ports.channel.unmark(channel, standing.execution.eid, up_to_epoch=standing.fold.epoch)
    services.hub.ended(standing.execution.eid)


def waited_on(entry: JournalEntry) -> tuple[str, ...]:
    """The channels that an entry says were waited on."""
    match entry.body:
        case FrameSuspended(on=OnChannel(channel)) | FrameFulfilled(on=OnChannel(channel)):
            return (channel,)
        case ExecutionSuspended(on):
            return tuple(wait.channel for wait in on if isinstance(wait, OnChannel))
        case _:
            return ()
