"""Messages from outside."""

from __future__ import annotations

from flowli import codec
from flowli.domain.channels import Message, global_channel, scoped_channel
from flowli.domain.data import Data
from flowli.domain.entries import START
from flowli.domain.errors import DispatchConflict, NotAllowed
from flowli.domain.ids import Eid, check_key
from flowli.domain.provenance import Actor
from flowli.runtime.engine.base import EngineBase, as_eid
from flowli.runtime.protocols.deliver import check_receiver, deliver, sent_before

__all__ = ["SignalVerbs"]


class SignalVerbs(EngineBase):
    """``signal`` and ``broadcast``."""

    async def signal(
        self,
        eid: Eid | str,
        channel: str,
        payload: object = None,
        *,
        key: str | None = None,
        correlation: str | None = None,
        actor: Actor | None = None,
    ) -> int:
        """Send a message to one execution; returns its sequence number in the channel when it is durable.

        A message sent before the execution receives on the channel is kept.

        Args:
            eid: the execution.
            channel: a name, as given to ``ctx.receive``.
            payload: anything that can be recorded.
            key: the same message with the same key is sent once; None for a new message.
            correlation: lets the receiver wait for this one of several messages.
            actor: who sends; this process if None.

        Raises:
            UnknownExecution: no such execution; nothing was stored.
            NotAllowed: it has ended; nothing was stored.
            DispatchConflict: the key was used for another message.
        """
        eid = as_eid(eid)
        message = self._message(scoped_channel(eid, channel), payload, key, correlation, actor)
        try:
            seen = await check_receiver(self.ports, eid, message.channel)
        except NotAllowed:
            # the message of an earlier call with this key may have been the last that it received
            sent_earlier = None if key is None else await sent_before(self.ports, message)
            if sent_earlier is None:
                raise
            return self._same(sent_earlier, message)
        after = None if key is None else START
        sent = await deliver(self.ports, self.hub, message, eid=eid, by=message.sent_by, search_after=after, seen=seen)
        return self._same(sent, message)

    async def broadcast(
        self,
        channel: str,
        payload: object = None,
        *,
        key: str | None = None,
        correlation: str | None = None,
        actor: Actor | None = None,
    ) -> int:
        """Send a message to everyone who receives on a global channel; arguments and errors are those of ``signal``."""
        message = self._message(global_channel(channel), payload, key, correlation, actor)
        after = None if key is None else START
        sent = await deliver(self.ports, self.hub, message, eid=None, by=message.sent_by, search_after=after)
        return self._same(sent, message)

    def _message(
        self, channel: str, payload: object, key: str | None, correlation: str | None, actor: Actor | None
    ) -> Message:
        data: Data = codec.to_data(payload, path="payload")
        self._check_size("payload", data)
        identity = self.world.token() if key is None else check_key("key", key)
        return Message(identity, channel, data, self._by(actor), correlation)

    @staticmethod
    def _same(sent: Message, message: Message) -> int:
        """The number of a message that stands, which must be the one that was meant."""
        if (sent.payload, sent.correlation) != (message.payload, message.correlation):
            raise DispatchConflict(
                f"key {message.id!r} was used for another message on channel '{message.channel}' (number {sent.seq}); "
                "use another key"
            )
        return sent.seq
