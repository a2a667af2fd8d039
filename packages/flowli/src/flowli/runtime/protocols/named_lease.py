"""Leases with a name: held by executions (``ctx.lease``) or by processes (``engine.role``), by one of them at a time.

A process holds the lease itself and renews it. An execution is held by no process: it holds the lease by standing in
its state, ``{"execution": eid, "fid": ...}``, for as long as it has not ended or left the block of that frame. Each
change of hands raises the epoch, by compare-and-swap on the one document, so that of any number exactly one wins.

Taking, for an execution (``take_lease``):

1. Read the lease. If the execution stands in its state, it has it: it was handed over, or the frame is done again.
2. If it is free and nobody stands before in the line, take it. *Crash after it*: the frame is done again and does 1.
3. If it is free and somebody stands before, it is theirs: do 6 to 8 for them, and begin again.
4. If it is held, leave a request in it: the place in the line. If it has changed hands since 1, begin again. So who
   lets it go later finds the request.
5. The execution waits for a message on its own channel, and looks again from time to time.

Leaving (``leave_lease``, ``pass_on``):

6. Put the first in the line who can go on into the state; clear it if there is none. So the lease is never free while
   somebody waits who could take it, and nobody who arrives in this moment goes first. *Crash after it*: the frame is
   done again, finds in the state that it has handed the lease over, and does 8.
7. Strike the new holder from the line. *Crash before it*: it is struck when it leaves.
8. Tell the new holder. *Crash before it*: as after 6; where nobody does it again, the holder looks after a while.

Who has ended, or left the line, is struck from it. Who is paused or parked is passed over and keeps its place; it is
told when the lease is left free. What ended without leaving (terminated, say) no longer holds the lease: who looks,
finds the end.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

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
# no time without a write frees what an execution holds: whoever was stopped for long before its write must lose
_TTL_S = 100 * 365 * 86_400.0


@dataclass(slots=True)
class _Line:
    """Those who wait for a lease.

    Attributes:
        first: the first who can go on.
        gone: requests of those before it who do not wait any more.
        held_up: those before it who are paused or parked, with the place in their journal at which they are.
    """

    first: LeaseRequest | None = None
    gone: list[str] = field(default_factory=list)
    held_up: list[tuple[LeaseRequest, int]] = field(default_factory=list)


async def take_lease(services: Services, execution: Execution, name: str, fid: Fid, by: Provenance) -> int:
    """The epoch under which ``fid`` of the execution holds the lease now; 0 if it stands in the line."""
    ownership, eid = services.ports.ownership, role_eid(name)
    line = f"{execution.eid}/{fid}"
    while True:
        lease = await ownership.read(eid)
        if lease is not None and _holds(lease, execution.eid, fid):
            await _strike(services, lease, [line])  # it may have asked for its place when it had it already
            return lease.epoch
        if lease is None or await is_free(services.ports, lease):
            before = _Line() if lease is None else await _line(services.ports, lease.requests, own=line)
            if lease is not None and before.first is not None and before.first.id != line:
                await _hand_over(services, lease, before, by, line)
                continue
            state: Data = {"execution": str(execution.eid), "fid": fid, "since": str(by.at)}
            got = await _change(services, lease, eid, state)
            if got is not None:
                await _strike(services, got, [line, *before.gone])
                return got.epoch
            continue
        await _tell_again(services, lease, name, line, by)
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
        if _holds(lease, owner, fid):
            after = await _line(services.ports, [one for one in lease.requests if one.id != line])
            after.gone.append(line)
            if await _hand_over(services, lease, after, by, line):
                return
            continue
        struck = await _strike(services, lease, [line])
        if struck is None:
            continue
        if not await _tell_again(services, struck, name, line, by):
            await pass_on(services, struck, by, line)
        return


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
    holder, fid = _in_state(lease, "execution"), _in_state(lease, "fid")
    if not holder or not fid:
        return True
    standing = await find_standing(ports, Eid(holder))
    return standing is None or standing.ended or _has_left(standing.fold, fid)


async def pass_on(services: Services, lease: Lease, by: Provenance, giver: str = "") -> None:
    """Steps 6 to 8 for a lease that is free, until somebody has it or nobody waits.

    Args:
        giver: who lets it go, as in the line; empty for a process, which does nothing again.
    """
    current: Lease | None = lease
    while current is not None and await is_free(services.ports, current):
        line = await _line(services.ports, current.requests)
        if line.first is None:
            await _tell_held_up(services, current, line, by)
            return
        if await _hand_over(services, current, line, by, giver):
            return
        current = await services.ports.ownership.read(lease.eid)


async def _line(ports: Ports, requests: Iterable[LeaseRequest], *, own: str = "") -> _Line:
    """Look along the line up to the first who can go on; ``own`` can."""
    line = _Line()
    for request in requests:
        if request.verb != "wait":
            continue
        eid, _, fid = request.id.partition("/")
        standing = None if request.id == own else await find_standing(ports, Eid(eid))
        if request.id != own and (standing is None or standing.ended or _has_left(standing.fold, fid)):
            line.gone.append(request.id)
        elif standing is not None and (standing.fold.paused is not None or standing.fold.parked is not None):
            line.held_up.append((request, standing.fold.seq))
        else:
            line.first = request
            break
    return line


async def _hand_over(services: Services, lease: Lease, line: _Line, by: Provenance, giver: str) -> bool:
    """Steps 6 to 8. False if that is not the end of it: look at the lease again."""
    first = line.first
    state: Data = FREE
    if first is not None:
        holder, _, fid = first.id.partition("/")
        state = {"execution": holder, "fid": fid, "since": str(by.at), "giver": giver}
    changed = await _change(services, lease, lease.eid, state)
    if changed is None:
        return False
    if first is not None:
        await _strike(services, changed, [first.id, *line.gone])
        return await _tell(services, first, f"{changed.epoch}", changed.epoch, by)
    left = await _strike(services, changed, line.gone)
    if left is None or {one.id for one in left.requests} - {one.id for one, _ in line.held_up}:
        return False  # somebody came into the line meanwhile
    await _tell_held_up(services, left, line, by)
    return True


async def _tell_held_up(services: Services, lease: Lease, line: _Line, by: Provenance) -> None:
    for request, seq in line.held_up:
        await _tell(services, request, f"held-up:{seq}", lease.epoch, by)


async def _tell(services: Services, request: LeaseRequest, what: str, epoch: int, by: Provenance) -> bool:
    """Step 8; the same ``what`` is told once. False if the execution has ended."""
    eid, channel = Eid(str(request.data["eid"])), str(request.data["channel"])
    message = Message(f"lease:{channel}:{what}", channel, {"epoch": epoch}, by)
    try:
        marker = await check_receiver(services.ports, eid, channel)
    except (NotAllowed, UnknownExecution):
        return False  # who looks at the lease next finds the end
    await deliver(services.ports, services.hub, message, eid=eid, by=by, search_after=START, seen=marker)
    return True


async def _tell_again(services: Services, lease: Lease, name: str, line: str, by: Provenance) -> bool:
    """Step 8 for a lease that ``line`` has handed over; whether that is so, and the holder lives.

    It is done as well where another branch of the holder's own execution looks: all of them are told on one channel,
    and this one may have taken the message.
    """
    holder, giver = _in_state(lease, "execution"), _in_state(lease, "giver")
    sibling = holder == line.partition("/")[0]
    if not giver or not (giver == line or sibling):
        return False
    about: dict[str, Data] = {"eid": holder, "channel": lease_channel(Eid(holder), name)}
    what = f"{lease.epoch}:{line.partition('/')[2]}" if sibling else f"{lease.epoch}"
    return await _tell(services, LeaseRequest(line, "wait", by, data=about), what, lease.epoch, by)


def _in_state(lease: Lease, name: str) -> str:
    value = lease.state.get(name) if isinstance(lease.state, dict) else None
    return value if isinstance(value, str) else ""


def _holds(lease: Lease, eid: Eid, fid: Fid) -> bool:
    return (_in_state(lease, "execution"), _in_state(lease, "fid")) == (str(eid), fid)


def _has_left(fold: JournalFold, fid: Fid) -> bool:
    """Whether an execution has left the block, or the line, of a frame."""
    return any(
        frame.metadata.get("releases") == fid and frame.status is FrameStatus.COMPLETED
        for frame in fold.frames.values()
    )


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


async def _strike(services: Services, lease: Lease, lines: Iterable[str]) -> Lease | None:
    """Take out of the line who needs to stand there no more; None if the lease has changed hands since it was read."""
    struck = {request.id for request in lease.requests}.intersection(lines)
    if not struck:
        return lease
    current: Lease | None = lease
    if lease.holder is None:  # only a holder can strike; nobody is disturbed by the change
        current = await _change(services, lease, lease.eid, FREE)
    try:
        return None if current is None else await services.ports.ownership.renew(current, applied=struck)
    except LeaseLost:
        return None
