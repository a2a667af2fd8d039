"""Starting an execution under a dispatch key.

1. Claim the key; the claim carries all of the record but the arguments. *Crash after it*: the key leads to an execution
   that does not exist yet. Whoever asks for the key again, with the same arguments, does step 3 for it: every finisher
   of one start writes the same bytes.
2. If the key leads to an execution already: finish its start if that was left half done, then join it, refuse, or
   replace the claim by one of the next generation. With ``replace`` the old execution is terminated first; *a crash
   between the two* leaves a key that leads to a finished execution, and the same call again replaces it.
3. Put the START and the record (``start``).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from enum import StrEnum

from flowli import codec
from flowli.domain.errors import DispatchConflict
from flowli.domain.execution import Execution
from flowli.domain.memo import JournalFold
from flowli.domain.ports import Ports, StartClaim
from flowli.domain.provenance import Provenance
from flowli.runtime.protocols.start import put_start

__all__ = ["KeyedStart", "OnConflict", "keyed_start"]


class OnConflict(StrEnum):
    """What a start does when its dispatch key already leads to an execution.

    ``join``: return that execution, running or finished. ``reject``: refuse. ``allow_after_finish``: start another one
    if it has finished, else join it. ``replace``: terminate it, then start another one.
    """

    JOIN = "join"
    REJECT = "reject"
    ALLOW_AFTER_FINISH = "allow_after_finish"
    REPLACE = "replace"


@dataclass(frozen=True, slots=True)
class KeyedStart:
    """Where a dispatch key leads.

    Attributes:
        execution: the execution.
        joined: it was asked for by an earlier call.
        wrote: this call put its START and record, so that the caller announces it.
    """

    execution: Execution
    joined: bool
    wrote: bool


async def keyed_start(
    ports: Ports,
    execution: Execution,
    *,
    request: str,
    on_conflict: OnConflict,
    by: Provenance,
    terminate: Callable[[Execution], Awaitable[None]],
    same_timeout: bool = True,
) -> KeyedStart:
    """Start ``execution`` under its ``dispatch_key``, or find the execution to which the key leads already.

    Args:
        execution: the record if this call wins; a joiner takes all but its arguments from the claim.
        request: id of this call; the same call again joins what it started.
        terminate: ends an execution, recorded or only claimed, and returns when its terminal entry is durable.
        same_timeout: the caller gave the timeout, so that another one is another start.

    Raises:
        DispatchConflict: the key leads to an execution of another workflow or with other arguments, or ``on_conflict``
            is ``reject`` and it leads to any.
    """
    mine = _claim(execution, request)
    stands = await ports.dispatch.claim_start(mine)
    while stands.eid != execution.eid:
        wanted = mine if same_timeout else replace(mine, timeout_s=stands.timeout_s)
        joined = await _meet(ports, stands, wanted, execution, on_conflict, by)
        if joined is not None:
            return joined
        if on_conflict is OnConflict.REPLACE and not await _finished(ports, stands):
            await terminate(_from_claim(stands, execution))
        # whoever replaced it meanwhile is met in the next round
        stands = await ports.dispatch.replace_start(stands, replace(mine, generation=stands.generation + 1))
    await put_start(ports, execution, by)
    return KeyedStart(execution, joined=False, wrote=True)


async def _meet(
    ports: Ports, stands: StartClaim, mine: StartClaim, execution: Execution, on_conflict: OnConflict, by: Provenance
) -> KeyedStart | None:
    """Join the execution behind a claim, refuse, or return None when the claim is to be replaced."""
    again = stands.request == mine.request
    same = _what(stands) == _what(mine)
    wrote = same and await _finish(ports, stands, execution, by)
    if not again:
        if on_conflict is OnConflict.REPLACE:
            return None
        if on_conflict is OnConflict.ALLOW_AFTER_FINISH and not wrote and await _finished(ports, stands):
            return None
        if on_conflict is OnConflict.REJECT:
            raise DispatchConflict(
                f"key {stands.key!r} is taken by execution {stands.eid} of workflow {stands.workflow!r}; "
                "use on_conflict='join' to get that one"
            )
    if not same:
        raise DispatchConflict(_difference(stands, mine))
    return KeyedStart(_from_claim(stands, execution), joined=True, wrote=wrote)


def _difference(stands: StartClaim, mine: StartClaim) -> str:
    held = f"key {stands.key!r} is taken by execution {stands.eid} of workflow {stands.workflow!r}"
    if stands.workflow != mine.workflow:
        return f"{held}, and workflow {mine.workflow!r} was to be started under it; use another key"
    if stands.digest == mine.digest:
        here = "none" if mine.timeout_s is None else f"{mine.timeout_s:g} s"
        there = "none" if stands.timeout_s is None else f"{stands.timeout_s:g} s"
        return f"{held} with another timeout ({there}, here {here}); use another key, or on_conflict='replace'"
    return (
        f"{held} with other arguments (digest {stands.digest[:12]}, here {mine.digest[:12]}); "
        "use another key, or on_conflict='replace'"
    )


def _what(claim: StartClaim) -> tuple[str, str, float | None]:
    """What two starts under one key must have in common."""
    return claim.workflow, claim.digest, claim.timeout_s


async def _finish(ports: Ports, stands: StartClaim, execution: Execution, by: Provenance) -> bool:
    """Complete a start that its caller may have left half done; True if something had to be written."""
    if stands.folded_at is not None:
        return False
    if await ports.executions.get(stands.eid) is None:
        if await ports.archive.get(stands.eid) is not None:
            return False
    elif (await ports.journal.read(stands.eid)).entries:
        return False
    await put_start(ports, _from_claim(stands, execution), by)
    return True


async def _finished(ports: Ports, stands: StartClaim) -> bool:
    if stands.folded_at is not None:
        return True
    if JournalFold((await ports.journal.read(stands.eid)).entries).end is not None:
        return True
    return await ports.archive.get(stands.eid) is not None


def _claim(execution: Execution, request: str) -> StartClaim:
    if execution.dispatch_key is None:
        raise ValueError("a keyed start needs an execution with a dispatch key")
    return StartClaim(
        key=execution.dispatch_key,
        generation=1,
        eid=execution.eid,
        workflow=execution.workflow,
        version=execution.version,
        digest=codec.digest(execution.args),
        created_by=execution.created_by,
        request=request,
        queue=execution.queue,
        priority=execution.priority,
        timeout_s=execution.timeout_s,
    )


def _from_claim(claim: StartClaim, execution: Execution) -> Execution:
    """The record that every finisher of this claim writes.

    Only who asked for the same arguments knows them; of another's execution they are left empty, and it is never put.
    """
    same = claim.digest == codec.digest(execution.args)
    return replace(
        execution,
        eid=claim.eid,
        workflow=claim.workflow,
        version=claim.version,
        args=execution.args if same else {},
        created_by=claim.created_by,
        queue=claim.queue,
        priority=claim.priority,
        timeout_s=claim.timeout_s,
    )
