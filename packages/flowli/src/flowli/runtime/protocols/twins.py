"""Twins: what the control log says of an entry of a journal.

The journal is the authority: its entry is durable first, the twin is posted second. A twin that is missing after a
crash is posted again by the sweeper, from the journal; folds keep the twin with the greatest ``journal_seq``.
"""

from __future__ import annotations

from collections.abc import Iterable

from flowli.domain.entries import (
    ControlEntry,
    ExecutionCancelled,
    ExecutionCancelRequested,
    ExecutionCompleted,
    ExecutionFailed,
    ExecutionMigrated,
    ExecutionPaused,
    ExecutionResumed,
    ExecutionStarted,
    ExecutionSuspended,
    ExecutionUnpaused,
    JournalEntry,
    StatusChanged,
)
from flowli.domain.errors import ErrorInfo
from flowli.domain.execution import ExecutionStatus
from flowli.domain.ids import Eid
from flowli.domain.waits import OnOperator

__all__ = ["twin", "twins"]


def twin(entry: JournalEntry, eid: Eid) -> ControlEntry | None:
    """The twin of an appended journal entry; None if entries of its kind have none (frames, patches, erasures)."""
    body, epoch, seq = entry.body, entry.by.site.epoch, entry.seq
    running = ExecutionStatus.RUNNING
    match body:
        case ExecutionStarted(execution):
            changed = StatusChanged(eid, running, body.tag, max(1, epoch), seq, version=execution.version)
        case ExecutionResumed(own, reasons):
            changed = StatusChanged(eid, running, body.tag, own, seq, reason=", ".join(reasons))
        case ExecutionSuspended(on, own, others):
            why = next((wait.reason for wait in on if isinstance(wait, OnOperator)), "")
            suspended = ExecutionStatus.SUSPENDED
            changed = StatusChanged(eid, suspended, body.tag, own, seq, on=on, reason=why, others=others)
        case ExecutionMigrated(_, to_version, reason):
            changed = StatusChanged(eid, running, body.tag, epoch, seq, reason=reason, version=to_version)
        case ExecutionPaused(reason) | ExecutionUnpaused(reason) | ExecutionCancelRequested(reason):
            changed = StatusChanged(eid, running, body.tag, epoch, seq, reason=reason)
        case ExecutionCompleted():
            changed = StatusChanged(eid, ExecutionStatus.COMPLETED, body.tag, epoch, seq)
        case ExecutionFailed(error):
            short = ErrorInfo(error.type, error.message)
            changed = StatusChanged(eid, ExecutionStatus.FAILED, body.tag, epoch, seq, error=short)
        case ExecutionCancelled(reason):
            changed = StatusChanged(eid, ExecutionStatus.CANCELLED, body.tag, epoch, seq, reason=reason)
        case _:
            return None
    return ControlEntry(changed, entry.by)


def twins(entries: Iterable[JournalEntry], eid: Eid, *, after_seq: int = 0) -> list[ControlEntry]:
    """The twins of all entries after ``after_seq`` that have one, in order."""
    found = (twin(entry, eid) for entry in entries if entry.seq > after_seq)
    return [entry for entry in found if entry is not None]
