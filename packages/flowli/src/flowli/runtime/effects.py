"""``Effects``: what the context's calls do at the ports. Each is done under the owner's lease and is safe to repeat."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import structlog

from flowli.domain.channels import Message
from flowli.domain.data import Data, Scalar
from flowli.domain.entries import START, Announced, AttributesSet, ControlBody, ControlEntry, TaskEnqueued
from flowli.domain.execution import Execution
from flowli.domain.ids import Eid, Fid
from flowli.domain.provenance import Provenance
from flowli.domain.tasks import Task, TaskKind
from flowli.runtime.limits import check_size
from flowli.runtime.observe.spans import delegate_work, in_trace, send_work
from flowli.runtime.protocols.deliver import check_receiver, deliver, sent_before
from flowli.runtime.protocols.named_lease import leave_lease, take_lease
from flowli.runtime.registry import Registry
from flowli.runtime.replay.calls import CallEffect, LiveFrame
from flowli.runtime.services import Services
from flowli.timestamp import Timestamp

__all__ = ["Effects"]

_log = structlog.get_logger("flowli.workflow")
_quiet = structlog.wrap_logger(structlog.ReturnLogger(), processors=[structlog.processors.KeyValueRenderer()])


class Effects:
    """Builds the actions of one execution.

    Args:
        by: the owner, now.
    """

    def __init__(self, services: Services, execution: Execution, by: Callable[[], Provenance]) -> None:
        self._services = services
        self._execution = execution
        self._by = by
        self._trace = execution.created_by.trace
        self._logger = _log.bind(eid=str(execution.eid), workflow=execution.workflow)

    @property
    def registry(self) -> Registry:
        """Where children are looked up."""
        return self._services.registry

    def logger(self, replaying: bool) -> Any:
        """A logger that is silent during replay."""
        return _quiet if replaying else self._logger

    def send(self, eid: Eid | None, channel: str, payload: Data, correlation: str | None) -> CallEffect:
        """Send once: the message's id is that of the frame, and the channel is searched for it before a second try.

        Args:
            eid: the receiver; None for everyone who receives on a global channel.
        """

        async def perform(frame: LiveFrame) -> Data:
            services, by = self._services, self._by()
            self._check_size(f"the payload of {frame.fid}", payload)
            message = Message(f"{self._execution.eid}/{frame.fid}", channel, payload, by, correlation)
            with services.observers.tracer.around(send_work(message, self._trace, self._execution.eid)) as span:
                return await self._send(in_trace(message, span.trace), eid, again=frame.relaunched)

        return CallEffect(perform)

    async def _send(self, message: Message, eid: Eid | None, *, again: bool) -> int:
        ports, by = self._services.ports, message.sent_by
        sent = await sent_before(ports, message) if again else None
        # a message that an earlier owner sent may have ended its receiver by now
        marker = await check_receiver(ports, eid, message.channel) if sent is None and eid is not None else None
        after = START if sent is not None else None
        sent = await deliver(ports, self._services.hub, message, eid=eid, by=by, search_after=after, seen=marker)
        return sent.seq

    def note(self, channel: str, payload: Data, correlation: str | None = None) -> CallEffect:
        """Put a message, once, into a channel of the execution itself on which no execution receives."""

        async def perform(frame: LiveFrame) -> Data:
            self._check_size(f"the value of {frame.fid}", payload)
            message = Message(f"{self._execution.eid}/{frame.fid}", channel, payload, self._by(), correlation)
            sent = await sent_before(self._services.ports, message) if frame.relaunched else None
            if sent is None:
                await self._services.ports.channel.send(message)
            if correlation is not None:
                self._services.hub.changed(self._execution.eid)  # somebody may wait for it in this process
            return None

        return CallEffect(perform)

    def nothing(self) -> CallEffect:
        """Nothing at all. Like every effect it waits until what the code has seen is durable."""

        async def perform(frame: LiveFrame) -> Data:
            return None

        return CallEffect(perform)

    def tail(self, channel: str) -> CallEffect:
        """Where a channel ends."""

        async def perform(frame: LiveFrame) -> Data:
            end = await self._services.ports.channel.end(channel)
            return f"{end.commit}.{end.seq}"

        return CallEffect(perform)

    def take_lease(self, name: str, fid: Fid) -> CallEffect:
        """Take a named lease, or stand in the line for it; ``fid`` is the holder, this frame if it is empty."""

        async def perform(frame: LiveFrame) -> Data:
            return await take_lease(self._services, self._execution, name, fid or frame.fid, self._by())

        return CallEffect(perform)

    def leave_lease(self, name: str, fid: Fid) -> CallEffect:
        """Let a named lease go, or leave the line for it."""

        async def perform(frame: LiveFrame) -> Data:
            await leave_lease(self._services, self._execution.eid, name, fid, self._by())
            return None

        return CallEffect(perform)

    def announce(self, topic: str, data: Data) -> CallEffect:
        """Append to the control log; the same announcement may stand there twice after a crash."""
        return self._control(lambda frame: Announced(topic, data, self._execution.eid, frame.fid))

    def set_attributes(self, attributes: dict[str, Scalar]) -> CallEffect:
        """Append to the control log."""
        return self._control(lambda frame: AttributesSet(self._execution.eid, attributes))

    def _control(self, body: Callable[[LiveFrame], ControlBody]) -> CallEffect:
        async def perform(frame: LiveFrame) -> Data:
            await self._services.announcer.post([ControlEntry(body(frame), self._by())])
            return None

        return CallEffect(perform)

    def enqueue(
        self, queue: str, payload: Data, reply_to: str | None, correlation: str | None, *, at: Timestamp
    ) -> CallEffect:
        """Put a DELEGATE task; key and instant are equal on every replay, so that repeating it puts the same task.

        Args:
            at: the present as the code knows it.
        """

        async def perform(frame: LiveFrame) -> Data:
            execution, by = self._execution, self._by()
            self._check_size(f"the payload of {frame.fid}", payload)
            envelope: dict[str, Data] = {"payload": payload}
            if reply_to is not None:
                envelope["reply_to"] = {"eid": str(execution.eid), "channel": reply_to}
            if correlation is not None:
                envelope["correlation"] = correlation
            task = Task(
                queue=queue,
                kind=TaskKind.DELEGATE,
                target=execution.eid,
                cause_at=at,
                enqueued_by=by,
                key=frame.task_key,
                reason="delegate",
                priority=execution.priority,
                payload=envelope,
            )
            with self._services.observers.tracer.around(delegate_work(task, self._trace)) as span:
                by = replace(by, trace=span.trace)
                await self._services.ports.queue.enqueue(replace(task, enqueued_by=by))
            self._services.hub.wake_queue(queue)
            entry = TaskEnqueued(execution.eid, queue, str(task.kind), task.task_id)
            self._services.announcer.post([ControlEntry(entry, by)])
            return task.task_id

        return CallEffect(perform)

    def withdraw(self, queue: str, task_id: str) -> CallEffect:
        """Remove a task of this execution that nobody holds."""

        async def perform(frame: LiveFrame) -> Data:
            port = self._services.ports.queue
            for view in await port.find(queue, self._execution.eid, limit=10_000):
                if view.task.task_id == task_id:
                    return await port.withdraw(view.task)
            return False

        return CallEffect(perform)

    def claim(self, key: str, value: Data) -> CallEffect:
        """Put if absent; the answer is what stands."""

        async def perform(frame: LiveFrame) -> Data:
            self._check_size(f"the value of {frame.fid}", value)
            return (await self._services.ports.dispatch.claim(key, value)).value

        return CallEffect(perform)

    def _check_size(self, what: str, value: Data) -> None:
        """Refuse a value over the limit; the frame fails with that, once and for all."""
        check_size(what, value, self._services.config.max_value_bytes)
