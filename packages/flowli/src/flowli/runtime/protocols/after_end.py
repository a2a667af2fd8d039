"""What every end of an execution is followed by, whoever appended the terminal entry. Each step may be done twice.

1. Post the twin to the control log and wait for it. *Crash before it*: the sweeper posts it from the journal.
2. Tell the parent (``complete_child``). *Crash before it*: the task that led to the end is still there,
   and who takes it does steps 2 to 4 again; the audit of the parent finds the end of its child as well.
3. Ask the children that still run to cancel, unless they were started to outlive their parent. The request's id is made
   of this execution's, so that it is left once.
4. Remove the wait markers of the last suspension, so that senders learn that nobody receives any more.
5. Wake who waits for the end in this process.
"""

from __future__ import annotations

from flowli.domain.entries import ExecutionSuspended, FrameFulfilled, FrameSuspended, JournalEntry
from flowli.domain.execution import ParentClose
from flowli.domain.frames import FrameKind
from flowli.domain.ids import child_eid
from flowli.domain.ports import LeaseRequest
from flowli.domain.provenance import Provenance
from flowli.domain.waits import OnChannel
from flowli.runtime.protocols.ask import ask
from flowli.runtime.protocols.complete_child import tell_parent
from flowli.runtime.protocols.standing import Standing, find_standing
from flowli.runtime.protocols.twins import twins
from flowli.runtime.protocols.wake import ChildCause
from flowli.runtime.services import Services

__all__ = ["after_end", "waited_on"]


async def after_end(services: Services, standing: Standing) -> None:
    """Do what follows the end of the execution; returns when all of it is durable."""
    end = standing.entries[standing.fold.lifecycle_seq - 1]
    await services.announcer.post(twins([end], standing.execution.eid))
    await _tell_parent(services, standing, end)
    await _close_children(services, standing, end.by)
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


async def _tell_parent(services: Services, standing: Standing, end: JournalEntry) -> None:
    child, body = standing.execution, standing.fold.end
    if child.parent is None or body is None:
        return
    await tell_parent(services.ports, services.hub, child, body, at=end.at, by=end.by)
    services.hub.wake_execution(child.parent.eid, ChildCause(child.eid).key)


async def _close_children(services: Services, standing: Standing, by: Provenance) -> None:
    eid = standing.execution.eid
    for frame in standing.fold.live_frames():
        if frame.kind is not FrameKind.CHILD:
            continue
        child = await find_standing(services.ports, child_eid(eid, frame.fid))
        if child is None or child.ended or child.execution.on_parent_close is not ParentClose.CANCEL:
            continue
        request = LeaseRequest(f"parent:{eid}", "cancel", by, f"its parent {eid} ended")
        await ask(services.ports, services.hub, child.execution, request)
