"""``Session``: one execution's coroutine, led through its journal and beyond it.

Replay delivers outcomes in journal order. A memoized frame suspends its caller on a future exactly like a live one; the
session resolves it when its outcome is next in the journal and nothing is ready. Commands of the code (frames
started, frames given up) are compared with the journal in order; the first difference ends the replay and is never
shown to the code.

Live, the same rule makes the journal: an outcome is appended, delivered, and the code runs until nothing is ready
(one slice); the commands of that slice follow it in the journal. So the journal is the exact interleaving that a
replay repeats. What comes before the slice of the last outcome is over waits for it (``_due``).

The session does no I/O. Its owner commits ``take_buffer()``, launches ``launches`` and stops what is in ``abandoned``.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

from flowli.domain.data import Data
from flowli.domain.entries import (
    ExecutionCancelRequested,
    ExecutionPatched,
    ExecutionStarted,
    FrameCancelled,
    FrameCompleted,
    FrameDeferred,
    FrameFailed,
    FrameFulfilled,
    FrameStarted,
    JournalBody,
    JournalEntry,
)
from flowli.domain.errors import ErrorInfo, ExecutionClosed, NondeterminismError
from flowli.domain.execution import Execution
from flowli.domain.frames import FrameKind
from flowli.domain.ids import Fid, frame_id
from flowli.domain.memo import JournalFold
from flowli.domain.waits import On
from flowli.runtime.guard import watch
from flowli.runtime.replay.calls import FrameFuture, LiveFrame, WaitUntil
from flowli.runtime.replay.commands import Commands, GiveUp
from flowli.runtime.replay.ending import Drain, Ending, judge
from flowli.runtime.replay.loop import WorkflowLoop, WorkflowTask
from flowli.runtime.replay.maker import FrameMaker
from flowli.runtime.replay.outcomes import resolve
from flowli.runtime.replay.recorded import Recorded
from flowli.runtime.replay.refusals import refuse_outside
from flowli.runtime.replay.replayer import Replayer
from flowli.runtime.replay.timers import DurableTimers
from flowli.timestamp import Timestamp

__all__ = ["Session"]

_REFUSALS = 100


class Session:
    """See the module's docstring.

    Args:
        execution: the record.
        start: makes the coroutine of the workflow.
        encode_result: turns what it returns into its recorded form.
        entry: makes the entry of a body, an attempt and a sequence number, with provenance and the next instant.
        code: the workflow function, so that the determinism guard can watch its calls.

    Attributes:
        fold: the journal so far, with what is not yet committed.
        frames: the live frames by fid.
        launches: frames to be launched by the owner, in order.
        abandoned: frames whose effects the owner should stop.
        divergence: the first difference from the journal.
        ending: the terminal body, once the code has ended and every task is drained.
        commands: what the code asked for and is neither journaled nor matched.
        seen: journal sequence number of the last outcome that the code was given.
    """

    def __init__(
        self,
        execution: Execution,
        *,
        start: Callable[[Session], Any],
        encode_result: Callable[[Any], Data],
        entry: Callable[[JournalBody, int, int], JournalEntry],
        code: Callable[..., Any] | None = None,
    ) -> None:
        watch(code)
        self.execution = execution
        self._timers = DurableTimers(self)
        self.loop = WorkflowLoop(self._timers, str(execution.eid))
        self.fold = JournalFold()
        self.now = execution.created_at
        self.frames: dict[Fid, LiveFrame] = {}
        self.launches: deque[LiveFrame] = deque()
        self.abandoned: list[LiveFrame] = []
        self.divergence: NondeterminismError | None = None
        self.ending: Ending | None = None
        self.commands = Commands()
        self.seen = 0
        self.entry = entry
        self._start = start
        self._encode_result = encode_result
        self._recorded = Recorded()
        self._patches: list[ExecutionPatched] = []
        self._due: deque[Callable[[], None]] = deque()
        self._context = contextvars.Context()
        self._replayer = Replayer(self)
        self._maker = FrameMaker()
        self._buffer: list[JournalEntry] = []
        self._root: WorkflowTask[Any] | None = None
        self._refused = 0
        self._drain = Drain(self.loop, self._context)

    def load(self, entries: Iterable[JournalEntry]) -> None:
        """Give recorded entries to replay; ``advance`` works them off."""
        self._recorded.extend(entries)

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

    def advance(self, deadline_passed: Callable[[], bool]) -> bool:
        """Run slices until the journal is worked off and nothing is ready. Call it from a plain callback.

        Args:
            deadline_passed: asked between slices; True makes the call return early, so that the worker can breathe.

        Returns:
            Whether there is more to do at once.
        """
        if self.divergence is not None:
            return False
        with self.loop.running():
            return self._advance(deadline_passed)

    def _advance(self, deadline_passed: Callable[[], bool]) -> bool:
        loop, recorded = self.loop, self._recorded
        while self.divergence is None:
            if not loop.idle:
                loop.run_ready()
                self.commands.drop_pairs()
                if self._root is not None and self._root.done():
                    frames = (*self.frames.values(), *self.commands.frames())
                    self._drain.go_on(self._root, frames, self._maker.unstarted.values())
                if recorded and deadline_passed():
                    return True
            elif recorded:
                self._replayer.step(recorded.pop())
            else:
                self._go_live()
                if not self._due:
                    self._conclude()
                    return False
                self._due.popleft()()
        return False

    def begin(self) -> None:
        """Start the coroutine of an execution whose journal is empty."""
        body = ExecutionStarted(self.execution)
        self.append(body)
        self.create_root()

    def create_root(self) -> None:
        """Make the coroutine; its first slice runs when ``advance`` is called."""

        async def root() -> Any:
            return await self._start(self)

        self._root = self.loop.create_task(root(), name="root", context=self._context)

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
        assert isinstance(body, FrameCompleted | FrameFailed)
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

    def _go_live(self) -> None:
        """The journal is worked off: what the code asked for since is new."""
        for patch in self._patches:
            self.append(patch)
        self._patches.clear()
        while (command := self.commands.pop()) is not None:
            if isinstance(command, GiveUp):
                self.frames.pop(command.frame.fid, None)
                self.append(FrameCancelled(command.frame.fid, command.frame.attempt, command.why))
                self.abandoned.append(command.frame)
                continue
            self.frames[command.fid] = command
            body = FrameStarted(command.fid, command.kind, command.name, command.digest, 1, command.metadata)
            started = self.append(body, attempt=1)
            command.started_at = started.at
            # what a detached step leaves in the bucket is named by its start
            command.need = started.seq if command.detached else self.seen
            self.launches.append(command)

    def _conclude(self) -> None:
        root = self._root
        if root is not None and root.done() and not self.loop.tasks and self.ending is None:
            self.ending = judge(root, self._drain.left_behind, self.fold.cancel_requested, self._encode_result)

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

    def make(
        self,
        parent: Fid,
        kind: FrameKind,
        name: str,
        digest: str,
        action: Any,
        decode: Callable[[Data], Any],
        *,
        key: str | None = None,
        metadata: dict[str, Data] | None = None,
    ) -> LiveFrame:
        """A new frame under ``parent``; counted at the call, started when it is awaited.

        Raises:
            DuplicateFrameError: its key was used before under this parent.
            ExecutionClosed: the coroutine is being dropped.
            UsageError: the caller is no code of this workflow.
        """
        if not self._open:
            self._refuse(f"{kind} '{name}'")
        return self._maker.make(parent, kind, name, digest, action, decode, key=key, metadata=metadata)

    def scope(self, parent: Fid, name: str) -> Fid:
        """The path of a new scope under ``parent``."""
        if not self._open:
            self._refuse(f"scope '{name}'")
        return frame_id(parent, name, count=self._maker.count(parent, name))

    @property
    def _open(self) -> bool:
        """Whether the code of this workflow runs, in this thread."""
        return asyncio._get_running_loop() is self.loop and not self.loop.is_closed()

    def _refuse(self, what: str) -> None:
        if not self.loop.is_closed():
            refuse_outside(what)
        self._refused += 1
        if self._refused <= _REFUSALS:  # if it is caught again and again, only waiting ends that
            raise ExecutionClosed("the coroutine is being dropped from memory; the execution goes on elsewhere")

    def enter(self, frame: LiveFrame) -> FrameFuture:
        """Start a frame that was made."""
        if not self._open:
            self._refuse(frame.describe())
        if frame.future is None:
            frame.future = FrameFuture(self, frame, loop=self.loop)
            self.begin_frame(frame)
        return frame.future

    def begin_frame(self, frame: LiveFrame) -> None:
        """A frame that was made is now a command."""
        self._maker.unstarted.pop(frame.fid, None)
        self.commands.issue(frame)

    def abandon(self, frame: LiveFrame, why: str) -> None:
        """The code no longer waits for ``frame``."""
        if not frame.ended and not self.loop.is_closed():
            frame.ended = True
            self.commands.issue(GiveUp(frame, why))

    def patched(self, change_id: str) -> bool:
        """True for an execution that asks for the first time with this code, false for one that is already past it."""
        if not self._open:
            self._refuse(f"change '{change_id}'")
        known = self.fold.patches.get(change_id, self._recorded.patch(change_id))
        if known is None:
            known = self.fold.patches[change_id] = not self._recorded.goes_on
            if known:
                # it follows what operators and takeovers have written since
                self._patches.append(ExecutionPatched(change_id, True))
        return known
