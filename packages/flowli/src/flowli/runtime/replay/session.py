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

import contextvars
from collections.abc import Callable, Iterable
from typing import Any

from flowli.domain.data import Data
from flowli.domain.entries import (
    ExecutionStarted,
    FrameCancelled,
    FrameStarted,
    JournalBody,
    JournalEntry,
)
from flowli.domain.execution import Execution
from flowli.runtime.guard import watch
from flowli.runtime.replay.commands import GiveUp
from flowli.runtime.replay.ending import Drain, judge
from flowli.runtime.replay.making import Making
from flowli.runtime.replay.replayer import Replayer
from flowli.runtime.replay.telling import Telling
from flowli.runtime.replay.timers import DurableTimers

__all__ = ["Session"]


class Session(Making, Telling):
    """See the module's docstring.

    Args:
        execution: the record.
        start: makes the coroutine of the workflow.
        encode_result: turns what it returns into its recorded form.
        entry: makes the entry of a body, an attempt and a sequence number, with provenance and the next instant.
        code: the workflow function, so that the determinism guard can watch its calls.
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
        super().__init__(execution, DurableTimers(self), entry)
        self._start = start
        self._encode_result = encode_result
        self._context = contextvars.Context()
        self._replayer = Replayer(self)
        self._drain = Drain(self.loop, self._context)

    def load(self, entries: Iterable[JournalEntry]) -> None:
        """Give recorded entries to replay; ``advance`` works them off."""
        self._recorded.extend(entries)

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
