"""Messages from outside."""

from __future__ import annotations

from flowli import codec
from flowli.domain.channels import Message, global_channel, scoped_channel
from flowli.domain.data import Data
from flowli.domain.delegate import Answer, AnswerOutcome
from flowli.domain.entries import START
from flowli.domain.errors import DispatchConflict, ErrorInfo, NotAllowed
from flowli.domain.ids import Eid, check_key
from flowli.domain.provenance import Actor
from flowli.runtime.engine.base import EngineBase, as_eid
from flowli.runtime.observe.spans import in_trace, send_work
from flowli.runtime.protocols.deliver import check_receiver, deliver, sent_before

__all__ = ["SignalVerbs"]


class SignalVerbs(EngineBase):
    """``signal``, ``deliver`` and ``broadcast``."""

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
        return await self._send_to(eid, message, keyed=key is not None)

    async def deliver(
        self,
        eid: Eid | str,
        channel: str,
        value: object = None,
        *,
        task_id: str,
        error: BaseException | None = None,
        correlation: str | None = None,
        actor: Actor | None = None,
    ) -> int:
        """Answer a delegate's task on the channel where the execution waits for it; for whoever did the work without
        a ``Consumer``. Deliver first and ack the task second: the reverse order can lose the answer.

        Args:
            eid: the execution that delegated.
            channel: its reply channel, as in the task's ``reply_to``.
            value: the result.
            task_id: of the task; it is answered once, however often this is done.
            error: why the work failed, in the place of a result.
            correlation: as in the task.
            actor: who answers; this process if None.

        Returns:
            The number of the answer in the channel.

        Raises:
            UnknownExecution: no such execution; nothing was stored.
            NotAllowed: it has ended; nothing was stored.
            DispatchConflict: the task was answered in another way.
        """
        eid = as_eid(eid)
        if error is None:
            answer = Answer(AnswerOutcome.COMPLETED, codec.to_data(value, path="value"))
        else:
            info = codec.error_info(error)
            # without the traceback, which may differ when the same answer is given again
            answer = Answer(AnswerOutcome.FAILED, error=ErrorInfo(info.type, info.message))
        full = scoped_channel(eid, channel.removeprefix(f"{eid}."))
        message = Message(task_id, full, answer.to_data(), self._by(actor), correlation)
        self._check_size("the answer", message.payload)
        return await self._send_to(eid, message, keyed=True)

    async def _send_to(self, eid: Eid, message: Message, *, keyed: bool) -> int:
        with self.observers.tracer.around(send_work(message, message.sent_by.trace)) as span:
            return await self._sent_to(eid, in_trace(message, span.trace), keyed=keyed)

    async def _sent_to(self, eid: Eid, message: Message, *, keyed: bool) -> int:
        try:
            seen = await check_receiver(self.ports, eid, message.channel)
        except NotAllowed:
            # the message of an earlier call with this key may have been the last that it received
            sent_earlier = await sent_before(self.ports, message) if keyed else None
            if sent_earlier is None:
                raise
            return self._same(sent_earlier, message)
        after = START if keyed else None
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
        with self.observers.tracer.around(send_work(message, message.sent_by.trace)) as span:
            message = in_trace(message, span.trace)
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
