"""Taking an execution out of a bucket, and into another one.

What is taken in is finished: it becomes an archive, with its place in the control log. It may be done twice.

1. Check it: its journal is dense and sound, begins with its own record, and ends.
2. Look whether the bucket knows the id. The same execution is there already; another one under its id is refused.
3. Write the archive, if there is none. *Crash after it*: lists do not show it; the same call does the rest.
4. Post its entries in the control log: created, the twins, attributes, archived.

Its business key leads nowhere in the new bucket, and its parent and children may be elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from flowli.domain.data import Scalar
from flowli.domain.entries import (
    AttributesSet,
    ControlEntry,
    ExecutionArchived,
    ExecutionErased,
    ExecutionStarted,
    Position,
    StatusChanged,
)
from flowli.domain.errors import NotAllowed
from flowli.domain.ids import Eid
from flowli.domain.memo import JournalFold
from flowli.domain.ports import ArchivedExecution, Ports
from flowli.domain.provenance import Provenance
from flowli.runtime.portable.form import Portable
from flowli.runtime.protocols.standing import find_standing, read_standing
from flowli.runtime.protocols.start import created
from flowli.runtime.protocols.twins import twins
from flowli.runtime.services import Services

__all__ = ["Taken", "check", "portable", "take_in"]


@dataclass(frozen=True, slots=True)
class Taken:
    """What became of one execution.

    Attributes:
        new: False if it was there already.
    """

    eid: Eid
    new: bool


async def portable(ports: Ports, eid: Eid, attributes: Mapping[str, Scalar]) -> Portable:
    """One execution as it stands; archived ones too.

    Args:
        attributes: as they were set last.

    Raises:
        UnknownExecution: no such execution.
    """
    standing = await read_standing(ports, eid)
    return Portable(standing.execution, standing.entries, attributes, standing.archived_at)


def check(one: Portable) -> str:
    """Why an execution cannot be taken in, in one sentence; "" if it can."""
    fold, first = JournalFold(one.entries), one.entries[0].body if one.entries else None
    if fold.end is None:
        return f"it is {fold.status}: only what has ended can be taken in"
    if fold.anomalies:
        return f"entry {fold.anomalies[0].seq} of its journal does not fit: {fold.anomalies[0].problem}"
    if not isinstance(first, ExecutionStarted) or first.execution.eid != one.execution.eid:
        return "its journal is that of another execution"
    return ""


async def take_in(services: Services, one: Portable, by: Provenance) -> Taken:
    """Take one execution in (steps 1 to 4).

    Raises:
        NotAllowed: it cannot be taken in, or another execution has its id.
    """
    eid, ports = one.execution.eid, services.ports
    problem = check(one)
    if problem:
        raise NotAllowed(f"execution {eid} cannot be taken in: {problem}")
    found = await find_standing(ports, eid)
    if found is not None and found.entries != one.entries:
        raise NotAllowed(f"execution {eid} is in this bucket with another journal, and stays as it is")
    if found is not None and found.archived_at is None:
        return Taken(eid, new=False)
    new = found is None
    if new:
        position = Position(1, len(one.entries))
        new = await ports.archive.put(ArchivedExecution(one.execution, one.entries, position, services.world.now()))
    await services.announcer.post(_told(one, by))
    return Taken(eid, new)


def _told(one: Portable, by: Provenance) -> list[ControlEntry]:
    eid = one.execution.eid
    told = [ControlEntry(created(one.execution), one.execution.created_by), *twins(one.entries, eid)]
    fold = JournalFold(one.entries)
    if fold.erased:
        told.append(ControlEntry(StatusChanged(eid, fold.status, ExecutionErased.tag, fold.epoch, fold.seq), by))
    if one.attributes:
        told.append(ControlEntry(AttributesSet(eid, dict(one.attributes)), by))
    return [*told, ControlEntry(ExecutionArchived(eid), by)]
