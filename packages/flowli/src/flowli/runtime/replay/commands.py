"""``Commands``: what the code asked for in the present slice, compared with the journal in order.

A frame that is started and given up within one slice leaves no entry, live or replayed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from flowli.domain.entries import FrameCancelled, FrameStarted, JournalEntry
from flowli.domain.errors import NondeterminismError
from flowli.domain.ids import Fid
from flowli.runtime.replay import difference
from flowli.runtime.replay.calls import LiveFrame

__all__ = ["Command", "Commands", "GiveUp"]


@dataclass(frozen=True, slots=True)
class GiveUp:
    """The code no longer waits for ``frame``."""

    frame: LiveFrame
    why: str


Command: TypeAlias = LiveFrame | GiveUp


class Commands:
    """A queue of commands that are not yet journaled or matched."""

    def __init__(self) -> None:
        self._issued: deque[Command] = deque()
        self._given_up = False

    def __bool__(self) -> bool:
        return bool(self._issued)

    def issue(self, command: Command) -> None:
        """The code asked for something."""
        self._issued.append(command)
        self._given_up |= isinstance(command, GiveUp)

    def pop(self) -> Command | None:
        """The next command."""
        return self._issued.popleft() if self._issued else None

    def frames(self) -> list[LiveFrame]:
        """The frames that were started and not yet matched."""
        return [command for command in self._issued if isinstance(command, LiveFrame)]

    def drop_pairs(self) -> None:
        """Forget frames that were started and given up since the last delivery."""
        if not self._given_up:
            return
        self._given_up = False
        given_up = {id(command.frame) for command in self._issued if isinstance(command, GiveUp)}
        both = given_up & {id(frame) for frame in self.frames()}
        if both:
            self._issued = deque(command for command in self._issued if id(_frame(command)) not in both)

    def match_start(
        self, entry: JournalEntry, body: FrameStarted, ended: bool, waiting: Iterable[Fid]
    ) -> LiveFrame | NondeterminismError:
        """The frame that ``entry`` records, or the difference.

        Args:
            ended: whether the function has returned or raised.
            waiting: the frames that the code waits for.
        """
        match self.pop():
            case None:
                return difference.missing(entry, ended, waiting)
            case GiveUp() as command:
                return difference.surplus(entry, describe(command))
            case LiveFrame() as frame:
                return difference.compare_start(entry, body, frame) or frame

    def match_give_up(
        self, entry: JournalEntry, body: FrameCancelled, ended: bool, waiting: Iterable[Fid]
    ) -> NondeterminismError | None:
        """None if the next command is what ``entry`` records."""
        command = self.pop()
        if command is None:
            return difference.missing(entry, ended, waiting)
        if not isinstance(command, GiveUp) or command.frame.fid != body.fid:
            return difference.surplus(entry, describe(command))
        return None

    def surplus(self, entry: JournalEntry) -> NondeterminismError | None:
        """None if no command is left where the journal goes on with something else."""
        return difference.surplus(entry, describe(self._issued[0])) if self._issued else None


def _frame(command: Command) -> LiveFrame:
    return command.frame if isinstance(command, GiveUp) else command


def describe(command: Command) -> str:
    """What a command is, for reports."""
    return f"{command.frame.fid} given up" if isinstance(command, GiveUp) else command.describe()
