"""``DurableTimers``: the timers that asyncio itself sets (``asyncio.sleep``, ``timeout``) are sleep frames."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from flowli import codec
from flowli.domain.data import Data
from flowli.domain.errors import UsageError
from flowli.domain.frames import FrameKind
from flowli.domain.ids import ROOT
from flowli.runtime.replay.calls import LiveFrame, WaitUntil
from flowli.timestamp import Timestamp

if TYPE_CHECKING:
    from flowli.runtime.replay.session import Session

__all__ = ["DurableTimers"]


class DurableTimers:
    """Keeps time for a ``WorkflowLoop``; see ``TimerHost``."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._frames: dict[int, LiveFrame] = {}

    def time_s(self) -> float:
        """Seconds since 1970 of the last delivery."""
        return self._session.now.seconds

    def arm(self, handle: asyncio.TimerHandle) -> None:
        """A timer was set: a frame begins."""
        try:
            due_at = Timestamp.from_seconds(handle.when())
        except (ValueError, OverflowError):
            raise UsageError(
                f"a timer cannot be set {handle.when() - self.time_s():g} seconds ahead; to wait without end, await an "
                "asyncio.Event or ctx.receive"
            ) from None
        due: Data = str(due_at)
        frame = self._session.make(
            ROOT,
            FrameKind.SLEEP,
            "timer",
            codec.digest(due),
            WaitUntil(due_at, handle),
            _nothing,
            metadata={"due_at": due},
        )
        self._frames[id(handle)] = frame
        self._session.begin_frame(frame)

    def disarm(self, handle: asyncio.TimerHandle) -> None:
        """A timer was cancelled: its frame is given up."""
        frame = self._frames.pop(id(handle), None)
        if frame is not None:
            self._session.abandon(frame, "disarmed")

    def fired(self, handle: asyncio.TimerHandle) -> None:
        """The instant of a timer has come."""
        self._frames.pop(id(handle), None)


def _nothing(data: Data) -> None:
    return None
