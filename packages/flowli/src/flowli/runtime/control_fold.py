"""``ControlFold``: what the control log says of each execution, kept up to date by reading only what is new."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from flowli.domain.entries import (
    START,
    Announced,
    ControlEntry,
    ExecutionArchived,
    ExecutionCreated,
    ExecutionErased,
    ExecutionMigrated,
    Position,
    StatusChanged,
)
from flowli.domain.execution import ExecutionStatus
from flowli.domain.ids import Eid
from flowli.domain.ports import ControlLog
from flowli.domain.waits import On, OnOperator
from flowli.runtime.signs import Codes, codes_of
from flowli.runtime.sweep_jobs import Follower
from flowli.timestamp import Timestamp

__all__ = ["ArchivedAt", "ControlFold", "Known"]


@dataclass(slots=True)
class Known:
    """One execution by the control log.

    Attributes:
        at: the instant of the entry that counts.
        journal_seq: of the twin that counts; 0 before the first.
        workflow: "" as long as ``execution.created`` was not seen.
        waited_on: all that its suspensions named, until it is forgotten.
        parked: why it waits on the operator, while it does.
        parked_by: the codes that could not go on with it, since it last went on by itself.
    """

    eid: Eid
    at: Timestamp
    status: ExecutionStatus = ExecutionStatus.PENDING
    epoch: int = 0
    journal_seq: int = 0
    workflow: str = ""
    version: str = ""
    dispatch_key: str | None = None
    waited_on: set[On] = field(default_factory=set)
    parked: OnOperator | None = None
    parked_by: set[str] = field(default_factory=set)
    archived: bool = False
    erased: bool = False

    def changed(self, body: StatusChanged, at: Timestamp) -> None:
        """A twin of a later entry of its journal."""
        self.journal_seq = body.journal_seq
        self.version = body.version or self.version
        self.erased = self.erased or body.entry == ExecutionErased.tag
        if body.entry == ExecutionErased.tag and self.status.terminal:  # its end stays what it was
            return
        self.status, self.epoch, self.at = body.status, body.epoch, at
        self.waited_on.update(body.on)
        self.parked = next((on for on in body.on if isinstance(on, OnOperator)), None)
        if self.parked is not None and self.parked.cause == "nondeterminism":
            self.parked_by.add(self.parked.code_ref)
        elif body.on or body.entry == ExecutionMigrated.tag:
            self.parked_by.clear()


@dataclass(frozen=True, slots=True)
class ArchivedAt:
    """An ``execution.archived`` entry; ``erased`` if the execution had been erased by then."""

    seq: int
    eid: Eid
    at: Timestamp
    erased: bool = False


class ControlFold:
    """Follows the control log from its beginning.

    Attributes:
        executions: all that were not forgotten.
        archived: the archived ones, in order.
        codes: the code that workers have come with, by workflow and version; the latest ones last.
        position: up to where it has read.
        erased_seq: number of the last entry that tells of an erasing; 0 before the first.
    """

    def __init__(self) -> None:
        self.executions: dict[Eid, Known] = {}
        self.archived: list[ArchivedAt] = []
        self.codes = Codes()
        self.position: Position = START
        self.erased_seq = 0

    async def catch_up(self, control: ControlLog, followers: Sequence[Follower] = ()) -> dict[Eid, Known]:
        """Read what is new; returns the executions it is about.

        Args:
            followers: are shown each entry as well.
        """
        changed: dict[Eid, Known] = {}
        while True:
            found = await control.read(after=self.position)
            for entry in found.entries:
                for follower in followers:
                    follower.take(entry)
                known = self.add(entry)
                if known is not None:
                    changed[known.eid] = known
            self.position = found.position
            if found.caught_up:
                return changed

    def add(self, entry: ControlEntry) -> Known | None:
        """Take one entry into account; None if it changes nothing of an execution."""
        match entry.body:
            case ExecutionCreated() as created:
                known = self._known(created.eid, entry)
                known.workflow, known.dispatch_key = created.workflow, created.dispatch_key
                known.version = known.version or created.version
                return known
            case StatusChanged() as body:
                known = self._known(body.eid, entry)
                if body.entry == ExecutionErased.tag:
                    self.erased_seq = max(self.erased_seq, entry.seq)
                if body.journal_seq <= known.journal_seq:
                    return None
                known.changed(body, entry.at)
                return known
            case ExecutionArchived(eid):
                known = self._known(eid, entry)
                known.archived = True
                self.archived.append(ArchivedAt(entry.seq, eid, entry.at, known.erased))
                return known
            case Announced() as announced:
                self.codes.add(codes_of(announced))
                return None
            case _:
                return None

    def forget(self, eid: Eid) -> None:
        """Drop an execution that is of no interest any more."""
        self.executions.pop(eid, None)

    def _known(self, eid: Eid, entry: ControlEntry) -> Known:
        return self.executions.setdefault(eid, Known(eid, entry.at))
