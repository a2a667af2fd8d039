"""Where an execution stands: its record and its journal, or its archive afterwards, read in an order that never
misses it.

1. Read the journal, then the record. Retention deletes the record before it begins with the journal: if the record
   still stands, the journal was read whole. The other way round, a reader whom the deletion overtakes would see the
   first entries of an execution that has ended, and take it for a running one.
2. If there is no record, or the journal is empty, read the archive: retention writes it before it deletes anything, so
   that a finished execution is found in one of the two at any instant.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from flowli.domain.entries import START, JournalEntry, Position
from flowli.domain.errors import NotAllowed, UnknownExecution
from flowli.domain.execution import Execution
from flowli.domain.ids import Eid
from flowli.domain.memo import JournalFold
from flowli.domain.ports import Ports
from flowli.timestamp import Timestamp

__all__ = ["Standing", "find_standing", "read_standing"]


@dataclass(frozen=True, slots=True)
class Standing:
    """One execution as it was read.

    Attributes:
        fold: of ``entries``.
        position: the end of the journal as it was read.
        archived_at: when it was archived; None while record and journal stand.
    """

    execution: Execution
    entries: tuple[JournalEntry, ...]
    position: Position
    fold: JournalFold
    archived_at: Timestamp | None = None

    @classmethod
    def new(cls, execution: Execution) -> Standing:
        """An execution without a journal."""
        return cls(execution, (), START, JournalFold())

    @property
    def ended(self) -> bool:
        """Whether the journal holds a terminal entry."""
        return self.fold.end is not None

    @property
    def at(self) -> Timestamp:
        """The instant of the last entry, of the creation if there is none."""
        return self.fold.at or self.execution.created_at

    @property
    def ended_at(self) -> Timestamp | None:
        """When it ended."""
        return self.entries[self.fold.lifecycle_seq - 1].at if self.ended else None

    def extended(self, entries: Iterable[JournalEntry], position: Position) -> Standing:
        """The same execution after more entries; it takes the fold over, so that the old value is used up."""
        more = tuple(entries)
        if not more:
            return self
        for entry in more:
            self.fold.add(entry)
        return Standing(self.execution, self.entries + more, position, self.fold, self.archived_at)

    async def refreshed(self, ports: Ports) -> Standing:
        """The same execution with what was appended since."""
        found = await ports.journal.read(self.execution.eid, after=self.position)
        return self.extended(found.entries, found.position)

    def require_live(self, verb: str) -> None:
        """Raise ``NotAllowed`` if the execution has ended; ``verb`` completes "and cannot be"."""
        if self.ended:
            eid = self.execution.eid
            raise NotAllowed(
                f"execution {eid} is {self.fold.status} and cannot be {verb}; `flowli show {eid}` tells more"
            )


async def find_standing(ports: Ports, eid: Eid) -> Standing | None:
    """Where ``eid`` stands; None if no such execution is known."""
    found = await ports.journal.read(eid)
    execution = await ports.executions.get(eid)
    if execution is not None and found.entries:
        return Standing(execution, found.entries, found.position, JournalFold(found.entries))
    archived = await ports.archive.get(eid)
    if archived is not None:
        fold = JournalFold(archived.entries)
        return Standing(archived.execution, archived.entries, archived.position, fold, archived.archived_at)
    return None if execution is None else Standing.new(execution)


async def read_standing(ports: Ports, eid: Eid) -> Standing:
    """Where ``eid`` stands.

    Raises:
        UnknownExecution: no such execution is known.
    """
    found = await find_standing(ports, eid)
    if found is None:
        raise UnknownExecution(eid)
    return found
