"""``Replayer``: works off recorded entries one by one, and finds the first that the code does not repeat."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flowli.domain.entries import (
    ExecutionCancelRequested,
    ExecutionStarted,
    FrameCancelled,
    FrameCompleted,
    FrameDeferred,
    FrameFailed,
    FrameFulfilled,
    FrameStarted,
    FrameSuspended,
    JournalEntry,
    UnknownBody,
)
from flowli.domain.errors import NondeterminismError
from flowli.runtime.replay import difference
from flowli.runtime.replay.calls import LiveFrame

if TYPE_CHECKING:
    from flowli.runtime.replay.session import Session

__all__ = ["Replayer"]


class Replayer:
    """See the module's docstring. Call ``step`` only when nothing is ready."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def step(self, entry: JournalEntry) -> None:
        """Take one entry: a command to be matched, an outcome to be delivered, or a fact to be noted."""
        session, body = self._session, entry.body
        session.fold.add(entry)
        match body:
            case FrameStarted() if body.attempt == 1 and body.fid not in session.frames:
                self._match_start(entry, body)
            case FrameCompleted() | FrameFailed(retry_at=None) | ExecutionCancelRequested():
                if session.commands:
                    session.divergence = session.commands.surplus(entry)
                else:
                    session.deliver(entry)
            case FrameStarted() | FrameFailed() | FrameDeferred() | FrameSuspended() | FrameFulfilled():
                self._note(entry, body)
            case FrameCancelled():
                self._match_give_up(entry, body)
            case ExecutionStarted():
                session.now = max(session.now, entry.at)
                session.create_root()
            case UnknownBody():
                unknown = "nothing of that name, for it comes from a newer version of flowli"
                session.divergence = NondeterminismError(entry.seq, body.tag, unknown)
            case _:
                pass

    def _match_start(self, entry: JournalEntry, body: FrameStarted) -> None:
        session = self._session
        frame = session.commands.match_start(entry, body, session.returned, session.frames)
        if isinstance(frame, NondeterminismError):
            session.divergence = frame
        else:
            session.frames[frame.fid] = frame
            frame.need, frame.started_at, frame.relaunched = session.seen, entry.at, True

    def _match_give_up(self, entry: JournalEntry, body: FrameCancelled) -> None:
        session = self._session
        session.divergence = session.commands.match_give_up(entry, body, session.returned, session.frames)
        session.frames.pop(body.fid, None)

    def _note(
        self,
        entry: JournalEntry,
        body: FrameStarted | FrameFailed | FrameDeferred | FrameSuspended | FrameFulfilled,
    ) -> None:
        """What the code does not see of a frame: its attempts, what it waits on. No command is open then."""
        session = self._session
        session.divergence = session.commands.surplus(entry)
        frame: LiveFrame | None = session.frames.get(body.fid)
        if session.divergence is not None:
            return
        if frame is None:
            session.divergence = difference.missing(entry, session.returned, session.frames)
            return
        match body:
            case FrameStarted():
                frame.attempt, frame.retry_at, frame.waits_on = body.attempt, None, None
            case FrameFailed():
                frame.retry_at, frame.deferred = body.retry_at, False
            case FrameDeferred():
                frame.retry_at, frame.deferred = body.until, True
            case FrameSuspended():
                frame.waits_on = body.on
            case FrameFulfilled():
                pass
