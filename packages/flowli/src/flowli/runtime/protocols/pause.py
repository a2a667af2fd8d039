"""Pausing an execution and letting it go on.

1. to 4. as in ``ask``, with the verb ``pause`` or ``unpause``.

Then the owner journals ``execution.paused``, suspends on the operator, and acks every RESUME until
``execution.unpaused``. Letting go on re-checks everything that the execution waits for. A parked execution is let go
on in the same way: it is tried again with the code that is there now.
"""

from __future__ import annotations

from flowli.domain.errors import NotAllowed
from flowli.domain.ids import Eid
from flowli.domain.ports import LeaseRequest, Ports
from flowli.domain.provenance import Provenance
from flowli.runtime.hub import Hub
from flowli.runtime.protocols.ask import ask, was_applied
from flowli.runtime.protocols.standing import Standing, read_standing

__all__ = ["pause", "unpause"]


async def pause(ports: Ports, hub: Hub, eid: Eid, *, request: str, reason: str, by: Provenance) -> None:
    """Ask that ``eid`` not go on until ``unpause``. A step that runs now is not interrupted.

    Raises:
        UnknownExecution: no such execution.
        NotAllowed: it has ended.
        DispatchConflict: the id was used for something else.
    """
    standing = await read_standing(ports, eid)
    wish = LeaseRequest(request, "pause", by, reason)
    if was_applied(standing, wish):
        return
    standing.require_live("paused")
    await ask(ports, hub, standing.execution, wish)


async def unpause(ports: Ports, hub: Hub, eid: Eid, *, request: str, reason: str, by: Provenance) -> None:
    """Ask that ``eid`` go on.

    Raises:
        UnknownExecution: no such execution.
        NotAllowed: it has ended, or is neither paused nor parked nor about to be paused.
        DispatchConflict: the id was used for something else.
    """
    standing = await read_standing(ports, eid)
    wish = LeaseRequest(request, "unpause", by, reason)
    if was_applied(standing, wish):
        return
    standing.require_live("resumed")
    if not await _held_back(ports, standing):
        raise NotAllowed(f"execution {eid} is not paused: it is {standing.fold.status}; `flowli show {eid}` tells more")
    await ask(ports, hub, standing.execution, wish)


async def _held_back(ports: Ports, standing: Standing) -> bool:
    if standing.fold.paused is not None or standing.fold.parked is not None:
        return True
    lease = await ports.ownership.read(standing.execution.eid)
    return lease is not None and any(request.verb in ("pause", "unpause") for request in lease.requests)
