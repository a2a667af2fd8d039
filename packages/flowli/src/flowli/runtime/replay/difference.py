"""Words for the first difference between a journal and the code that replays it."""

from __future__ import annotations

from collections.abc import Iterable

from flowli.domain.entries import (
    ExecutionCancelRequested,
    FrameCancelled,
    FrameCompleted,
    FrameFailed,
    FrameFulfilled,
    FrameStarted,
    JournalEntry,
)
from flowli.domain.errors import NondeterminismError
from flowli.domain.ids import Fid
from flowli.runtime.replay.calls import LiveFrame

__all__ = ["compare_start", "describe_entry", "missing", "surplus"]

_SHOWN = 3


def describe_entry(entry: JournalEntry) -> str:
    """What an entry records, for people."""
    match entry.body:
        case FrameStarted(fid, kind, name):
            return f"{kind} '{name}' as {fid}"
        case FrameCompleted(fid) | FrameFulfilled(fid):
            return f"the result of {fid}"
        case FrameFailed(fid, _, error):
            return f"the failure of {fid} ({error})"
        case FrameCancelled(fid):
            return f"{fid} given up"
        case ExecutionCancelRequested():
            return "a cancel delivered"
        case body:
            return body.tag


def compare_start(entry: JournalEntry, body: FrameStarted, frame: LiveFrame) -> NondeterminismError | None:
    """None if ``frame`` is the command that ``entry`` records."""
    found = (frame.fid, frame.kind, frame.name)
    if found != (body.fid, body.kind, body.name):
        return NondeterminismError(entry.seq, describe_entry(entry), frame.describe())
    if frame.digest != body.digest:
        return NondeterminismError(
            entry.seq,
            f"{describe_entry(entry)} with arguments of digest {body.digest[:12]}",
            f"the same with other arguments (digest {frame.digest[:12]})",
        )
    return None


def missing(entry: JournalEntry, ended: bool, waiting: Iterable[Fid]) -> NondeterminismError:
    """The journal records a command and the code made none.

    Args:
        ended: whether the function has returned or raised.
        waiting: the frames that it waits for otherwise.
    """
    if ended:
        found = "its end"
    else:
        fids = list(waiting)
        more = f" and {len(fids) - _SHOWN} more" if len(fids) > _SHOWN else ""
        waits = f" and waits for {', '.join(fids[:_SHOWN])}{more}" if fids else ""
        found = f"no further command{waits}"
    return NondeterminismError(entry.seq, describe_entry(entry), found)


def surplus(entry: JournalEntry, found: str) -> NondeterminismError:
    """The code made a command where the journal goes on with something else."""
    return NondeterminismError(entry.seq, describe_entry(entry), found)
