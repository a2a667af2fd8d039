"""Cancelling: the workflow's code is told, and its clean-up runs.

1. to 4. as in ``ask``, with the verb ``cancel``.

Then the owner journals ``execution.cancel_requested`` at the point where it delivers the cancel to the code. Asking
again, under another id, delivers again.
"""

from __future__ import annotations

from flowli.domain.ids import Eid
from flowli.domain.ports import LeaseRequest, Ports
from flowli.domain.provenance import Provenance
from flowli.runtime.hub import Hub
from flowli.runtime.protocols.ask import ask, was_applied
from flowli.runtime.protocols.standing import read_standing

__all__ = ["cancel"]


async def cancel(ports: Ports, hub: Hub, eid: Eid, *, request: str, reason: str, by: Provenance) -> None:
    """Ask for the cancel of ``eid``; returns when it will be delivered whatever happens to this process.

    Args:
        request: id of the request; applied once.

    Raises:
        UnknownExecution: no such execution.
        NotAllowed: it has ended.
        DispatchConflict: the id was used for something else.
    """
    standing = await read_standing(ports, eid)
    wish = LeaseRequest(request, "cancel", by, reason)
    if was_applied(standing, wish):
        return
    standing.require_live("cancelled")
    await ask(ports, hub, standing.execution, wish)
