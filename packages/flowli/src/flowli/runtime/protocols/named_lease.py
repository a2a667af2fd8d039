"""Leases with a name: held by executions (``ctx.lease``) or by processes (``engine.role``), by one of them at a time.

A process holds the lease itself and renews it. An execution is held by no process: it holds the lease by standing in
its state, ``{"execution": eid, "fid": ...}``, for as long as it has not ended or left the block of that frame. Each
change of hands raises the epoch, by compare-and-swap on the one document, so that of any number exactly one wins.

Taking, for an execution (``take_lease``):

1. Read the lease. If it is free, take it, with the execution in its state. *Crash after it*: the frame is done again
   and finds the execution as the holder.
2. If it is held, leave a request in it: the place in the line. If it has changed hands since 1, begin again. So who
   lets it go later finds the request.
3. The execution waits for a message on its own channel, and looks again from time to time.

Leaving (``leave_lease``, ``pass_on``):

4. Clear the state. *Crash after it*: the frame is done again and does 5.
5. Tell the first in the line who still lives. *Crash before it*: whoever waits looks again after a while.

What ended without leaving (terminated, say) no longer holds it: who looks, finds the end.
"""

from __future__ import annotations

from typing import cast

from flowli.domain.channels import Message
from flowli.domain.data import Data
from flowli.domain.entries import START
from flowli.domain.errors import LeaseLost, NotAllowed, UnknownExecution
from flowli.domain.execution import Execution
from flowli.domain.frames import FrameKind, FrameStatus
from flowli.domain.ids import Eid, Fid, role_eid
from flowli.domain.memo import JournalFold
from flowli.domain.ports import Acquired, Holder, Lease, LeaseRequest, Ports
from flowli.domain.provenance import Provenance
from flowli.runtime.own_channels import lease_channel
from flowli.runtime.protocols.deliver import check_receiver, deliver
from flowli.runtime.protocols.standing import find_standing
from flowli.runtime.services import Services

__all__ = ["FREE", "is_free", "leave_all", "leave_lease", "pass_on", "take_lease"]

FREE: Data = {}
"""The state of a lease that no execution holds."""

_BY_EXECUTION = "execution/"
_TTL_S = 60.0


async def take_lease(services: Services, execution: Execution, name: str, fid: Fid, by: Provenance) -> int:
    """The epoch under which ``fid`` of the execution holds the lease now; 0 if it stands in the line."""
    ownership, eid = services.ports.ownership, role_eid(name)
    line = f"{execution.eid}/{fid}"
    while True:
        lease = await ownership.read(eid)
        if lease is not None and _holds(lease, execution.eid, fid):
            return lease.epoch
        if lease is None or await is_free(services.ports, lease):
            state: Data = {"execution": str(execution.eid), "fid": fid, "since": str(by.at)}
            got = await _change(services, lease, eid, state)
            if got is not None:
                if any(request.id == line for request in got.requests):
                    await _strike(services, got, [line])
                return got.epoch
            continue
        about: dict[str, Data] = {"eid": str(execution.eid), "channel": lease_channel(execution.eid, name)}
        left = await ownership.request(eid, LeaseRequest(line, "wait", by, data=about))
        if (left.epoch, left.state) == (lease.epoch, lease.state):
            return 0


async def leave_lease(services: Services, owner: Eid, name: str, fid: Fid, by: Provenance) -> None:
    """Let the lease go if ``fid`` of the execution holds it, or leave the line for it."""
    eid, line = role_eid(name), f"{owner}/{fid}"
    while True:
        lease = await services.ports.ownership.read(eid)
        if lease is None:
            return
        holds = _holds(lease, owner, fid)
        waits = any(request.id == line for request in lease.requests)
        if not holds and not (waits and _is_of_execution(lease)):
            break  # gone to somebody else; a process that holds it is not disturbed for the line
        changed = await _change(services, lease, eid, FREE if holds else lease.state)
        if changed is not None:
            lease = await _strike(services, changed, [line]) if waits else changed
            break
    if await is_free(services.ports, lease):
        await pass_on(services, lease, by)


async def leave_all(services: Services, owner: Eid, fold: JournalFold, by: Provenance) -> None:
    """Let every lease go that an execution which has ended did not leave."""
    frames = [frame for frame in fold.frames.values() if frame.kind is FrameKind.EFFECT]
    left = [frame.metadata.get("releases") for frame in frames if frame.status is FrameStatus.COMPLETED]
    for frame in frames:
        name = frame.metadata.get("lease")
        if isinstance(name, str) and "releases" not in frame.metadata and frame.fid not in left:
            await leave_lease(services, owner, name, frame.fid, by)


async def is_free(ports: Ports, lease: Lease) -> bool:
    """Whether nobody holds the lease: no process that may live, and no execution that still stands in it."""
    if not _is_of_execution(lease) and lease.holder is not None and lease.idle_s < lease.ttl_s:
        return False
    state = lease.state if isinstance(lease.state, dict) else {}
    holder, fid = state.get("execution"), state.get("fid")
    if not isinstance(holder, str) or not isinstance(fid, str):
        return True
    standing = await find_standing(ports, Eid(holder))
    if standing is None or standing.ended:
        return True
    return any(
        frame.metadata.get("releases") == fid and frame.status is FrameStatus.COMPLETED
        for frame in standing.fold.frames.values()
    )


async def pass_on(services: Services, lease: Lease, by: Provenance) -> None:
    """Step 5, for a lease that is free."""
    for request in lease.requests:
        if request.verb != "wait":
            continue
        eid, channel = Eid(str(request.data["eid"])), str(request.data["channel"])
        message = Message(f"lease:{lease.eid}:{lease.epoch}", channel, {"epoch": lease.epoch}, by)
        try:
            marker = await check_receiver(services.ports, eid, channel)
        except (NotAllowed, UnknownExecution):
            continue  # it has ended; who takes the lease next strikes it out
        await deliver(services.ports, services.hub, message, eid=eid, by=by, search_after=START, seen=marker)
        return


def _holds(lease: Lease, eid: Eid, fid: Fid) -> bool:
    state = lease.state if isinstance(lease.state, dict) else {}
    return (state.get("execution"), state.get("fid")) == (str(eid), fid)


def _is_of_execution(lease: Lease) -> bool:
    """Whether the process that wrote the lease last did so for an execution: it holds nothing itself."""
    return lease.holder is None or lease.holder.id.startswith(_BY_EXECUTION)


async def _change(services: Services, seen: Lease | None, eid: Eid, state: Data) -> Lease | None:
    """Put a state in the place of the one that was seen; None if it has changed."""
    holder = Holder(f"{_BY_EXECUTION}{services.world.token()}", services.site)
    try:
        got = await services.ports.ownership.acquire(
            eid, holder, _TTL_S, seen=seen, force=seen is not None, state=state
        )
    except LeaseLost:
        return None
    return got.lease if isinstance(got, Acquired) else None


async def _strike(services: Services, lease: Lease, lines: list[str]) -> Lease:
    """Take out of the line who needs to stand there no more."""
    try:
        return await services.ports.ownership.renew(lease, applied=lines)
    except LeaseLost:  # it has changed hands already: they are told in vain
        return cast("Lease", await services.ports.ownership.read(lease.eid))
