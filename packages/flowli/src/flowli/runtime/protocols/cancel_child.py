"""Asking a child to cancel whose parent no longer waits for it.

1. The parent's entry that says so is durable: the child frame was given up, or the parent has ended. *Crash after it*:
   the next owner of the parent, or who finds its end, asks again.
2. Read the child's record. A child that was started to outlive its parent is left alone.
3. Ask for the cancel (``cancel``), under an id that names the parent: it is asked for once, however often this is done.

A child that has a START and no record yet (its parent's worker died between the two) gets the request in its lease;
whoever runs it finds it there.
"""

from __future__ import annotations

import contextlib

from flowli.domain.errors import NotAllowed, UnknownExecution
from flowli.domain.execution import Execution, ParentClose
from flowli.domain.ids import Eid
from flowli.domain.ports import LeaseRequest
from flowli.domain.provenance import Provenance
from flowli.runtime.protocols.cancel import cancel
from flowli.runtime.services import Services

__all__ = ["cancel_child"]

_SEARCHED = 1000


async def cancel_child(
    services: Services, parent: Execution, child: Eid, *, by: Provenance, queue: str | None = None
) -> None:
    """Steps 2 and 3; nothing for a child that has ended or never was.

    Args:
        queue: where its START would be.
    """
    ports, request, reason = services.ports, f"parent:{parent.eid}", f"its parent {parent.eid} no longer waits for it"
    record = await ports.executions.get(child)
    if record is None:
        started = await ports.queue.find(queue or parent.queue, child, limit=_SEARCHED)
        if started:
            await ports.ownership.request(child, LeaseRequest(request, "cancel", by, reason))
        return
    if record.on_parent_close is ParentClose.CANCEL:
        with contextlib.suppress(NotAllowed, UnknownExecution):
            await cancel(ports, services.hub, child, request=request, reason=reason, by=by)
