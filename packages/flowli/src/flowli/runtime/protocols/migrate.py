"""Migrating: from here on the execution is run by another version of its workflow.

1. to 6. as in ``take``, with the verb ``migrate`` and the entries ``execution.migrated`` and ``execution.suspended``:
   the latter is the release. It waits on what it waited on before, but for the operator who was needed because of the
   code.
7. Post the twins; put the new version into the record (the journal decides; the record is for readers); enqueue a
   RESUME that has everything looked at again with the new code. *Crash before it*: the sweeper posts the twins, and its
   audit finds an execution that is suspended and waits for nothing.
8. Withdraw the RESUME of step 3, and clear the request.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from flowli.domain.entries import ControlEntry, ExecutionMigrated, ExecutionStarted, ExecutionSuspended, JournalBody
from flowli.domain.errors import NotAllowed
from flowli.domain.ports import LeaseRequest, Ports
from flowli.domain.provenance import Provenance
from flowli.domain.waits import OnOperator
from flowli.runtime.protocols.ask import was_applied
from flowli.runtime.protocols.standing import Standing
from flowli.runtime.protocols.take import Taken, Taker
from flowli.runtime.protocols.twins import twins
from flowli.runtime.protocols.wake import AuditCause, resume_task

__all__ = ["migrate"]


async def migrate(
    taker: Taker,
    standing: Standing,
    version: str,
    *,
    request: str,
    reason: str,
    by: Provenance,
) -> None:
    """Move the execution to ``version``; returns when that is durable and a worker will be told.

    Raises:
        NotAllowed: it has ended.
        DispatchConflict: the id was used for something else.
    """
    wish = LeaseRequest(request, "migrate", by, reason, {"version": version})
    if was_applied(standing, wish):
        taken = Taken(standing)
    else:
        standing.require_live("migrated")
        taken = await taker.apply(standing, wish, lambda found, epoch: _bodies(found, wish, version, epoch))
    found = taken.standing
    if request not in found.fold.applied:
        eid = found.execution.eid
        raise NotAllowed(f"execution {eid} was {found.fold.status} before it could be migrated")
    await taker.services.announcer.post(_twins(taken, request))
    await _record(taker.services.ports, found)
    if not found.ended:
        await _resume(taker, found, by)
    await taker.withdraw(taken, request)


def _bodies(standing: Standing, wish: LeaseRequest, version: str, epoch: int) -> Sequence[JournalBody]:
    fold = standing.fold
    waits = fold.waits
    kept = tuple(on for on in waits if not (isinstance(on, OnOperator) and on.cause != "paused"))
    old = fold.version or standing.execution.version
    moved: list[JournalBody] = [
        ExecutionMigrated(old, version, wish.reason, wish.id),
        ExecutionSuspended(kept, epoch),
    ]
    return moved if fold.execution is not None else [ExecutionStarted(standing.execution), *moved]


def _twins(taken: Taken, request: str) -> list[ControlEntry]:
    """The twins of what was appended, or of what an earlier call with this request appended."""
    entries = taken.standing.entries
    bodies = (entry for entry in entries if isinstance(entry.body, ExecutionMigrated) and entry.body.request == request)
    first = taken.appended[0] if taken.appended else next(bodies)
    return twins(entries, taken.standing.execution.eid, after_seq=first.seq - 1)


async def _record(ports: Ports, standing: Standing) -> None:
    record = await ports.executions.get(standing.execution.eid)
    while record is not None and record.version != standing.fold.version:
        if await ports.executions.replace(record, replace(record, version=standing.fold.version)):
            return
        record = await ports.executions.get(standing.execution.eid)


async def _resume(taker: Taker, standing: Standing, by: Provenance) -> None:
    execution = standing.execution
    await taker.services.ports.queue.enqueue(
        resume_task(
            queue=execution.queue,
            priority=execution.priority,
            eid=execution.eid,
            cause=AuditCause(standing.fold.seq),
            at=standing.at,
            by=by,
        )
    )
    taker.services.hub.wake_queue(execution.queue)
