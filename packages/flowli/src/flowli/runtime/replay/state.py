"""``SessionState``: what a session knows, and the two things that all its parts do: append and deliver."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from flowli.domain.entries import (
    ExecutionCancelRequested,
    ExecutionPatched,
    FrameCompleted,
    FrameFailed,
    JournalBody,
    JournalEntry,
)
from flowli.domain.errors import NondeterminismError
from flowli.domain.execution import Execution
from flowli.domain.ids import Fid
from flowli.domain.memo import JournalFold
from flowli.runtime.replay.calls import LiveFrame, WaitUntil
from flowli.runtime.replay.commands import Commands
from flowli.runtime.replay.ending import Ending
from flowli.runtime.replay.loop import WorkflowLoop, WorkflowTask
from flowli.runtime.replay.maker import FrameMaker
from flowli.runtime.replay.outcomes import resolve
from flowli.runtime.replay.recorded import Recorded
from flowli.runtime.replay.timers import DurableTimers
from flowli.timestamp import Timestamp

__all__ = ["SessionState"]

_OUTCOMES = (FrameCompleted, FrameFailed)


class SessionState:
    """See the module's docstring; ``Session`` makes it.

    Attributes:
        fold: the journal so far, with what is not yet committed.
        frames: the live frames by fid.
        launches: frames to be launched by the owner, in order.
        abandoned: frames whose effects the owner should stop.
        divergence: the first difference from the journal.
        ending: the terminal body, once the code has ended and every task is drained.
        commands: what the code asked for and is neither journaled nor matched.
        seen: journal sequence number of the last outcome that the code was given.
        now: its instant, or a later one of an outcome before it.
    """

    def __init__(
        self,
        execution: Execution,
        timers: DurableTimers,
        entry: Callable[[JournalBody, int, int], JournalEntry],
    ) -> None:
        self.execution = execution
        self.loop = WorkflowLoop(timers, str(execution.eid))
        self.fold = JournalFold()
        self.now: Timestamp = execution.created_at
        self.frames: dict[Fid, LiveFrame] = {}
        self.launches: deque[LiveFrame] = deque()
        self.abandoned: list[LiveFrame] = []
        self.divergence: NondeterminismError | None = None
        self.ending: Ending | None = None
        self.commands = Commands()
        self.seen = 0
        self.entry = entry
        self._timers = timers
        self._recorded = Recorded()
        self._patches: list[ExecutionPatched] = []
        self._due: deque[Callable[[], None]] = deque()
        self._maker = FrameMaker()
        self._buffer: list[JournalEntry] = []
        self._root: WorkflowTask[Any] | None = None

    @property
    def replaying(self) -> bool:
        """Whether recorded entries are still to be worked off."""
        return bool(self._recorded)

    @property
    def settled(self) -> bool:
        """Whether ``advance`` would do nothing."""
        return self.loop.idle and not (self._recorded or self.commands or self._due or self._patches)

    @property
    def started(self) -> bool:
        """Whether the coroutine exists."""
        return self._root is not None

    def append(self, body: JournalBody, attempt: int = 0) -> JournalEntry:
        """Add a live entry to what the next commit carries."""
        entry = self.entry(body, attempt, self.fold.seq + 1)
        self.fold.add(entry)
        self._buffer.append(entry)
        return entry

    @property
    def buffered(self) -> int:
        """How many entries wait for a commit."""
        return len(self._buffer)

    def take_buffer(self) -> list[JournalEntry]:
        """The entries for the next commit; the buffer is empty afterwards."""
        taken, self._buffer = self._buffer, []
        return taken

    @property
    def returned(self) -> bool:
        """Whether the workflow function has returned or raised."""
        return self._root is not None and self._root.done()

    def deliver(self, entry: JournalEntry) -> None:
        """Let the code see an outcome; it goes on when ``advance`` runs the next slice."""
        body = entry.body
        self.seen = entry.seq
        if entry.by.at.us > self.now.us:
            self.now = entry.by.at
        if isinstance(body, ExecutionCancelRequested):
            if self._root is not None:
                self._root.cancel()
            return
        assert isinstance(body, _OUTCOMES)
        frame = self.frames.pop(body.fid, None)
        if frame is None or frame.ended:
            return
        frame.ended = True
        self._resolve(frame, body)

    def _resolve(self, frame: LiveFrame, body: FrameCompleted | FrameFailed) -> None:
        if isinstance(frame.action, WaitUntil) and frame.action.handle is not None:
            self._timers.fired(frame.action.handle)
            self.loop.fire(frame.action.handle)
            return
        refused = resolve(frame, body)
        if refused is not None:
            expected = f"a result of {frame.fid} that fits its type hint"
            self.divergence = NondeterminismError(self.seen, expected, f"a hint that does not: {refused}")
