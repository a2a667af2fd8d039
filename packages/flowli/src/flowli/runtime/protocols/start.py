"""Starting an execution, with or without a dispatch key, and taking a START task.

0. With a key (``keyed_start``): the claim of the key; it carries all of the record but the arguments. *Crash after it*:
   the key leads to an execution that does not exist yet. Whoever asks for the key again, with the same arguments, does
   steps 1 to 3 for it: every finisher of one start writes the same bytes. With ``replace``, the execution behind the
   old claim has its terminal entry before the claim is replaced; *a crash between the two* leaves a key that leads to a
   finished execution, and the same call again replaces it.
1. (``put_start``) A timer, if there is an execution timeout. *Crash after it*: it fires for nobody and is deleted.
2. The START task; it carries the whole record. *Crash after it*: nothing was acknowledged; whoever dequeues the task
   writes the record from it and runs.
3. The record. *Crash after it*: the execution exists and will run; only ``execution.created`` is missing in the control
   log, and ``execution.started`` repeats all that it says.

Taking (``take_start``), by the worker that dequeues a START and by the sweeper before it puts one again:

1. Read the record.
2. If there is none, or if the journal is empty, read the archive: an archive means that the execution has finished; a
   record beside it is a leftover of a late step 3 above and is deleted.
3. Write the record from the task, if there was none. *Crash after it*: as after step 3 above.
4. Read the archive again: retention may have put it between 2 and 3.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from enum import StrEnum

from flowli import codec
from flowli.domain.entries import ExecutionCreated
from flowli.domain.errors import DispatchConflict, NotAllowed
from flowli.domain.execution import Execution
from flowli.domain.ids import ROOT
from flowli.domain.memo import JournalFold
from flowli.domain.ports import Ports, StartClaim
from flowli.domain.provenance import Provenance
from flowli.domain.tasks import Task, TaskKind
from flowli.domain.timers import Timer
from flowli.timestamp import Timestamp

__all__ = [
    "KeyedStart",
    "OnConflict",
    "created",
    "keyed_start",
    "put_start",
    "start_digest",
    "start_task",
    "take_start",
]


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


def start_task(execution: Execution, by: Provenance) -> Task:
    """The START task of an execution: one for each execution, whoever puts it."""
    return Task(
        queue=execution.queue,
        kind=TaskKind.START,
        target=execution.eid,
        cause_at=execution.created_at,
        enqueued_by=by,
        reason="start",
        priority=execution.priority,
        payload=codec.dump(execution),
    )


def created(execution: Execution) -> ExecutionCreated:
    """What the control log says of a new execution: the record with a digest in the place of the arguments."""
    return ExecutionCreated(
        eid=execution.eid,
        workflow=execution.workflow,
        version=execution.version,
        args_digest=codec.digest(execution.args),
        queue=execution.queue,
        created_at=execution.created_at,
        priority=execution.priority,
        parent=execution.parent,
        dispatch_key=execution.dispatch_key,
        origin=execution.origin,
    )


async def put_start(ports: Ports, execution: Execution, by: Provenance) -> None:
    """Steps 1 to 3. When it returns, the execution will run. Doing it twice is doing it once."""
    if execution.timeout_s is not None:
        due_at = execution.created_at + timedelta(seconds=execution.timeout_s)
        await ports.timers.set(Timer(due_at, execution.eid, ROOT, execution.queue, execution.priority))
    await ports.queue.enqueue(start_task(execution, by))
    await ports.executions.put(execution)


async def take_start(
    ports: Ports, task: Task, *, journal_empty: bool | None = None, oldest: Timestamp | None = None
) -> Execution | None:
    """The execution that a START task asks for, its record durable; None if it has finished (ack the task).

    Args:
        journal_empty: whether the journal is known to have entries; None looks it up if there is a record.
        oldest: a START from before it may be of an execution whose archive has expired; it is refused if neither record
            nor archive exists.

    Raises:
        NotAllowed: the START is from before ``oldest``; the caller sets it aside.
    """
    found = await ports.executions.get(task.target)
    if found is not None:
        if journal_empty is None:
            journal_empty = not (await ports.journal.read(task.target)).entries
        return await _unless_archived(ports, found) if journal_empty else found
    if await ports.archive.get(task.target) is not None:
        return None
    if oldest is not None and task.cause_at < oldest:
        raise NotAllowed(
            f"execution {task.target} was asked for at {task.cause_at} and has neither record nor archive: it may have "
            "finished so long ago that its archive expired; start it anew if it never ran"
        )
    execution = codec.load(Execution, task.payload)
    await ports.executions.put(execution)
    return await _unless_archived(ports, execution)


async def _unless_archived(ports: Ports, execution: Execution) -> Execution | None:
    if await ports.archive.get(execution.eid) is None:
        return execution
    await ports.executions.delete(execution.eid)
    return None


def start_digest(execution: Execution) -> str:
    """What two starts under one key must have in common beside the workflow: arguments and timeout."""
    if execution.timeout_s is None:
        return codec.digest(execution.args)
    return codec.digest({"args": execution.args, "timeout_s": execution.timeout_s})


async def keyed_start(
    ports: Ports,
    execution: Execution,
    *,
    request: str,
    on_conflict: OnConflict,
    by: Provenance,
    terminate: Callable[[Execution], Awaitable[None]],
) -> KeyedStart:
    """Start ``execution`` under its ``dispatch_key``, or find the execution to which the key leads already.

    Args:
        execution: the record if this call wins; a joiner takes all but its arguments from the claim.
        request: id of this call; the same call again joins what it started.
        terminate: ends an execution, recorded or only claimed, and returns when its terminal entry is durable.

    Raises:
        DispatchConflict: the key leads to an execution of another workflow or with other arguments, or ``on_conflict``
            is ``reject`` and it leads to any.
    """
    mine = _claim(execution, request)
    stands = await ports.dispatch.claim_start(mine)
    while stands.eid != execution.eid:
        joined = await _meet(ports, stands, mine, execution, on_conflict, by)
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
    same = (stands.workflow, stands.digest) == (mine.workflow, mine.digest)
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
    return (
        f"{held} with other arguments or another timeout (digest {stands.digest[:12]}, here {mine.digest[:12]}); "
        "use another key, or on_conflict='replace'"
    )


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
        digest=start_digest(execution),
        created_by=execution.created_by,
        request=request,
        queue=execution.queue,
        priority=execution.priority,
    )


def _from_claim(claim: StartClaim, execution: Execution) -> Execution:
    """The record that every finisher of this claim writes.

    Only who asked for the same arguments knows them; of another's execution they are left empty, and it is never put.
    """
    same = claim.digest == start_digest(execution)
    return replace(
        execution,
        eid=claim.eid,
        workflow=claim.workflow,
        version=claim.version,
        args=execution.args if same else {},
        created_by=claim.created_by,
        queue=claim.queue,
        priority=claim.priority,
    )
