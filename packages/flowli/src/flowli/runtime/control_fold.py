"""``ControlFold``: what the control log says of each execution, kept up to date by reading only what is new."""

from __future__ import annotations

from dataclasses import dataclass, field

from flowli.domain.entries import START, ControlEntry, ExecutionArchived, ExecutionCreated, StatusChanged
from flowli.domain.execution import ExecutionStatus
from flowli.domain.ids import Eid
from flowli.domain.ports import ControlLog
from flowli.domain.waits import On
from flowli.timestamp import Timestamp

__all__ = ["ArchivedAt", "ControlFold", "Known"]


@dataclass(slots=True)
class Known:
    """One execution by the control log.

    Attributes:
        at: the instant of the entry that counts.
        journal_seq: of the twin that counts; 0 before the first.
        waited_on: all that its suspensions named, until it is forgotten.
    """

    eid: Eid
    at: Timestamp
    status: ExecutionStatus = ExecutionStatus.PENDING
    epoch: int = 0
    journal_seq: int = 0
    workflow: str = ""
    dispatch_key: str | None = None
    waited_on: set[On] = field(default_factory=set)
    archived: bool = False


@dataclass(frozen=True, slots=True)
class ArchivedAt:
    """An ``execution.archived`` entry."""

    seq: int
    eid: Eid
    at: Timestamp


class ControlFold:
    """Follows the control log from its beginning.

    Attributes:
        executions: all that were not forgotten.
        archived: the archived ones, in order.
    """

    def __init__(self) -> None:
        self.executions: dict[Eid, Known] = {}
        self.archived: list[ArchivedAt] = []
        self._position = START

    async def catch_up(self, control: ControlLog) -> dict[Eid, Known]:
        """Read what is new; returns the executions it is about."""
        changed: dict[Eid, Known] = {}
        while True:
            found = await control.read(after=self._position)
            for entry in found.entries:
                known = self.add(entry)
                if known is not None:
                    changed[known.eid] = known
            self._position = found.position
            if found.caught_up:
                return changed

    def add(self, entry: ControlEntry) -> Known | None:
        """Take one entry into account; None if it changes nothing."""
        match entry.body:
            case ExecutionCreated() as created:
                known = self._known(created.eid, entry)
                known.workflow, known.dispatch_key = created.workflow, created.dispatch_key
                return known
            case StatusChanged() as changed:
                known = self._known(changed.eid, entry)
                if changed.journal_seq <= known.journal_seq:
                    return None
                known.status, known.epoch, known.at = changed.status, changed.epoch, entry.at
                known.journal_seq = changed.journal_seq
                known.waited_on.update(changed.on)
                return known
            case ExecutionArchived(eid):
                self.archived.append(ArchivedAt(entry.seq, eid, entry.at))
                known = self._known(eid, entry)
                known.archived = True
                return known
            case _:
                return None

    def forget(self, eid: Eid) -> None:
        """Drop an execution that is of no interest any more."""
        self.executions.pop(eid, None)

    def _known(self, eid: Eid, entry: ControlEntry) -> Known:
        return self.executions.setdefault(eid, Known(eid, entry.at))
