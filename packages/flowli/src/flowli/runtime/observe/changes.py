"""Control entries as events: the control log says of every execution what observers and subscribers want to know."""

from __future__ import annotations

from flowli.domain.entries import (
    ControlEntry,
    ExecutionArchived,
    ExecutionCreated,
    StatusChanged,
)
from flowli.runtime.observe.events import Change, ExecutionChanged

__all__ = ["change_of"]

_CHANGES = {f"execution.{change.value}": change for change in Change}


def change_of(entry: ControlEntry) -> ExecutionChanged | None:
    """The change that an entry of the control log tells of; None if it tells of something else."""
    match entry.body:
        case ExecutionCreated(eid, workflow, version, _, queue):
            return ExecutionChanged(eid, Change.CREATED, entry.at, workflow, version, queue)
        case StatusChanged() as said:
            change = _CHANGES.get(said.entry)
            if change is None:  # a newer release knows more changes than this one
                return None
            return ExecutionChanged(
                said.eid,
                change,
                entry.at,
                version=said.version or "",
                epoch=said.epoch,
                journal_seq=said.journal_seq,
                reason=said.reason,
                error=said.error,
                on=said.on,
            )
        case ExecutionArchived(eid):
            return ExecutionChanged(eid, Change.ARCHIVED, entry.at)
        case _:
            return None
