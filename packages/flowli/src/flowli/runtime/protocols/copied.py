"""The journal of a fork: what is copied of its source, and how it is changed.

All outcomes that came before that of the frame from which it is forked are kept: they cannot have depended on it. What
the code asked for after the last of them it asks for again. What was under way elsewhere is begun again by the fork: a
step runs, a child of the fork's own is started, a wait goes on.

What belonged to the source as an owned thing is left out: takeovers, suspensions, pauses, migrations (the fork runs the
version that the source had come to). All entries stand under epoch 1, and the last one releases it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from flowli.domain.data import Data
from flowli.domain.entries import (
    AnyFrameBody,
    ExecutionCancelRequested,
    ExecutionMigrated,
    ExecutionPaused,
    ExecutionResumed,
    ExecutionStarted,
    ExecutionSuspended,
    ExecutionUnpaused,
    FrameCompleted,
    FrameFailed,
    FrameStarted,
    FrameSuspended,
    JournalEntry,
)
from flowli.domain.execution import Execution
from flowli.domain.frames import FrameKind, FrameStatus
from flowli.domain.ids import Eid, Fid, child_eid
from flowli.domain.memo import Frame, JournalFold
from flowli.domain.provenance import Provenance

__all__ = ["Copy", "cut", "nothing_of"]

_LEFT_OUT = (
    ExecutionMigrated,
    ExecutionPaused,
    ExecutionResumed,
    ExecutionStarted,
    ExecutionSuspended,
    ExecutionUnpaused,
    FrameSuspended,
)


@dataclass(frozen=True, slots=True)
class Copy:
    """What is kept of a source.

    Attributes:
        entries: as the source recorded them.
        repeated: steps marked irreversible that have completed in the source and will be run again.
    """

    entries: tuple[JournalEntry, ...]
    repeated: tuple[Fid, ...]

    def journal(self, source: Eid, execution: Execution, by: Provenance) -> list[JournalEntry]:
        """The whole journal of the fork ``execution``, which ``by`` asked for."""
        live = {frame.fid for frame in JournalFold(self.entries).live_frames()}
        kept = [replace(entry, seq=0, by=_at_epoch_1(entry.by)) for entry in self.entries]
        own = _at_epoch_1(by)
        last = max([own.at, execution.created_at, *(entry.at for entry in kept[-1:])])
        return [
            JournalEntry(ExecutionStarted(execution), replace(own, at=execution.created_at)),
            *(_renamed(entry, source, execution.eid, live) for entry in kept),
            JournalEntry(ExecutionSuspended((), 1), replace(own, at=last)),
        ]


def cut(entries: Sequence[JournalEntry], fold: JournalFold, frame: Frame | None) -> Copy:
    """What is kept when a finished execution is forked from ``frame``; None keeps all outcomes.

    Args:
        entries: the journal of the source, ``fold`` its fold.
    """
    end = fold.lifecycle_seq if frame is None else _end(entries, fold, frame)
    # what the code asked for after the last outcome it will ask for again, perhaps in another way
    last = max((entry.seq for entry in entries[: end - 1] if _is_told(entry)), default=0)
    before = entries[:last]
    kept = [entry for entry in before if not isinstance(entry.body, _LEFT_OUT)]
    if frame is not None:
        kept = _without_attempts(kept, frame.fid)
    return _copy(kept, fold)


def nothing_of(fold: JournalFold) -> Copy:
    """The copy that keeps nothing."""
    return _copy((), fold)


def _copy(kept: Sequence[JournalEntry], fold: JournalFold) -> Copy:
    outcomes = JournalFold(kept).frames
    repeated = [
        done.fid
        for done in fold.frames.values()
        if done.metadata.get("irreversible") and done.status is FrameStatus.COMPLETED
        if done.fid not in outcomes or outcomes[done.fid].status is not FrameStatus.COMPLETED
    ]
    return Copy(tuple(kept), tuple(repeated))


def _is_told(entry: JournalEntry) -> bool:
    """Whether the code was given this entry."""
    body = entry.body
    return isinstance(body, FrameCompleted | ExecutionCancelRequested) or (
        isinstance(body, FrameFailed) and body.retry_at is None
    )


def _end(entries: Sequence[JournalEntry], fold: JournalFold, frame: Frame) -> int:
    """The number of the first entry that is not kept."""
    if frame.outcome_seq is None:
        return fold.lifecycle_seq
    if frame.status is not FrameStatus.CANCELLED:
        return frame.outcome_seq
    # the code gave it up because of what it was told last
    told = (entry.seq for entry in entries[frame.started_seq : frame.outcome_seq - 1] if _is_told(entry))
    return max(told, default=frame.outcome_seq)


def _without_attempts(entries: Iterable[JournalEntry], fid: Fid) -> list[JournalEntry]:
    """Without what a frame has come through; its first start stays, since the code made it before what follows."""
    kept: list[JournalEntry] = []
    started = False
    for entry in entries:
        if not (isinstance(entry.body, AnyFrameBody) and entry.body.fid == fid):
            kept.append(entry)
        elif isinstance(entry.body, FrameStarted) and not started:
            started = True
            kept.append(entry)
    return kept


def _at_epoch_1(by: Provenance) -> Provenance:
    return replace(by, site=by.site.at_epoch(1))


def _renamed(entry: JournalEntry, source: Eid, eid: Eid, live: set[Fid]) -> JournalEntry:
    """The start of a frame with the names that the fork's code gives: of its own channels, of the children that it
    starts itself.
    """
    body = entry.body
    if not isinstance(body, FrameStarted):
        return entry
    metadata: dict[str, Data] = {}
    for name, value in body.metadata.items():
        own = isinstance(value, str) and value.startswith(f"{source}.")
        metadata[name] = f"{eid}.{str(value).partition('.')[2]}" if own else value
    if body.kind is FrameKind.CHILD and body.fid in live:
        metadata["eid"] = str(child_eid(eid, body.fid))
    return replace(entry, body=replace(body, metadata=metadata))
