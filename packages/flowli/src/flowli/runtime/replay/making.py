"""``Making``: what the code of a workflow asks of its session. Only that code may, in its own thread."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from flowli.domain.data import Data
from flowli.domain.entries import ExecutionPatched
from flowli.domain.errors import ExecutionClosed
from flowli.domain.frames import FrameKind
from flowli.domain.ids import Fid, frame_id
from flowli.runtime.replay.calls import FrameFuture, LiveFrame
from flowli.runtime.replay.commands import GiveUp
from flowli.runtime.replay.refusals import refuse_outside
from flowli.runtime.replay.state import SessionState

__all__ = ["Making"]

_REFUSALS = 100


class Making(SessionState):
    """See the module's docstring."""

    _refused = 0

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
        return asyncio._get_running_loop() is self.loop and not self.loop.closed

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
