"""What a workflow shows to readers outside: ``published`` and ``read_stream``."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from flowli.domain.channels import Message
from flowli.domain.data import Data
from flowli.domain.entries import START, Position
from flowli.domain.ids import Eid
from flowli.runtime.engine.base import EngineBase, as_eid
from flowli.runtime.own_channels import published_channel, stream_channel
from flowli.runtime.protocols.standing import read_standing
from flowli.timestamp import Timestamp

__all__ = ["ShowVerbs", "Shown", "StreamPage"]


@dataclass(frozen=True, slots=True)
class Shown:
    """A value that a workflow showed.

    Attributes:
        value: plain data.
        at: when.
        number: counts the values of this name from 1, in the order in which the code made them.
    """

    value: Data
    at: Timestamp
    number: int


@dataclass(frozen=True, slots=True)
class StreamPage:
    """A stretch of a stream.

    Attributes:
        items: in order; one may come again after a crash of the worker, with the same ``number``.
        position: where the next read goes on.
        closed: the workflow has closed the stream: nothing follows.
    """

    items: tuple[Shown, ...]
    position: Position
    closed: bool


class ShowVerbs(EngineBase):
    """``published`` and ``read_stream``. What was shown is kept as long as the execution's journal."""

    async def published(self, eid: Eid | str, name: str) -> Shown | None:
        """The value that a workflow published last under ``name``; None if it published none.

        Raises:
            UnknownExecution: no such execution.
        """
        eid = as_eid(eid)
        channel = published_channel(eid, name)
        end = await self.ports.channel.end(channel)
        if end == START:
            await read_standing(self.ports, eid)
            return None
        found = await self.ports.channel.read(channel, after=Position(end.commit - 1, 0))
        last = max(_shown(found.messages), key=_number, default=None)
        if last is None or last.number != found.messages[-1].seq:
            # a message that was sent twice: the last one in the channel may not be the last one that was published
            last = max(_shown((await self.ports.channel.read(channel)).messages), key=_number, default=None)
        return last

    async def read_stream(
        self, eid: Eid | str, name: str, after: Position = START, *, limit: int | None = None
    ) -> StreamPage:
        """The values that a workflow wrote to a stream since a place in it.

        Args:
            after: ``position`` of the page before.
            limit: about so many at most; None for all.

        Raises:
            UnknownExecution: no such execution.
        """
        eid = as_eid(eid)
        found = await self.ports.channel.read(stream_channel(eid, name), after=after, limit=limit)
        if not found.messages and after == START:
            await read_standing(self.ports, eid)
        items = {item.number: item for item in _shown(found.messages)}
        closed = any(isinstance(one.payload, dict) and one.payload.get("end") is True for one in found.messages)
        return StreamPage(tuple(items.values()), found.position, closed)


def _shown(messages: Iterable[Message]) -> list[Shown]:
    shown: list[Shown] = []
    for message in messages:
        match message.payload:
            case {"n": int(number), "value": value}:
                shown.append(Shown(value, message.sent_by.at, number))
            case _:
                pass  # the end of a stream, or one whose payload was erased
    return shown


def _number(shown: Shown) -> int:
    return shown.number
