"""``Session``: one execution's coroutine, led through its journal and beyond it.

Replay delivers outcomes in journal order. A memoized frame suspends its caller on a future exactly like a live one; the
session resolves it when its outcome is next in the journal and nothing is ready. Commands of the code (frames
started, frames given up) are compared with the journal in order; the first difference ends the replay and is never
shown to the code.

Live, the same rule makes the journal: an outcome is appended, delivered, and the code runs until nothing is ready
(one slice); the commands of that slice follow it in the journal. So the journal is the exact interleaving that a
replay repeats.

The session does no I/O. Its owner commits ``take_buffer()``, launches ``launches`` and stops what is in ``abandoned``.
"""

from __future__ import annotations

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
    FrameSuspended,
    JournalBody,
    JournalEntry,
    UnknownBody,
)
from flowli.domain.errors import ErrorInfo, ExecutionClosed, NondeterminismError, UsageError
from flowli.domain.execution import Execution
from flowli.domain.frames import FrameKind
from flowli.domain.ids import Fid, frame_id
from flowli.domain.memo import JournalFold
from flowli.domain.waits import On
from flowli.runtime.replay import difference
from flowli.runtime.replay.calls import FrameFuture, LiveFrame, WaitUntil
from flowli.runtime.replay.commands import Commands, GiveUp
from flowli.runtime.replay.ending import Ending, judge, left_behind
from flowli.runtime.replay.loop import WorkflowLoop, WorkflowTask
from flowli.runtime.replay.maker import FrameMaker
from flowli.runtime.replay.outcomes import resolve
from flowli.runtime.replay.timers import DurableTimers
from flowli.timestamp import Timestamp

__all__ = ["Session"]


