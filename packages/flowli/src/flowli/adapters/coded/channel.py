"""``Channel`` with coded payloads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from flowli.adapters.coded.places import of_channel
from flowli.adapters.coded.values import Values
from flowli.domain.channels import Message, WaitMarker
from flowli.domain.entries import START, Position
from flowli.domain.ids import Eid
from flowli.domain.ports import Channel, Messages

__all__ = ["CodedChannel"]


class CodedChannel:
    """The payloads of messages go through the codec; ids, correlations and markers stay clear."""

    def __init__(self, inner: Channel, values: Values) -> None:
        self._inner = inner
        self._values = values

    async def send(self, message: Message) -> Message:
        stored = await self._values.encode(message.payload, of_channel(message.channel))
        sent = await self._inner.send(replace(message, payload=stored))
        return replace(sent, payload=message.payload)

    async def read(self, channel: str, *, after: Position = START, limit: int | None = None) -> Messages:
        found = await self._inner.read(channel, after=after, limit=limit)
        place = of_channel(channel)
        payloads = await self._values.decode_all([(message.payload, place) for message in found.messages])
        pairs = zip(found.messages, payloads, strict=True)
        return Messages(tuple(replace(message, payload=payload) for message, payload in pairs), found.position)

    async def end(self, channel: str) -> Position:
        return await self._inner.end(channel)

    async def mark(self, marker: WaitMarker) -> bool:
        return await self._inner.mark(marker)

    async def unmark(self, channel: str, eid: Eid, *, up_to_epoch: int) -> bool:
        return await self._inner.unmark(channel, eid, up_to_epoch=up_to_epoch)

    async def marker(self, channel: str, eid: Eid) -> WaitMarker | None:
        return await self._inner.marker(channel, eid)

    async def markers(self, channel: str) -> Sequence[WaitMarker]:
        return await self._inner.markers(channel)

    async def redact(self, message: Message) -> None:
        await self._inner.redact(message)

    async def trim(self, channel: str, up_to: Position) -> Position:
        return await self._inner.trim(channel, up_to)

    async def drop(self, channel: str, up_to: Position) -> None:
        await self._inner.drop(channel, up_to)

    async def delete(self, channel: str) -> None:
        await self._inner.delete(channel)

    async def delete_own(self, eid: Eid) -> None:
        await self._inner.delete_own(eid)
