"""Erasing the payloads of a finished execution.

1. Append ``execution.erased`` under a new epoch, unless the journal is gone: then the archive takes it up. *Crash after
   it*: the execution is known as erased; the same call does the rest.
2. Redact the messages on global channels that it sent, or that it waited for by their correlation.
3. Put the scrubbed archive, or replace the one that stands. From here on every reader that does not find the journal
   sees what stays. *Crash before it*: as after 1.
4. Mark the dispatch claim as folded; post the twin, on which projections drop their values, and ``execution.archived``
   anew, so that retention comes by when ``retire_grace_s`` have passed, and after three times as long, and removes what
   late writers left. Then drop the snapshot of projections, which may hold what these drop now: who writes one reads
   on for this twin.
5. Delete record, journal, lease, channels, evidence, tasks and dead letters (``retire.purge``). *Crash in between*: the
   same call, or retention, deletes again.

The control log keeps what it was told: attributes, announcements, the messages of errors, until it is compacted. Claims
of ``ctx.claim`` stand under their own keys, and children are executions of their own: both stay.
"""

from __future__ import annotations

from dataclasses import replace

from flowli.domain.channels import Message
from flowli.domain.entries import (
    ControlEntry,
    ExecutionArchived,
    ExecutionErased,
    ExecutionStarted,
    JournalEntry,
    Position,
    StatusChanged,
)
from flowli.domain.errors import LeaseLost
from flowli.domain.ids import Eid
from flowli.domain.memo import JournalFold
from flowli.domain.ports import Acquired, Appended, ArchivedExecution, ControlSnapshots, Holder, Ports
from flowli.domain.provenance import Provenance
from flowli.runtime.protocols.retire import mark_folded, purge
from flowli.runtime.protocols.standing import Standing, read_standing
from flowli.runtime.scrub import Scrub, scrubbed
from flowli.runtime.services import Services

__all__ = ["erase"]


async def erase(services: Services, eid: Eid, *, reason: str, by: Provenance, scrub: Scrub) -> None:
    """Erase a finished execution; returns when all of it is done. Doing it again does the rest.

    Raises:
        UsageError: ``scrub`` made other entries of what it was given; nothing but the mark of the erasing was stored.
    """
    standing = await _mark(services, eid, reason, by)
    await _redact(services.ports, standing)
    await _archive(services, standing, scrub)
    await mark_folded(services.ports, standing.execution, services.world.now())
    await services.announcer.post([_twin(standing), ControlEntry(ExecutionArchived(eid), by)])
    if isinstance(services.ports.control, ControlSnapshots):
        await services.ports.control.drop_snapshot()
    await purge(services.ports, eid)


async def _mark(services: Services, eid: Eid, reason: str, by: Provenance) -> Standing:
    """Step 1: the execution with its mark."""
    while True:
        standing = await read_standing(services.ports, eid)
        if standing.fold.erased:
            return standing
        if standing.archived_at is not None:
            stamped = _later(replace(by, site=by.site.at_epoch(standing.fold.epoch)), standing)
            entry = JournalEntry(ExecutionErased(reason), stamped, standing.fold.seq + 1)
            return standing.extended([entry], Position(standing.position.commit, standing.position.seq + 1))
        try:
            marked = await _append(services, standing, reason, by)
        except LeaseLost:  # retention took it away between two requests: look at the archive
            continue
        if marked is not None:
            return marked


async def _append(services: Services, standing: Standing, reason: str, by: Provenance) -> Standing | None:
    eid = standing.execution.eid
    holder = Holder(f"{services.site.worker_id}/{services.world.token()}", services.site)
    ports, ttl_s = services.ports, services.config.exec_ttl_s
    # nobody has anything to do under the lease of an execution that has ended
    got = await ports.ownership.acquire(
        eid, holder, ttl_s, free_epoch=standing.fold.released_epoch, seen=await ports.ownership.read(eid), force=True
    )
    if not isinstance(got, Acquired):
        return None
    epoch = got.lease.epoch
    stamped = _later(replace(by, site=by.site.at_epoch(epoch)), standing)
    entry = JournalEntry(ExecutionErased(reason), stamped, standing.fold.seq + 1)
    done = await ports.journal.append(eid, [entry], after=standing.position, epoch=epoch, writer=holder.id)
    return standing.extended([entry], done.position) if isinstance(done, Appended) else None


def _later(by: Provenance, standing: Standing) -> Provenance:
    return replace(by, at=max(by.at, standing.at))


async def _redact(ports: Ports, standing: Standing) -> None:
    """Step 2."""
    eid, fold = standing.execution.eid, standing.fold
    awaited: dict[str, set[int]] = {}
    for frame in fold.frames.values():
        channel = frame.metadata.get("channel")
        if isinstance(channel, str) and "." not in channel:
            numbers = awaited.setdefault(channel, set())
            if frame.message_seq is not None and "correlation" in frame.metadata:
                numbers.add(frame.message_seq)
    for channel, numbers in awaited.items():
        for message in (await ports.channel.read(channel)).messages:
            if message.payload is not None and (message.seq in numbers or _sent_by(message, eid)):
                await ports.channel.redact(message)


def _sent_by(message: Message, eid: Eid) -> bool:
    return message.id.startswith(f"{eid}/")


async def _archive(services: Services, standing: Standing, scrub: Scrub) -> None:
    """Step 3."""
    entries = scrubbed(standing.entries, scrub)
    started = next(entry.body for entry in entries if isinstance(entry.body, ExecutionStarted))
    record = replace(started.execution, version=standing.execution.version)
    archived_at = standing.archived_at or services.world.now()
    archived = ArchivedExecution(record, entries, standing.position, archived_at)
    if not await services.ports.archive.put(archived):
        await services.ports.archive.replace(archived)


def _twin(standing: Standing) -> ControlEntry:
    entry = next(entry for entry in standing.entries if isinstance(entry.body, ExecutionErased))
    fold: JournalFold = standing.fold
    epoch = entry.by.site.epoch
    return ControlEntry(
        StatusChanged(standing.execution.eid, fold.status, ExecutionErased.tag, epoch, entry.seq), entry.by
    )
