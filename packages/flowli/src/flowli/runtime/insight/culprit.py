"""The frame with whose failure an execution failed."""

from __future__ import annotations

from flowli import codec
from flowli.domain.entries import ExecutionFailed
from flowli.domain.errors import ChildFailed, StepFailed
from flowli.domain.frames import FrameKind, FrameStatus
from flowli.domain.ids import Eid, child_eid
from flowli.domain.memo import Frame, JournalFold

__all__ = ["culprit"]


def culprit(eid: Eid, fold: JournalFold, end: ExecutionFailed) -> Frame | None:
    """The frame whose failure is the execution's: the one that its error is equal to, else the last one that failed if
    the code did nothing more after it; None if the code itself failed.
    """
    failed = [frame for frame in fold.frames.values() if frame.status is FrameStatus.FAILED]
    failed.sort(key=lambda frame: frame.outcome_seq or 0, reverse=True)
    same = next((frame for frame in failed if _shown(eid, frame) == (end.error.type, end.error.message)), None)
    if same is not None or not failed:
        return same
    later = (frame.outcome_seq or 0 for frame in fold.frames.values() if frame.status is FrameStatus.COMPLETED)
    return failed[0] if max(later, default=0) < (failed[0].outcome_seq or 0) else None


def _shown(eid: Eid, frame: Frame) -> tuple[str, str] | None:
    """Type and message of the error that the code was given for a failed frame."""
    if frame.error is None:
        return None
    if frame.kind is FrameKind.CHILD:
        info = codec.error_info(ChildFailed(frame.fid, child_eid(eid, frame.fid), frame.error))
    else:
        info = codec.error_info(StepFailed(frame.fid, frame.attempt, frame.error))
    return info.type, info.message
