"""Finishing: the code has ended and nothing of it is left under way.

1. Commit the terminal entry; it rides with the last outcomes. It is the release of the lease. *Crash after it*: the
   task is taken again; its worker sees the end and does the rest.
2. Tell the parent, if there is one (``complete_child``), and ask children that still run to cancel. *Crash after
   some*: the same.
3. Remove wait markers and the timer. *Crash before it*: the sweeper clears the markers, a timer fires for nothing.
4. Wake who waits for the end in this process.
5. Post the control twin; 6. when it is durable, ack the tasks (both by the worker).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from flowli.domain.execution import Execution
from flowli.domain.frames import FrameKind
from flowli.domain.ids import child_eid
from flowli.domain.memo import JournalFold
from flowli.domain.provenance import Provenance
from flowli.runtime.protocols.complete_child import tell_parent
from flowli.runtime.protocols.suspend import tidy
from flowli.runtime.services import Services

if TYPE_CHECKING:
    from flowli.runtime.owner.owner import Owner

__all__ = ["finish", "spread_end"]


async def finish(owner: Owner) -> None:
    """Steps 1 to 4."""
    ending = owner.session.ending
    assert ending is not None
    owner.sealed = True
    owner.session.append(ending)
    await owner.commits.flush()
    await spread_end(owner.services, owner.execution, owner.session.fold, owner.by())
    await tidy(owner)
    owner.services.hub.ended(owner.execution.eid)


async def spread_end(services: Services, execution: Execution, fold: JournalFold, by: Provenance) -> None:
    """Step 2, and step 3 for what the last suspension left; may be done any number of times."""
    from flowli.runtime.owner.children import close_child

    assert fold.end is not None
    assert fold.at is not None
    await tell_parent(services.ports, services.hub, execution, fold.end, at=fold.at, by=by)
    for frame in fold.frames.values():
        if frame.kind is FrameKind.CHILD and not frame.status.ended:
            await close_child(services, child_eid(execution.eid, frame.fid), execution.eid, by)
    for channel in fold.markers():
        await services.ports.channel.unmark(channel, execution.eid, up_to_epoch=fold.epoch)
    for timer in fold.timers():
        await services.ports.timers.cancel(timer)
