"""``Channel``: the messages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from flowli.domain.channels import Message, WaitMarker
from flowli.domain.entries import START, Position
from flowli.domain.ids import Eid

__all__ = ["Channel", "Messages"]


@dataclass(frozen=True, slots=True)
class Messages:
    """The messages after some position, in order, and the position after the last one that was read."""

    messages: tuple[Message, ...]
    position: Position


class Channel(Protocol):
    """One log of messages per channel, and a marker for each execution that waits on it.

    Order: total within one channel, none between two.
    Hand-shake: a sender appends first and reads the markers second; a receiver writes its marker first and looks
    again at the channel second. So at least one of them sees the other.
    """

    async def send(self, message: Message) -> Message:
        """Append a message; returns it with its ``seq``."""

    async def read(self, channel: str, *, after: Position = START, limit: int | None = None) -> Messages:
        """Messages after ``after``. Repeated ids are not removed: that is for the reader's fold.

        Args:
            limit: about so many at most (whole commits); None for all. The position is then where the read ended.
        """

    async def end(self, channel: str) -> Position:
        """Where the channel ends now."""

    async def mark(self, marker: WaitMarker) -> bool:
        """Write or replace a wait marker; False, and nothing done, if one of a higher epoch stands."""

    async def unmark(self, channel: str, eid: Eid, *, up_to_epoch: int) -> bool:
        """Remove a marker whose epoch is not above ``up_to_epoch``."""

    async def marker(self, channel: str, eid: Eid) -> WaitMarker | None:
        """The marker of one execution."""

    async def markers(self, channel: str) -> Sequence[WaitMarker]:
        """All markers of a channel, by eid."""

    async def redact(self, message: Message) -> None:
        """Put None in the place of the payload of a message that was read; its id, sender and place stay (erase). No
        error if the message is gone.
        """

    async def trim(self, channel: str, up_to: Position) -> Position:
        """Declare the messages of a global channel up to a position unneeded, durably; returns up to where they are
        now. Who reads after an earlier position may be given what follows that one.
        """

    async def drop(self, channel: str, up_to: Position) -> None:
        """Delete what was declared unneeded, up to a position. The caller has waited ``retire_grace`` since."""

    async def delete(self, channel: str) -> None:
        """Remove a channel with its messages and markers."""

    async def delete_own(self, eid: Eid) -> None:
        """Remove every channel of an execution (``{eid}.{name}``), those too on which it never received."""
