"""``Session``: one execution's coroutine, led through its journal and beyond it.

Replay delivers outcomes in journal order. A memoized frame suspends its caller on a future exactly like a live one; the
session resolves it when its outcome is next in the journal and nothing is ready. Commands of the code (frames started, frames
given up) are compared with the journal in order; the first difference ends the replay and is never shown to the code.

Live, the same rule makes the journal: an outcome is appended, delivered, and the code runs until nothing is ready (one slice);
the commands of that slice follow it in the journal. So the journal is the exact interleaving that a replay repeats.

A frame that is started and given up within one slice leaves no entry, live or replayed.

The session does no I/O. Its owner commits ``take_buffer()``, launches ``launches`` and stops what is in ``abandoned``.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from flowli import codec
from flowli.domain.data import Data
from flowli.domain.entries import (
    ExecutionCancelled,
    ExecutionCancelRequested,
    ExecutionCompleted,
    ExecutionFailed,
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
from flowli.domain.errors import (
    ChildFailed,
    DuplicateFrameError,
    ErrorInfo,
    ExecutionClosed,
    FlowliError,
    NondeterminismError,
    StepFailed,
    UsageError,
)
from flowli.domain.execution import Execution
from flowli.domain.frames import FrameKind
from flowli.domain.ids import Fid, frame_id
from flowli.domain.memo import JournalFold
from flowli.domain.waits import On
from flowli.runtime.replay import difference
from flowli.runtime.replay.calls import FrameFuture, LiveFrame, StartChild, WaitUntil
from flowli.runtime.replay.loop import WorkflowLoop, WorkflowTask
from flowli.timestamp import Timestamp

__all__ = ["Session"]


@dataclass(frozen=True, slots=True)
class _GiveUp:
    """A command: the code no longer waits for ``frame``."""

    frame: LiveFrame
    why: str


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
        self.loop = WorkflowLoop(self)
        self.fold = JournalFold()
        self.now = execution.created_at
        self.frames: dict[Fid, LiveFrame] = {}
        self.launches: deque[LiveFrame] = deque()
        self.abandoned: list[LiveFrame] = []
        self.divergence: NondeterminismError | None = None
        self.ending: ExecutionCompleted | ExecutionFailed | ExecutionCancelled | None = None
        self.entry = entry
        self._start = start
        self._encode_result = encode_result
        self._replay: deque[JournalEntry] = deque()
        self._recorded_patches: dict[str, bool] = {}
        self._issued: deque[LiveFrame | _GiveUp] = deque()
        self._buffer: list[JournalEntry] = []
        self._counts: dict[tuple[Fid, str], int] = {}
        self._fids: set[Fid] = set()
        self._unstarted: dict[Fid, LiveFrame] = {}
        self._timers: dict[int, LiveFrame] = {}
        self._root: WorkflowTask[Any] | None = None
        self._draining = False
        self._left_behind: UsageError | None = None
        self._seen = 0

    # --- the journal ----------------------------------------------------------------------------------------------------

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
        return self.loop.idle and not self._replay and not self._issued

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

    # --- running --------------------------------------------------------------------------------------------------------

    def advance(self, deadline_passed: Callable[[], bool]) -> bool:
        """Run slices until the journal is worked off and nothing is ready. Call it from a plain callback.

        Args:
            deadline_passed: asked between slices; True makes the call return early, so that the worker can breathe.

        Returns:
            Whether there is more to do at once.
        """
        while self.divergence is None:
            if not self.loop.idle:
                self.loop.run_ready()
                self._drop_cancelled_pairs()
                self._drain()
                continue
            if not self._replay:
                self._go_live()
                if self.loop.idle:
                    self._conclude()
                    return False
                continue
            self._step_replay(self._replay.popleft())
            if deadline_passed():
                return True
        return False

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
                if self._issued:
                    self.divergence = difference.surplus(entry, _describe(self._issued[0]))
                else:
                    self._deliver(entry)
            case FrameStarted() | FrameFailed() | FrameDeferred() | FrameSuspended() if body.fid not in self.frames:
                self.divergence = difference.missing(entry, self._root is not None and self._root.done())
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
        command = self._issued.popleft() if self._issued else None
        if command is None:
            self.divergence = difference.missing(entry, self._root is not None and self._root.done())
        elif isinstance(command, _GiveUp):
            self.divergence = difference.surplus(entry, _describe(command))
        else:
            self.divergence = difference.compare_start(entry, body, command)
            self.frames[command.fid] = command
            command.need, command.started_at, command.relaunched = self._seen, entry.at, True

    def _match_give_up(self, entry: JournalEntry, body: FrameCancelled) -> None:
        command = self._issued.popleft() if self._issued else None
        if command is None:
            self.divergence = difference.missing(entry, self._root is not None and self._root.done())
        elif not isinstance(command, _GiveUp) or command.frame.fid != body.fid:
            self.divergence = difference.surplus(entry, _describe(command))
        else:
            self.frames.pop(body.fid, None)

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
            self._timers.pop(id(frame.action.handle), None)
            self.loop.fire(frame.action.handle)
            return
        future = frame.future
        if future is None or future.done():
            return
        if isinstance(body, FrameFailed):
            future.set_exception(_outcome_error(frame, body))
            return
        try:
            value = frame.decode(body.value)
        except FlowliError as error:
            self.divergence = NondeterminismError(
                self._seen, f"a result of {frame.fid} that fits its type hint", f"a hint that does not: {error}"
            )
        else:
            future.set_result(value)

    def _drop_cancelled_pairs(self) -> None:
        given_up = {id(c.frame) for c in self._issued if isinstance(c, _GiveUp)}
        if not given_up:
            return
        fresh = {id(c) for c in self._issued if isinstance(c, LiveFrame)}
        both = given_up & fresh
        if both:
            self._issued = deque(c for c in self._issued if id(c.frame if isinstance(c, _GiveUp) else c) not in both)

    def _go_live(self) -> None:
        """The journal is worked off: what the code asked for since is new."""
        while self._issued:
            command = self._issued.popleft()
            if isinstance(command, _GiveUp):
                self.frames.pop(command.frame.fid, None)
                self.append(FrameCancelled(command.frame.fid, command.frame.attempt, command.why))
                self.abandoned.append(command.frame)
                continue
            self.frames[command.fid] = command
            command.need = self._seen
            started = FrameStarted(command.fid, command.kind, command.name, command.digest, 1, command.metadata)
            command.started_at = self.append(started, attempt=1).at
            self.launches.append(command)

    # --- the end --------------------------------------------------------------------------------------------------------

    def _drain(self) -> None:
        """Once the root has ended, cancel what it left behind, once."""
        root = self._root
        if root is None or not root.done() or self._draining or not self.loop.idle:
            return
        self._draining = True
        live = [f for f in self._all_live() if f.kind in (FrameKind.STEP, FrameKind.CHILD, FrameKind.EFFECT)]
        if not root.cancelled() and root.exception() is None:
            if live:
                self._left_behind = UsageError(
                    f"the workflow returned while {live[0].describe()} was still under way; await it or cancel its task"
                )
            elif self._unstarted and not self.loop.cancelled_tasks:
                frame = next(iter(self._unstarted.values()))
                self._left_behind = UsageError(
                    f"{frame.describe()} was made but never awaited; write `await` before it"
                )
        for task in list(self.loop.tasks.values()):
            task.cancel()

    def _all_live(self) -> list[LiveFrame]:
        issued = [command for command in self._issued if isinstance(command, LiveFrame)]
        return [*self.frames.values(), *issued]

    def _conclude(self) -> None:
        root = self._root
        if root is None or not root.done() or self.loop.tasks or self.ending is not None:
            return
        if root.cancelled():
            reason = self.fold.cancel_requested
            if reason is not None:
                self.ending = ExecutionCancelled(reason)
            else:
                self.ending = ExecutionFailed(ErrorInfo("asyncio.CancelledError", "the workflow cancelled itself"))
            return
        error = root.exception() or self._left_behind
        if error is None:
            try:
                self.ending = ExecutionCompleted(self._encode_result(root.result()))
            except FlowliError as refused:
                error = refused
        if error is not None:
            self.ending = ExecutionFailed(codec.error_info(error))

    # --- live deliveries ------------------------------------------------------------------------------------------------

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

    # --- called by code -------------------------------------------------------------------------------------------------

    def make(
        self,
        parent: Fid,
        kind: FrameKind,
        name: str,
        digest: str,
        action: Any,
        decode: Callable[[Data], Any],
        **more: Any,
    ) -> LiveFrame:
        """A new frame under ``parent``; counted at the call, started when it is awaited.

        Raises:
            DuplicateFrameError: its key was used before under this parent.
            ExecutionClosed: the coroutine is being dropped.
        """
        self._check_open()
        key: str | None = more.pop("key", None)
        if key is None:
            count = self._counts.get((parent, name), 0) + 1
            self._counts[parent, name] = count
            fid = frame_id(parent, name, count=count)
        else:
            fid = frame_id(parent, name, key=key)
            if fid in self._fids:
                raise DuplicateFrameError(
                    f"frame key '{key}' is used twice for '{name}' under {parent}; give each its own"
                )
            self._fids.add(fid)
        frame = LiveFrame(fid, kind, name, digest, action, decode, **more)
        self._unstarted[fid] = frame
        return frame

    def scope(self, parent: Fid, name: str) -> Fid:
        """The path of a new scope under ``parent``."""
        self._check_open()
        count = self._counts.get((parent, name), 0) + 1
        self._counts[parent, name] = count
        return frame_id(parent, name, count=count)

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
            self._unstarted.pop(frame.fid, None)
            self._issued.append(frame)
        return frame.future

    def abandon(self, frame: LiveFrame, why: str) -> None:
        """The code no longer waits for ``frame``."""
        if not frame.ended and not self.loop.is_closed():
            frame.ended = True
            self._issued.append(_GiveUp(frame, why))

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

    # --- TimerHost --------------------------------------------------------------------------------------------------------

    def time_s(self) -> float:
        """Durable time for the loop."""
        return self.now.seconds

    def arm(self, handle: asyncio.TimerHandle) -> None:
        """asyncio set a timer: a sleep frame."""
        due_at = Timestamp.from_seconds(handle.when())
        frame = self.make(
            "root",
            FrameKind.SLEEP,
            "timer",
            codec.digest(str(due_at)),
            WaitUntil(due_at, handle),
            _nothing,
            metadata={"due_at": str(due_at)},
        )
        self._unstarted.pop(frame.fid, None)
        self._timers[id(handle)] = frame
        self._issued.append(frame)

    def disarm(self, handle: asyncio.TimerHandle) -> None:
        """asyncio cancelled a timer."""
        frame = self._timers.pop(id(handle), None)
        if frame is not None:
            self.abandon(frame, "disarmed")


def _nothing(value: Data) -> None:
    return None


def _describe(command: LiveFrame | _GiveUp) -> str:
    return command.describe() if isinstance(command, LiveFrame) else f"{command.frame.fid} given up"


def _outcome_error(frame: LiveFrame, body: FrameFailed) -> FlowliError:
    if isinstance(frame.action, StartChild):
        return ChildFailed(frame.fid, frame.action.eid, body.error)
    return StepFailed(frame.fid, body.attempt, body.error)
