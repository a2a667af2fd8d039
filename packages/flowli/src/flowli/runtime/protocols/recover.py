"""Finding executions that nobody works on: what the sweeper does for one execution. Each action may be done twice.

Running by the control log, and the lease unchanged for its ttl (``recover_running``):

1. Read the journal. If it has ended or is suspended, only its twin is missing: post the twins that the control log
   lacks.
2. Else enqueue a RESUME ``expired:{epoch}``, at the instant of the last entry: as long as the journal stands still,
   every sweeper puts the same task. *Crash before it*: the next pass does it.

Created by the control log, and never started (``recover_pending``):

1. If the journal has entries, post the twins that the control log lacks.
2. If the lease has an owner that lives, leave it alone.
3. Take the START as a worker would (``take_start``): an execution that has an archive is not put again.
4. Put the START task.
"""

from __future__ import annotations

from enum import StrEnum

from flowli.domain.ids import Eid
from flowli.domain.ports import Lease
from flowli.domain.provenance import Provenance
from flowli.runtime.protocols.standing import Standing, find_standing
from flowli.runtime.protocols.start import start_task, take_start
from flowli.runtime.protocols.twins import twins
from flowli.runtime.protocols.wake import ExpiredCause, resume_task
from flowli.runtime.services import Services

__all__ = ["Recovery", "recover_pending", "recover_running", "repair_twins", "vacant"]


class Recovery(StrEnum):
    """What was done."""

    NOTHING = "nothing"
    RESUMED = "resumed"
    RESTARTED = "restarted"
    TWINS_POSTED = "twins_posted"


def vacant(lease: Lease | None) -> bool:
    """Whether nobody can be working under the lease any more."""
    return lease is None or lease.holder is None or lease.epoch == 0 or lease.idle_s >= lease.ttl_s


async def repair_twins(services: Services, standing: Standing, *, known_seq: int) -> bool:
    """Post the twins of the journal's entries after ``known_seq``; False if none is missing."""
    missing = twins(standing.entries, standing.execution.eid, after_seq=known_seq)
    if missing:
        await services.announcer.post(missing)
    return bool(missing)


async def recover_running(
    services: Services, eid: Eid, lease: Lease | None, *, known_seq: int, by: Provenance
) -> Recovery:
    """Recover an execution that the control log shows as running and whose lease is vacant.

    Args:
        known_seq: journal sequence number of the last twin in the control log.
    """
    standing = await find_standing(services.ports, eid)
    if standing is None:
        return Recovery.NOTHING
    repaired = await repair_twins(services, standing, known_seq=known_seq)
    if standing.fold.released_epoch is not None:
        return Recovery.TWINS_POSTED if repaired else Recovery.NOTHING
    execution = standing.execution
    put = await services.ports.queue.enqueue(
        resume_task(
            queue=execution.queue,
            priority=execution.priority,
            eid=eid,
            cause=ExpiredCause(max(standing.fold.epoch, lease.epoch if lease else 0)),
            at=standing.at,
            by=by,
        )
    )
    services.hub.wake_queue(execution.queue)
    return Recovery.RESUMED if put else Recovery.NOTHING


async def recover_pending(services: Services, eid: Eid, *, known_seq: int, by: Provenance) -> Recovery:
    """Recover an execution that the control log shows as created and never started."""
    standing = await find_standing(services.ports, eid)
    if standing is None:
        return Recovery.NOTHING
    if standing.entries:
        repaired = await repair_twins(services, standing, known_seq=known_seq)
        return Recovery.TWINS_POSTED if repaired else Recovery.NOTHING
    if not vacant(await services.ports.ownership.read(eid)):
        return Recovery.NOTHING
    task = start_task(standing.execution, by)
    if await take_start(services.ports, task, journal_empty=True) is None:
        return Recovery.NOTHING
    put = await services.ports.queue.enqueue(task)
    services.hub.wake_queue(task.queue)
    return Recovery.RESTARTED if put else Recovery.NOTHING
