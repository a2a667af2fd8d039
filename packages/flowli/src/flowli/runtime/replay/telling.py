"""``Telling``: what the owner of a session tells it about its frames.

Each is journaled, and what counts as an outcome is delivered to the code, once the code has run on from the outcome
before it.
"""

from __future__ import annotations

from collections.abc import Callable

from flowli.domain.data import Data
from flowli.domain.entries import (
    ExecutionCancelRequested,
    FrameCompleted,
    FrameDeferred,
    FrameFailed,
    FrameFulfilled,
    FrameStarted,
)
from flowli.domain.errors import ErrorInfo
from flowli.domain.waits import On
from flowli.runtime.replay.calls import LiveFrame
from flowli.runtime.replay.state import SessionState
from flowli.timestamp import Timestamp

__all__ = ["Telling"]


class Telling(SessionState):
    """See the module's docstring."""

    def _when_settled(self, act: Callable[[], None]) -> None:
        """Do ``act`` once the code has run on from the last outcome: now, unless ``advance`` has still to be called."""
        if self.settled:
            act()
        else:
            self._due.append(act)

    def complete(self, frame: LiveFrame, value: Data) -> None:
        """The frame has its result; journal it and let the code see it."""
        self._when_settled(lambda: self._complete(frame, value))

    def _complete(self, frame: LiveFrame, value: Data, *, fulfilled: FrameFulfilled | None = None) -> None:
        if frame.ended or self.ending is not None:
            return
        if fulfilled is not None:
            self.append(fulfilled, frame.attempt)
        self.deliver(self.append(FrameCompleted(frame.fid, frame.attempt, value), frame.attempt))

    def fulfil(
        self,
        frame: LiveFrame,
        on: On,
        value: Data,
        *,
        message_seq: int | None = None,
        message_commit: int | None = None,
    ) -> None:
        """What the frame waited on has come."""
        fulfilled = FrameFulfilled(frame.fid, frame.attempt, on, message_seq, message_commit)
        self._when_settled(lambda: self._complete(frame, value, fulfilled=fulfilled))

    def fail(self, frame: LiveFrame, error: ErrorInfo, *, retryable: bool, retry_at: Timestamp | None = None) -> None:
        """The attempt failed; without ``retry_at`` that is the frame's outcome."""
        frame.retry_at, frame.deferred = retry_at, False
        self._when_settled(lambda: self._fail(frame, FrameFailed(frame.fid, frame.attempt, error, retryable, retry_at)))

    def _fail(self, frame: LiveFrame, body: FrameFailed) -> None:
        if frame.ended or self.ending is not None:
            return
        entry = self.append(body, body.attempt)
        if body.retry_at is None:
            self.deliver(entry)

    def defer(self, frame: LiveFrame, until: Timestamp) -> None:
        """The step asked to be run again later; no attempt was used."""
        frame.retry_at, frame.deferred = until, True
        deferred = FrameDeferred(frame.fid, frame.attempt, until)
        self._when_settled(lambda: self._append_for(frame, deferred))

    def try_again(self, frame: LiveFrame, attempt: int) -> None:
        """The instant of the next attempt has come: launch it."""
        frame.attempt, frame.retry_at, frame.launched, frame.waits_on = attempt, None, False, None
        frame.relaunched = False
        started = FrameStarted(frame.fid, frame.kind, frame.name, frame.digest, attempt, frame.metadata)
        self._when_settled(lambda: self._append_for(frame, started))
        self.launches.append(frame)

    def _append_for(self, frame: LiveFrame, body: FrameStarted | FrameDeferred) -> None:
        if not frame.ended:
            entry = self.append(body, body.attempt)
            if frame.detached and isinstance(body, FrameStarted):
                frame.need = entry.seq

    def request_cancel(self, reason: str, request: str) -> None:
        """Deliver a cancel at this point of the journal."""
        self._when_settled(lambda: self.deliver(self.append(ExecutionCancelRequested(reason, request))))
