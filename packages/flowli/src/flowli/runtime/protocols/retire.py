"""Retiring a finished execution: first folded into its archive, later deleted.

Fold (``fold_away``):

1. Write the archive: the record and the whole journal. It is the boundary of the journal: whoever still believes in
   owning the execution finds it. *Crash after it*: the next pass finds the archive and goes on.
2. Mark the dispatch claim as folded, if it still leads here: the key then leads to a finished execution without a look.
3. Post ``execution.archived`` and wait for it. *Crash before it*: the next pass does 1 to 3 again.

Delete (``purge``), not before ``retire_grace_s`` have passed since 1, so that no writer that stalled meanwhile takes
the freed numbers of the journal for new ones:

4. The record first, the journal second: who reads them reads the journal first (``standing``). A reader whom the
   deletion overtakes holds a rest of the journal, misses the record, and turns to the archive; an owner that takes
   over uncleanly looks for the archive by itself (``run``). *Crash after the record, or amid the journal*: whoever
   looks finds the archive; the next pass deletes again.
5. The lease, the execution's own channels, its wait markers on other channels, its evidence, what detached
   steps showed of their progress; of an erased one its tasks
   and dead letters as well. *Crash in between*: the next pass deletes again, and what is gone is no error. Where to
   look is read from the archive.
"""

from __future__ import annotations

from dataclasses import replace

from flowli.domain.entries import ControlEntry, ExecutionArchived, ExecutionErased, UnknownBody
from flowli.domain.execution import Execution
from flowli.domain.ids import Eid
from flowli.domain.memo import JournalFold
from flowli.domain.ports import ArchivedExecution, Ports
from flowli.domain.provenance import Provenance
from flowli.runtime.progress import progress_eid
from flowli.runtime.protocols.after_end import waited_on
from flowli.runtime.protocols.detached import detached_queue
from flowli.runtime.protocols.standing import Standing
from flowli.runtime.services import Services
from flowli.timestamp import Timestamp

__all__ = ["blocked", "fold_away", "forget_key", "mark_folded", "purge"]

_TASKS = 10_000


async def blocked(ports: Ports, standing: Standing) -> str | None:
    """Why the execution cannot be archived, in one sentence; None if it can."""
    if not standing.ended:
        return f"its journal says that it is {standing.fold.status}"
    unknown = next((entry for entry in standing.entries if isinstance(entry.body, UnknownBody)), None)
    if unknown is not None:
        return f"its journal holds entry {unknown.seq} of a newer version of flowli; use that version"
    lease = await ports.ownership.read(standing.execution.eid)
    if (
        lease is not None
        and lease.epoch > standing.fold.epoch
        and lease.holder is not None
        and lease.idle_s < lease.ttl_s
    ):
        return f"worker {lease.holder.id} holds its lease"
    return None


async def fold_away(services: Services, standing: Standing, by: Provenance) -> Timestamp:
    """Steps 1 to 3; returns when the execution was archived."""
    ports, eid = services.ports, standing.execution.eid
    archived_at = standing.archived_at
    if archived_at is None:
        archived_at = services.world.now()
        await ports.archive.put(ArchivedExecution(standing.execution, standing.entries, standing.position, archived_at))
    await mark_folded(ports, standing.execution, archived_at)
    await services.announcer.post([ControlEntry(ExecutionArchived(eid), by)])
    return archived_at


async def mark_folded(ports: Ports, execution: Execution, at: Timestamp) -> None:
    """Step 2."""
    key = execution.dispatch_key
    claim = await ports.dispatch.read_start(key) if key is not None else None
    if claim is not None and claim.eid == execution.eid and claim.folded_at is None:
        await ports.dispatch.replace_start(claim, replace(claim, folded_at=at))


async def purge(ports: Ports, eid: Eid) -> bool:
    """Steps 4 and 5; False, and nothing deleted, if there is no archive."""
    archived = await ports.archive.get(eid)
    if archived is None:
        return False
    await ports.executions.delete(eid)
    await ports.journal.delete(eid)
    await ports.ownership.remove(eid)
    epoch = max((entry.by.site.epoch for entry in archived.entries), default=0)
    for channel in sorted({channel for entry in archived.entries for channel in waited_on(entry)}):
        if not channel.startswith(f"{eid}."):
            await ports.channel.unmark(channel, eid, up_to_epoch=epoch)
    await ports.channel.delete_own(eid)
    await ports.evidence.delete(eid)
    for frame in JournalFold(archived.entries).frames.values():
        if detached_queue(frame) is not None:
            await ports.ownership.remove(progress_eid(eid, frame.fid))
    if any(isinstance(entry.body, ExecutionErased) for entry in archived.entries):
        await _drop_tasks(ports, eid)
    return True


async def _drop_tasks(ports: Ports, eid: Eid) -> None:
    """Withdraw the tasks of an execution, and discard its dead ones. One that is held goes with its ack."""
    for queue in await ports.queue.queues():
        for view in await ports.queue.find(queue, eid, limit=_TASKS):
            await ports.queue.withdraw(view.task)
        for dead in await ports.queue.dead(queue, limit=_TASKS):
            if dead.task.target == eid:
                await ports.queue.discard(dead)


async def forget_key(ports: Ports, key: str, eid: Eid) -> bool:
    """Forget a dispatch key that still leads to the archived execution ``eid``."""
    claim = await ports.dispatch.read_start(key)
    if claim is None or claim.eid != eid or claim.folded_at is None:
        return False
    await ports.dispatch.forget_start(claim)
    return True
