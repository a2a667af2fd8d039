"""Requests to executions that are answered: ``update``."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from flowli.domain.channels import Message
from flowli.domain.delegate import Answer
from flowli.domain.entries import START, Position
from flowli.domain.errors import NotAllowed, ResultTimeout, UpdateRejected
from flowli.domain.ids import Eid
from flowli.domain.provenance import Actor
from flowli.runtime.engine.base import as_eid
from flowli.runtime.engine.signals import SignalVerbs
from flowli.runtime.hub import INSTANT_S
from flowli.runtime.own_channels import reply_channel, update_channel
from flowli.runtime.protocols.deliver import check_receiver, deliver, sent_before
from flowli.runtime.protocols.standing import read_standing

__all__ = ["UpdateVerbs"]

_FIRST_LOOK_S, _LAST_LOOK_S = 0.02, 1.0
_LOOKS_BEFORE_END = 10


class UpdateVerbs(SignalVerbs):
    """``update``."""

    async def update(
        self,
        eid: Eid | str,
        name: str,
        payload: object = None,
        *,
        timeout: float | timedelta | None = None,
        key: str | None = None,
        actor: Actor | None = None,
    ) -> Any:
        """Ask an execution for something and wait for its answer; the workflow takes it with ``ctx.updates(name)``.

        An update that is made before the workflow asks for one is kept.

        Args:
            eid: the execution.
            name: of the update.
            payload: anything that can be recorded; the workflow's validator may refuse it.
            timeout: how long to wait for the answer, in seconds; None for ever. The update stays: the same call with
                the same key waits on.
            key: the same update with the same key is made once; None for a new one.
            actor: who asks; this process if None.

        Raises:
            UpdateRejected: the workflow refused it.
            ResultTimeout: there was no answer in time.
            UnknownExecution: no such execution; nothing was stored.
            NotAllowed: it has ended, before the call or before it answered.
            DispatchConflict: the key was used for another update.
        """
        eid = as_eid(eid)
        message = self._message(update_channel(eid, name), payload, key, None, actor)
        replies = reply_channel(eid, name)
        value, after = message.payload, START
        message = Message(message.id, message.channel, {"id": message.id, "value": value}, message.sent_by)
        try:
            seen = await check_receiver(self.ports, eid, message.channel)
        except NotAllowed:
            # an earlier call with this key may have been answered before it ended
            earlier = None if key is None else await sent_before(self.ports, message)
            if earlier is None:
                raise
            self._same(earlier, message)
        else:
            if key is None:
                after = await self.ports.channel.end(replies)
            search = None if key is None else START
            sent = await deliver(
                self.ports, self.hub, message, eid=eid, by=message.sent_by, search_after=search, seen=seen
            )
            self._same(sent, message)
        answer = await self._answer(eid, name, replies, message.id, after, timeout)
        if answer.error is not None:
            raise UpdateRejected(eid, name, answer.error)
        return answer.value

    async def _answer(
        self, eid: Eid, name: str, replies: str, request: str, after: Position, timeout: float | timedelta | None
    ) -> Answer:
        """Wait for the answer, or for the end of the execution."""
        seconds = timeout.total_seconds() if isinstance(timeout, timedelta) else timeout
        deadline_s = None if seconds is None else self.world.monotonic_s() + seconds
        look_s, looks = _FIRST_LOOK_S, 0
        with self.hub.watch(eid) as watch:
            while True:
                ended = watch.ended is not None  # before the last look: its last answer came before its end
                if not ended and looks % _LOOKS_BEFORE_END == _LOOKS_BEFORE_END - 1:
                    ended = (await read_standing(self.ports, eid)).ended
                found = await self.ports.channel.read(replies, after=after)
                after = found.position
                answer = next((message for message in found.messages if message.correlation == request), None)
                if answer is not None:
                    return Answer.from_data(answer.payload)
                if ended:
                    raise NotAllowed(f"execution {eid} ended before it answered the update '{name}'")
                if deadline_s is not None and self.world.monotonic_s() > deadline_s - INSTANT_S:
                    raise ResultTimeout(
                        f"execution {eid} has not answered the update '{name}' within {seconds:g} s; the update "
                        "stays, ask again with the same key"
                    )
                told = await watch.wait(look_s, deadline_s)
                looks += 1
                look_s = _FIRST_LOOK_S if told else min(1.5 * look_s, _LAST_LOOK_S)