class Session:
    """See the module's docstring.

    Args:
        execution: the record.
        start: makes the coroutine of the workflow.
        encode_result: turns what it returns into its recorded form.
        entry: makes the entry of a body, an attempt and a sequence number, with provenance and the next instant.

    Attributes:
        fold: the journal so far, with what is not yet committed.
        frames: the live frames by fid.
        launches: frames to be launched by the owner, in order.
        abandoned: frames whose effects the owner should stop.
        divergence: the first difference from the journal.
        ending: the terminal body, once the code has ended and every task is drained.
    """

    def __init__(
        self,
        execution: Execution,
        *,
        start: Callable[[Session], Any],
        encode_result: Callable[[Any], Data],
        entry: Callable[[JournalBody, int, int], JournalEntry],
    ) -> None:
        self.execution = execution
        self._timers = DurableTimers(self)
        self.loop = WorkflowLoop(self._timers)
        self.fold = JournalFold()
        self.now = execution.created_at
        self.frames: dict[Fid, LiveFrame] = {}
        self.launches: deque[LiveFrame] = deque()
        self.abandoned: list[LiveFrame] = []
        self.divergence: NondeterminismError | None = None
        self.ending: Ending | None = None
        self.entry = entry
        self._start = start
        self._encode_result = encode_result
        self._replay: deque[JournalEntry] = deque()
        self._recorded_patches: dict[str, bool] = {}
        self._commands = Commands()
        self._maker = FrameMaker()
        self._buffer: list[JournalEntry] = []
        self._root: WorkflowTask[Any] | None = None
        self._draining = False
        self._left_behind: UsageError | None = None
        self._seen = 0

    def load(self, entries: Iterable[JournalEntry]) -> None:
        """Give recorded entries to replay; ``advance`` works them off."""
        self._replay.extend(entries)
        for entry in self._replay:
            if isinstance(entry.body, ExecutionPatched):
                self._recorded_patches.setdefault(entry.body.change_id, entry.body.value)

    @property
    def replaying(self) -> bool:
        """Whether recorded entries are still to be worked off."""
        return bool(self._replay)

    @property
    def settled(self) -> bool:
        """Whether ``advance`` would do nothing."""
        return self.loop.idle and not self._replay and not self._commands

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
        while not self._diverged():
            if not self.loop.idle:
                self.loop.run_ready()
                self._commands.drop_pairs()
                self._drain()
                continue
            if not self._replay:
                self._go_live()
                self._conclude()
                return False
            self._step_replay(self._replay.popleft())
            if deadline_passed():
                return True
        return False

    def _diverged(self) -> bool:
        return self.divergence is not None

    def begin(self) -> None:
        """Start the coroutine of an execution whose journal is empty."""
        body = ExecutionStarted(self.execution)
        self.append(body)
        self._create_root()

    def _create_root(self) -> None:
        async def root() -> Any:
            return await self._start(self)

        self._root = self.loop.create_task(root(), name="root", context=contextvars.Context())

    def _step_replay(self, entry: JournalEntry) -> None:
        self.fold.add(entry)
        body = entry.body
        match body:
            case ExecutionStarted():
                self.now = max(self.now, entry.at)
                self._create_root()
            case FrameStarted() if body.fid not in self.frames and body.attempt == 1:
                self._match_start(entry, body)
            case FrameCancelled():
                self._match_give_up(entry, body)
            case FrameCompleted() | FrameFailed(retry_at=None) | ExecutionCancelRequested():
                self.divergence = self._commands.surplus(entry)
                if self.divergence is None:
                    self._deliver(entry)
            case FrameStarted() | FrameFailed() | FrameDeferred() | FrameSuspended() if body.fid not in self.frames:
                self.divergence = difference.missing(entry, self._returned)
            case FrameStarted():
                self.frames[body.fid].attempt = body.attempt
                self.frames[body.fid].retry_at = None
            case FrameFailed():
                frame = self.frames[body.fid]
                frame.retry_at, frame.deferred = body.retry_at, False
            case FrameDeferred():
                frame = self.frames[body.fid]
                frame.retry_at, frame.deferred = body.until, True
            case FrameSuspended():
                self.frames[body.fid].waits_on = body.on
            case UnknownBody():
                self.divergence = NondeterminismError(entry.seq, f"{body.tag} of a newer version", "no knowledge of it")
            case _:
                pass

    def _match_start(self, entry: JournalEntry, body: FrameStarted) -> None:
        frame = self._commands.match_start(entry, body, self._returned)
        if isinstance(frame, NondeterminismError):
            self.divergence = frame
            return
        self.frames[frame.fid] = frame
        frame.need, frame.started_at, frame.relaunched = self._seen, entry.at, True

    def _match_give_up(self, entry: JournalEntry, body: FrameCancelled) -> None:
        self.divergence = self._commands.match_give_up(entry, body, self._returned)
        self.frames.pop(body.fid, None)

    @property
    def _returned(self) -> bool:
        return self._root is not None and self._root.done()

    def _deliver(self, entry: JournalEntry) -> None:
        """Let the code see an outcome; it goes on when ``advance`` runs the next slice."""
        body = entry.body
        self._seen = entry.seq
        self.now = max(self.now, entry.at)
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
            self.divergence = NondeterminismError(self._seen, expected, f"a hint that does not: {refused}")

    def _go_live(self) -> None:
        """The journal is worked off: what the code asked for since is new."""
        while (command := self._commands.pop()) is not None:
            if isinstance(command, GiveUp):
                self.frames.pop(command.frame.fid, None)
                self.append(FrameCancelled(command.frame.fid, command.frame.attempt, command.why))
                self.abandoned.append(command.frame)
                continue
            self.frames[command.fid] = command
            command.need = self._seen
            started = FrameStarted(command.fid, command.kind, command.name, command.digest, 1, command.metadata)
            command.started_at = self.append(started, attempt=1).at
            self.launches.append(command)

    def _drain(self) -> None:
        """Once the root has ended, cancel what it left behind, once."""
        root = self._root
        if root is None or not root.done() or self._draining or not self.loop.idle:
            return
        self._draining = True
        if not root.cancelled() and root.exception() is None:
            unstarted = () if self.loop.cancelled_tasks else tuple(self._maker.unstarted.values())
            self._left_behind = left_behind((*self.frames.values(), *self._commands.frames()), unstarted)
        for task in list(self.loop.tasks.values()):
            task.cancel()

    def _conclude(self) -> None:
        root = self._root
        if root is not None and root.done() and not self.loop.tasks and self.ending is None:
            self.ending = judge(root, self._left_behind, self.fold.cancel_requested, self._encode_result)

    def complete(self, frame: LiveFrame, value: Data) -> None:
        """The frame has its result; journal it and let the code see it."""
        self._deliver(self.append(FrameCompleted(frame.fid, frame.attempt, value), frame.attempt))

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
        self.append(FrameFulfilled(frame.fid, frame.attempt, on, message_seq, message_commit), frame.attempt)
        self.complete(frame, value)

    def fail(self, frame: LiveFrame, error: ErrorInfo, *, retryable: bool, retry_at: Timestamp | None = None) -> None:
        """The attempt failed; without ``retry_at`` that is the frame's outcome."""
        entry = self.append(FrameFailed(frame.fid, frame.attempt, error, retryable, retry_at), frame.attempt)
        frame.retry_at, frame.deferred = retry_at, False
        if retry_at is None:
            self._deliver(entry)

    def defer(self, frame: LiveFrame, until: Timestamp) -> None:
        """The step asked to be run again later; no attempt was used."""
        self.append(FrameDeferred(frame.fid, frame.attempt, until), frame.attempt)
        frame.retry_at, frame.deferred = until, True

    def try_again(self, frame: LiveFrame, attempt: int) -> None:
        """The instant of the next attempt has come: launch it."""
        started = FrameStarted(frame.fid, frame.kind, frame.name, frame.digest, attempt, frame.metadata)
        frame.attempt, frame.retry_at, frame.launched = attempt, None, False
        self.append(started, attempt)
        self.launches.append(frame)

    def request_cancel(self, reason: str, request: str) -> None:
        """Deliver a cancel at this point of the journal."""
        self._deliver(self.append(ExecutionCancelRequested(reason, request)))

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
        """
        self._check_open()
        return self._maker.make(parent, kind, name, digest, action, decode, key=key, metadata=metadata)

    def scope(self, parent: Fid, name: str) -> Fid:
        """The path of a new scope under ``parent``."""
        self._check_open()
        return frame_id(parent, name, count=self._maker.count(parent, name))

    def _check_open(self) -> None:
        if self.loop.is_closed():
            raise ExecutionClosed("the coroutine is being dropped from memory; the execution goes on elsewhere")

    def enter(self, frame: LiveFrame) -> FrameFuture:
        """Start a frame that was made."""
        self._check_open()
        if not self.loop.is_running():
            raise UsageError(f"{frame.describe()} was awaited outside its workflow; only workflow code can make frames")
        if frame.future is None:
            frame.future = FrameFuture(self, frame, loop=self.loop)
            self.begin_frame(frame)
        return frame.future

    def begin_frame(self, frame: LiveFrame) -> None:
        """A frame that was made is now a command."""
        self._maker.unstarted.pop(frame.fid, None)
        self._commands.issue(frame)

    def abandon(self, frame: LiveFrame, why: str) -> None:
        """The code no longer waits for ``frame``."""
        if not frame.ended and not self.loop.is_closed():
            frame.ended = True
            self._commands.issue(GiveUp(frame, why))

    def patched(self, change_id: str) -> bool:
        """True for an execution that asks for the first time with this code, false for one that is already past it."""
        self._check_open()
        known = self.fold.patches.get(change_id, self._recorded_patches.get(change_id))
        if known is not None:
            return known
        value = not self.replaying
        if value:
            self.append(ExecutionPatched(change_id, value))
        else:
            self.fold.patches[change_id] = value
        return value
