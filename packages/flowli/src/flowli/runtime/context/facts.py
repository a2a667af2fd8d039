"""What an execution makes known, claims and hands out: announcements, tasks for others, claims, leases, attributes."""

from __future__ import annotations

from typing import Any

from flowli import codec
from flowli.domain.channels import scoped_channel
from flowli.domain.data import Data, Scalar
from flowli.domain.ids import check_key, check_name
from flowli.runtime.context.base import as_is, nothing
from flowli.runtime.context.leases import NamedLease
from flowli.runtime.context.messages import MessageCalls
from flowli.runtime.replay.calls import FrameCall

__all__ = ["FactCalls"]


class FactCalls(MessageCalls):
    """``announce``, ``enqueue``, ``withdraw``, ``claim``, ``lease``, ``set_attributes``."""

    def announce(self, topic: str, data: object = None) -> FrameCall[None]:
        """Make a public fact of this execution known in the control log, where projections and applications read it."""
        check_name("topic", topic)
        encoded = codec.to_data(data, path="data")
        return self._effect(
            "announce", {"topic": topic, "data": encoded}, self._effects.announce(topic, encoded), nothing
        )

    def enqueue(
        self, queue: str, payload: object = None, *, reply_to: str | None = None, correlation: str | None = None
    ) -> FrameCall[str]:
        """Put a DELEGATE task on a queue, for a consumer outside the engine. The result is the task's id.

        Args:
            reply_to: channel of this execution on which the answer is awaited.
            correlation: of the answer.
        """
        check_name("queue", queue)
        data = codec.to_data(payload, path="payload")
        if reply_to is not None:
            scoped_channel(self.eid, reply_to)
        about: Data = {"queue": queue, "payload": data, "reply_to": reply_to, "correlation": correlation}
        put = self._effects.enqueue(queue, data, reply_to, correlation, at=self._session.now)
        return self._effect("enqueue", about, put, as_is)

    def withdraw(self, queue: str, task_id: str) -> FrameCall[bool]:
        """Take a task back that nobody has taken yet; the result tells whether it was still there."""
        check_name("queue", queue)
        return self._effect(
            "withdraw", {"queue": queue, "task": task_id}, self._effects.withdraw(queue, task_id), as_is
        )

    def claim(self, key: str, value: object = None) -> FrameCall[Any]:
        """Decide ``key`` once for the whole bucket; the result is the value that stands, of whoever was first."""
        check_key("claim", key)
        data = codec.to_data(value, path="value")
        return self._effect("claim", {"key": key, "value": data}, self._effects.claim(key, data), as_is)

    def lease(self, name: str) -> NamedLease:
        """A lease that one holder in the whole bucket has at a time, to be used with ``async with``.

        Example:
            >>> async with ctx.lease("repo:main") as held:
            ...     await ctx.step(push, fence=held.epoch)
        """
        return NamedLease(self, name)

    def set_attributes(self, **attributes: Scalar) -> FrameCall[None]:
        """Set searchable attributes of this execution; None removes one."""
        for name in attributes:
            check_name("attribute", name)
        about: Data = {**attributes}
        return self._effect("attributes", about, self._effects.set_attributes(attributes), nothing)
