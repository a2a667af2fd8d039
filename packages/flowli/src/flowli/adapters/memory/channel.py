"""``Channel`` in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from flowli.domain.channels import Message, WaitMarker
from flowli.domain.entries import START, Position
from flowli.domain.ids import Eid
from flowli.domain.ports.channel import Messages
from flowli.world import World

__all__ = ["MemoryChannel"]


class MemoryChannel:
    """A list of messages per channel, and markers by channel and execution."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._messages: dict[str, list[Message]] = {}
        self._markers: dict[str, dict[Eid, WaitMarker]] = {}

    async def send(self, message: Message) -> Message:
        """Append."""
        await self._world.sleep(0)
        messages = self._messages.setdefault(message.channel, [])
        messages.append(replace(message, seq=len(messages) + 1))
        return messages[-1]

    async def read(self, channel: str, *, after: Position = START) -> Messages:
        """All that follows."""
        await self._world.sleep(0)
        messages = self._messages.get(channel, [])
        end = max(len(messages), after.seq)
        return Messages(tuple(messages[after.seq :]), Position(end, end))

    async def end(self, channel: str) -> Position:
        """One message is one commit here."""
        await self._world.sleep(0)
        count = len(self._messages.get(channel, []))
        return Position(count, count)

    async def mark(self, marker: WaitMarker) -> bool:
        """Replace a marker of the same or a lower epoch."""
        await self._world.sleep(0)
        markers = self._markers.setdefault(marker.channel, {})
        stands = markers.get(marker.eid)
        if stands is not None and stands.epoch > marker.epoch:
            return False
        markers[marker.eid] = marker
        return True

    async def unmark(self, channel: str, eid: Eid, *, up_to_epoch: int) -> bool:
        """Remove a marker of an epoch that has ended."""
        await self._world.sleep(0)
        markers = self._markers.get(channel, {})
        stands = markers.get(eid)
        if stands is None or stands.epoch > up_to_epoch:
            return False
        del markers[eid]
        return True

    async def marker(self, channel: str, eid: Eid) -> WaitMarker | None:
        """One marker."""
        await self._world.sleep(0)
        return self._markers.get(channel, {}).get(eid)

    async def markers(self, channel: str) -> Sequence[WaitMarker]:
        """All markers, by eid."""
        await self._world.sleep(0)
        return [marker for _, marker in sorted(self._markers.get(channel, {}).items())]

    async def delete(self, channel: str) -> None:
        """Forget messages and markers."""
        await self._world.sleep(0)
        self._messages.pop(channel, None)
        self._markers.pop(channel, None)
