"""Forking: a new execution that begins with what a finished one has come to; and replaying: one with the same input.

1. Claim the key of the command, if there is one (``receipt``). *Crash after it*: the same call does the rest, as it was
   asked first.
2. Commit the copied journal (``copied``): epoch 1, ending in ``suspended(1)``. *Crash after it*: a journal of which
   nobody knows; the same call goes on.
3. Acquire the lease once, so that it is of epoch 1, which the journal has released: the first owner gets epoch 2.
   *Crash after it*: the same.
4. The timer, the START task, the record (``start``). *Crash after the task*: the execution runs.
5. Post ``execution.created`` and the twins. *Crash before it*: the sweeper posts them once the execution shows up.

A replay has no journal and no lease to begin with: it is 1, 4 and 5. The id of the new execution derives from the
source, the frame and the request, so that doing it twice makes one execution.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from uuid import uuid5

from flowli.domain.entries import START, ControlEntry, JournalEntry
from flowli.domain.errors import NotAllowed
from flowli.domain.execution import Execution, Origin
from flowli.domain.ids import Eid, Fid
from flowli.domain.memo import Frame
from flowli.domain.ports import Holder, Overtaken
from flowli.domain.provenance import Provenance
from flowli.runtime.protocols.copied import Copy, cut, nothing_of
from flowli.runtime.protocols.standing import Standing
from flowli.runtime.protocols.start import created, put_start
from flowli.runtime.protocols.twins import twins
from flowli.runtime.services import Services

__all__ = ["Asked", "fork", "replay"]

_ENTRIES_A_COMMIT = 500


@dataclass(frozen=True, slots=True)
class Asked:
    """A command to make a new execution of a finished one.

    Attributes:
        verb: ``fork``, ``retry`` or ``replay``.
        request: its key, or a drawn id.
        by: the first call.
        allow_irreversible: steps marked irreversible may be run again.
    """

    verb: str
    request: str
    by: Provenance
    allow_irreversible: bool


async def fork(services: Services, source: Standing, frame: Frame | None, asked: Asked) -> Execution:
    """Make an execution that goes on from ``frame`` of ``source``; None keeps all outcomes.

    Raises:
        NotAllowed: a step marked irreversible would be run again.
    """
    copy = cut(source.entries, source.fold, frame)
    _check_irreversible(source, copy.repeated, asked)
    fid = None if frame is None else frame.fid
    execution = _forked(source, fid, copy, asked)
    entries = copy.journal(source.execution.eid, execution, asked.by)
    await _commit(services, execution.eid, entries)
    if await services.ports.ownership.read(execution.eid) is None:
        holder = Holder(f"{services.site.worker_id}/{services.world.token()}", services.site)
        await services.ports.ownership.acquire(execution.eid, holder, services.config.exec_ttl_s)
    await _start(services, execution, entries, asked.by)
    return execution


async def replay(services: Services, source: Standing, version: str, asked: Asked) -> Execution:
    """Make an execution with the input of ``source``.

    Raises:
        NotAllowed: a step marked irreversible would be run again.
    """
    _check_irreversible(source, nothing_of(source.fold).repeated, asked)
    execution = replace(
        _alone(source.execution),
        eid=_new_eid(source, None, asked),
        version=version,
        created_by=asked.by,
        origin=Origin(asked.verb, source.execution.eid),
    )
    await _start(services, execution, (), asked.by)
    return execution


def _alone(record: Execution) -> Execution:
    """Without parent and dispatch key: both lead to the source."""
    return replace(record, parent=None, parent_queue=None, dispatch_key=None)


def _forked(source: Standing, fid: Fid | None, copy: Copy, asked: Asked) -> Execution:
    record = source.execution
    lineage = (*(record.origin.lineage if record.origin is not None else ()), record.eid)
    timeout_s = record.timeout_s
    if timeout_s is not None:  # it is given the whole time once more
        timeout_s += max(0.0, (asked.by.at.us - record.created_at.us) / 1_000_000)
    return replace(
        _alone(record),
        eid=_new_eid(source, fid, asked),
        version=source.fold.version or record.version,
        created_by=replace(asked.by, at=record.created_at),
        origin=Origin(asked.verb, record.eid, fid, lineage),
        timeout_s=timeout_s,
    )


def _new_eid(source: Standing, fid: Fid | None, asked: Asked) -> Eid:
    return uuid5(source.execution.eid, f"{fid or asked.verb}/{asked.request}")


def _check_irreversible(source: Standing, repeated: Sequence[Fid], asked: Asked) -> None:
    if repeated and not asked.allow_irreversible:
        raise NotAllowed(
            f"a {asked.verb} of execution {source.execution.eid} would run {', '.join(repeated[:3])} again, which is "
            "marked irreversible and has completed; say allow_irreversible=True if that is meant"
        )


async def _commit(services: Services, eid: Eid, entries: Sequence[JournalEntry]) -> None:
    """Append the copied journal; what an earlier call has appended of it stands."""
    position = START
    for at in range(0, len(entries), _ENTRIES_A_COMMIT):
        part = entries[at : at + _ENTRIES_A_COMMIT]
        done = await services.ports.journal.append(eid, part, after=position, epoch=1, writer=services.site.worker_id)
        position = done.position
        if isinstance(done, Overtaken) and done.epoch > 1:
            return  # it runs already


async def _start(services: Services, execution: Execution, entries: Sequence[JournalEntry], by: Provenance) -> None:
    await put_start(services.ports, execution, by)
    numbered = [replace(entry, seq=seq) for seq, entry in enumerate(entries, 1)]
    posted = [ControlEntry(created(execution), by), *twins(numbered, execution.eid)]
    await services.announcer.post(posted)
    services.hub.wake_queue(execution.queue)
