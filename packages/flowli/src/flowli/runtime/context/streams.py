"""``Stream``: values that a workflow shows to readers outside, one after another."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flowli import codec
from flowli.domain.data import Data
from flowli.runtime.own_channels import stream_channel
from flowli.runtime.replay.calls import FrameCall

if TYPE_CHECKING:
    from flowli.runtime.context.messages import MessageCalls

__all__ = ["Stream"]


class Stream:
    """See the module's docstring. Readers use ``engine.read_stream``.

    Example:
        >>> stream = ctx.stream("lines")
        >>> for line in lines:
        ...     await stream.write(line)
        >>> await stream.close()
    """

    def __init__(self, context: MessageCalls, name: str) -> None:
        self._context = context
        self._channel = stream_channel(context.eid, name)

    def write(self, value: object) -> FrameCall[None]:
        """Add a value; awaiting it makes it durable."""
        data = codec.to_data(value, path="value")
        return self._put({"value": data})

    def close(self) -> FrameCall[None]:
        """Tell readers that nothing follows."""
        return self._put({"end": True})

    def _put(self, item: dict[str, Data]) -> FrameCall[None]:
        number = self._context._next_number(self._channel)
        return self._context._tell(self._channel, "stream", {"n": number, **item})
