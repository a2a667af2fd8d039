"""``tree``: the frames of an execution below each other, with attempts, durations, waits and errors."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta

from flowli.domain.data import Data
from flowli.domain.errors import ErrorInfo
from flowli.domain.frames import FrameKind, FrameStatus
from flowli.domain.ids import ROOT, Eid, Fid
from flowli.domain.memo import AttemptView, Frame
from flowli.domain.waits import On
from flowli.runtime.insight.inspection import Inspection, Wait
from flowli.timestamp import Timestamp

__all__ = ["AttemptNode", "FrameNode", "frame_tree"]


@dataclass(frozen=True, slots=True)
class AttemptNode:
    """One attempt.

    Attributes:
        took: how long it took, or has taken so far.
    """

    number: int
    started_at: Timestamp
    ended_at: Timestamp | None
    took: timedelta
    error: ErrorInfo | None = None


@dataclass(frozen=True, slots=True)
class FrameNode:
    """One frame, or a scope that holds frames.

    Attributes:
        name: the last part of ``fid``.
        kind: None for a scope.
        status: of a scope: running while one of its frames is; else that of its last frame.
        took: how long it took, or has taken so far.
        waits_on: what it waits on now; ``deadline`` when it stops to.
        value: the memo, where values were asked for.
        error: its failure, or that of the attempt before.
        why: why it was given up.
        child: the execution of a child frame.
        frames: those below it, in the order of their start.
    """

    fid: Fid
    name: str
    kind: FrameKind | None
    status: FrameStatus
    started_at: Timestamp
    ended_at: Timestamp | None
    took: timedelta
    waits_on: On | None = None
    deadline: Timestamp | None = None
    attempts: tuple[AttemptNode, ...] = ()
    value: Data = None
    error: ErrorInfo | None = None
    why: str = ""
    child: Eid | None = None
    frames: tuple[FrameNode, ...] = ()


@dataclass(slots=True)
class _Place:
    fid: Fid
    frame: Frame | None = None
    below: dict[str, _Place] = field(default_factory=dict)


def frame_tree(seen: Inspection, *, values: bool = False) -> tuple[FrameNode, ...]:
    """The frames below the root.

    Args:
        values: show the memos.
    """
    root = _Place(ROOT)
    for frame in seen.fold.frames.values():
        if frame.kind is FrameKind.ROOT:
            continue
        place = root
        for part in frame.fid.removeprefix(f"{ROOT}/").split("/"):
            place = place.below.setdefault(part, _Place(f"{place.fid}/{part}"))
        place.frame = frame
    waits = {wait.fid: wait for wait in seen.waits}
    end = _ended_at(seen)
    return tuple(_node(one, seen, waits, end, values) for one in root.below.values())


def _ended_at(seen: Inspection) -> Timestamp | None:
    return seen.entries[seen.fold.lifecycle_seq - 1].at if seen.fold.end is not None else None


def _node(place: _Place, seen: Inspection, waits: dict[Fid, Wait], end: Timestamp | None, values: bool) -> FrameNode:
    below = tuple(_node(one, seen, waits, end, values) for one in place.below.values())
    frame, name = place.frame, place.fid.rpartition("/")[2]
    until = end or seen.at
    if frame is None:
        return _scope(place.fid, name, below, until)
    wait = waits.get(frame.fid)
    child = frame.metadata.get("eid") if frame.kind is FrameKind.CHILD else None
    shown = values and frame.status is FrameStatus.COMPLETED
    return FrameNode(
        fid=frame.fid,
        name=name,
        kind=frame.kind,
        status=frame.status if wait is None else FrameStatus.WAITING,
        started_at=frame.started_at,
        ended_at=frame.ended_at,
        took=_took(frame.started_at, frame.ended_at, until),
        waits_on=None if wait is None else wait.on,
        deadline=None if wait is None else wait.deadline,
        attempts=tuple(_attempt(one, until) for one in frame.attempts),
        value=frame.value if shown else None,
        error=frame.error,
        why=frame.why,
        child=Eid(child) if isinstance(child, str) else None,
        frames=below,
    )


def _scope(fid: Fid, name: str, below: tuple[FrameNode, ...], until: Timestamp) -> FrameNode:
    started = min(one.started_at for one in below)
    open_ = [one for one in below if not one.status.ended]
    ended = None if open_ else max(one.ended_at or one.started_at for one in below)
    status = open_[0].status if open_ else below[-1].status
    return FrameNode(fid, name, None, status, started, ended, _took(started, ended, until), frames=below)


def _attempt(one: AttemptView, until: Timestamp) -> AttemptNode:
    return AttemptNode(one.number, one.started_at, one.ended_at, _took(one.started_at, one.ended_at, until), one.error)


def _took(start: Timestamp, end: Timestamp | None, until: Timestamp) -> timedelta:
    return max((end or until) - start, timedelta(0))
