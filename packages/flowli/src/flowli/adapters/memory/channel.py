"""``Channel`` in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from flowli.adapters.memory.turn import turn
from flowli.domain.channels import Message, WaitMarker
from flowli.domain.entries import START, Position
from flowli.domain.ids import Eid
from flowli.domain.ports.channel import Messages

__all__ = ["MemoryChannel"]


class MemoryChannel:
    """A list of messages per channel, each a commit of its own, and markers by channel and execution."""

    def __init__(self) -> None:
        self._messages: dict[str, list[Message]] = {}
        self._trimmed: dict[str, int] = {}
        self._markers: dict[str, dict[Eid, WaitMarker]] = {}

    async def send(self, message: Message) -> Message:
        """Append."""
        await turn()
        messages = self._messages.setdefault(message.channel, [])
        place = len(messages) + 1
        messages.append(replace(message, seq=place, commit=place))
        return messages[-1]

    async def read(self, channel: str, *, after: Position = START, limit: int | None = None) -> Messages:
        """What follows."""
        await turn()
        messages = self._messages.get(channel, [])
        first = max(after.commit, self._trimmed.get(channel, 0))
        new = tuple(messages[first : None if limit is None else first + limit])
        return Messages(new, Position(new[-1].commit, new[-1].seq) if new else max(after, Position(first, first)))

    async def end(self, channel: str) -> Position:
        """Behind the last message."""
        await turn()
        count = len(self._messages.get(channel, []))
        return Position(count, count)

    async def mark(self, marker: WaitMarker) -> bool:
        """Replace a marker of the same or a lower epoch."""
        await turn()
        markers = self._markers.setdefault(marker.channel, {})
        stands = markers.get(marker.eid)
        if stands is not None and stands.epoch > marker.epoch:
            return False
        markers[marker.eid] = marker
        return True

    async def unmark(self, channel: str, eid: Eid, *, up_to_epoch: int) -> bool:
        """Remove a marker of an epoch that has ended."""
        await turn()
        markers = self._markers.get(channel, {})
        stands = markers.get(eid)
        if stands is None or stands.epoch > up_to_epoch:
            return False
        del markers[eid]
        return True

    async def marker(self, channel: str, eid: Eid) -> WaitMarker | None:
        """One marker."""
        await turn()
        return self._markers.get(channel, {}).get(eid)

    async def markers(self, channel: str) -> Sequence[WaitMarker]:
        """All markers, by eid."""
        await turn()
        return [marker for _, marker in sorted(self._markers.get(channel, {}).items())]

    async def redact(self, message: Message) -> None:
        """Replace the message by one without a payload."""
        await turn()
        messages = self._messages.get(message.channel, [])
        if 1 <= message.seq <= len(messages):
            messages[message.seq - 1] = replace(messages[message.seq - 1], payload=None)

    async def trim(self, channel: str, up_to: Position) -> Position:
        """Remember the place; nobody is given what lies before it."""
        await turn()
        trimmed = self._trimmed[channel] = max(up_to.commit, self._trimmed.get(channel, 0))
        return Position(trimmed, trimmed)

    async def drop(self, channel: str, up_to: Position) -> None:
        """Let go of the payloads."""
        await turn()
        messages = self._messages.get(channel, [])
        for place in range(min(up_to.commit, self._trimmed.get(channel, 0), len(messages))):
            messages[place] = replace(messages[place], payload=None)

    async def delete(self, channel: str) -> None:
        """Forget messages and markers."""
        await turn()
        self._messages.pop(channel, None)
        self._markers.pop(channel, None)

    async def delete_own(self, eid: Eid) -> None:
        """Forget all whose names begin with the execution's id."""
        await turn()
        for known in (self._messages, self._markers):
            for channel in [channel for channel in known if channel.startswith(f"{eid}.")]:
                del known[channel]
