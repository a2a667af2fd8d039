"""Messages of all kinds: received and sent, published for readers outside, updates that are answered."""

from __future__ import annotations

import re
from collections.abc import Callable, Coroutine
from datetime import timedelta
from typing import Any

from flowli import codec
from flowli.domain.channels import global_channel, scoped_channel
from flowli.domain.data import Data
from flowli.domain.entries import START, Position
from flowli.domain.errors import UsageError
from flowli.domain.frames import FrameKind
from flowli.domain.ids import Eid
from flowli.runtime.context.base import ContextBase, Seconds, as_is, nothing, seconds
from flowli.runtime.context.streams import Stream
from flowli.runtime.context.updates import Update, Updates
from flowli.runtime.own_channels import published_channel, update_channel
from flowli.runtime.replay.calls import FrameCall, ReceiveMessage
from flowli.timestamp import Timestamp

__all__ = ["MessageCalls"]

_PLACE = re.compile(r"\d{1,15}\.\d{1,15}", re.ASCII)


class MessageCalls(ContextBase):
    """``receive``, ``position``, ``send``, ``broadcast``, ``publish``, ``stream``, ``updates``, ``next_update``."""

    def receive(
        self,
        channel: str,
        *,
        timeout: Seconds | None = None,
        correlation: str | None = None,
        scope: str = "execution",
        from_: str = "start",
    ) -> Coroutine[Any, Any, Any]:
        """Wait for the next message on a channel. Messages that came earlier are kept; no two receives get the same
        one.

        Args:
            channel: its name.
            timeout: seconds; the result is None when they pass.
            correlation: take only messages sent with it.
            scope: ``execution`` for this execution's own channel, ``global`` for one that all share.
            from_: ``start`` for the first message that this execution has not consumed, ``now`` for one that is sent
                from now on, or a place that ``position`` gave, here or in another execution.
        """
        full = self._channel(channel, scope)
        deadline = self._deadline(timeout)
        if from_ == "now":
            return self._receive_from_now(channel, full, deadline, correlation)
        return self._receive(channel, full, deadline, correlation, _place(from_))

    def position(self, channel: str, *, scope: str = "execution") -> str:
        """The place in a channel behind the last message that this execution consumed there.

        An execution that hands its work over to another one gives it along: ``receive(..., from_=place)``.
        """
        seq, commit = self._session.fold.last_consumed.get(self._channel(channel, scope), (0, 0))
        return f"{commit}.{seq}"

    def send(self, eid: Eid, channel: str, payload: object = None, *, correlation: str | None = None) -> FrameCall[int]:
        """Send a message to another execution, once. The result is its place in the channel."""
        full = scoped_channel(eid, channel)
        data = codec.to_data(payload, path="payload")
        about: Data = {"channel": full, "payload": data, "correlation": correlation}
        return self._effect("send", about, self._effects.send(eid, full, data, correlation), as_is)

    def broadcast(self, channel: str, payload: object = None, *, correlation: str | None = None) -> FrameCall[int]:
        """Send a message to everyone who receives on a global channel, once. The result is its place in the channel."""
        full = global_channel(channel)
        data = codec.to_data(payload, path="payload")
        about: Data = {"channel": full, "payload": data, "correlation": correlation}
        action = self._effects.send(None, full, data, correlation)
        return self._effect("broadcast", about, action, as_is, {"channel": full})

    def publish(self, name: str, value: object) -> FrameCall[None]:
        """Show a value to readers outside (``engine.published``), in the place of the one shown before."""
        full = published_channel(self.eid, name)
        data = codec.to_data(value, path="value")
        numbered: Data = {"n": self._next_number(full), "value": data}
        return self._effect("publish", numbered, self._effects.note(full, numbered), nothing, {"channel": full})

    def stream(self, name: str) -> Stream:
        """A sequence of values for readers outside (``engine.read_stream``): progress, lines, tokens."""
        return Stream(self, name)

    def updates(self, name: str, *, validator: Callable[[Any], object] | None = None, as_type: Any = Any) -> Updates:
        """The updates called ``name``, one after another, for ever; the arguments are those of ``next_update``.

        Example:
            >>> async for update in ctx.updates("address", validator=check_address):
            ...     address = update.value
            ...     await update.reply("noted")
        """
        return Updates(self, name, validator, as_type)

    async def next_update(
        self,
        name: str,
        *,
        validator: Callable[[Any], object] | None = None,
        as_type: Any = Any,
        timeout: Seconds | None = None,
    ) -> Update | None:
        """Wait for a request that somebody makes with ``engine.update``, and who waits for the answer.

        Args:
            name: of the update.
            validator: is given the value and raises if it is not acceptable: the requester is told so, the update does
                not count, and the wait goes on. It is workflow code: it may look at the workflow's state.
            as_type: what the value is; a value that does not fit is refused like by the validator.
            timeout: seconds; the result is None when they pass.
        """
        full, deadline = update_channel(self.eid, name), self._deadline(timeout)
        while True:
            asked = await self._receive(f"update-{name}", full, deadline, None, START)
            if asked is None:
                return None
            update = Update(self, name, str(asked["id"]), None)
            try:
                value = codec.from_data(asked["value"], as_type)
                if validator is not None:
                    validator(value)
            except Exception as error:
                await update.reject(error)
            else:
                return Update(self, name, update.id, value)

    def _channel(self, channel: str, scope: str) -> str:
        if scope not in ("execution", "global"):
            raise UsageError(f"scope '{scope}' is unknown; use 'execution' or 'global'")
        return scoped_channel(self.eid, channel) if scope == "execution" else global_channel(channel)

    def _deadline(self, timeout: Seconds | None) -> Timestamp | None:
        limit_s = seconds("timeout", timeout)
        return None if limit_s is None else self._session.now + timedelta(seconds=limit_s)

    def _receive(
        self, name: str, full: str, deadline: Timestamp | None, correlation: str | None, after: Position
    ) -> FrameCall[Any]:
        about: dict[str, Data] = {"channel": full}
        if deadline is not None:
            about["deadline"] = str(deadline)
        if correlation is not None:
            about["correlation"] = correlation
        if after != START:
            about["after"] = f"{after.commit}.{after.seq}"
        action = ReceiveMessage(full, deadline, correlation, after)
        return self._call(FrameKind.RECEIVE, name, about, action, as_is, None, about)

    async def _receive_from_now(self, name: str, full: str, deadline: Timestamp | None, correlation: str | None) -> Any:
        """The place where the channel ends is an outcome of its own: a crash before the receive does not move it."""
        place = await self._effect("tail", {"channel": full}, self._effects.tail(full), as_is)
        return await self._receive(name, full, deadline, correlation, _place(place))

    def _tell(self, channel: str, name: str, about: Data, correlation: str | None = None) -> FrameCall[None]:
        """Put something into one of this execution's own channels, where nobody sleeps."""
        return self._effect(name, about, self._effects.note(channel, about, correlation), nothing, {"channel": channel})

    def _next_number(self, channel: str) -> int:
        """Counts what is put into a channel, in the order of the calls."""
        number = self._numbers[channel] = self._numbers.get(channel, 0) + 1
        return number


def _place(from_: str) -> Position:
    if from_ == "start":
        return START
    if not _PLACE.fullmatch(from_):
        raise UsageError(f"from_ is {from_!r}; use 'start', 'now' or a place that ctx.position gave")
    commit, _, seq = from_.partition(".")
    return Position(int(commit), int(seq))
