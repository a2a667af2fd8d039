"""Updates: requests from outside that a workflow answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from flowli import codec
from flowli.domain.delegate import Answer, AnswerOutcome
from flowli.domain.errors import ErrorInfo
from flowli.runtime.own_channels import reply_channel
from flowli.runtime.replay.calls import FrameCall

if TYPE_CHECKING:
    from flowli.runtime.context.messages import MessageCalls

__all__ = ["Update", "Updates"]


@dataclass(frozen=True, slots=True)
class Update:
    """One update; answer it with ``reply`` or ``reject``. The first answer counts.

    Attributes:
        name: of the update.
        id: names it among all.
        value: what was sent along.
    """

    _context: MessageCalls
    name: str
    id: str
    value: Any

    def reply(self, value: object = None) -> FrameCall[None]:
        """Answer it; the requester gets ``value``."""
        return self._answer(Answer(AnswerOutcome.COMPLETED, codec.to_data(value, path="reply")))

    def reject(self, error: BaseException | str) -> FrameCall[None]:
        """Refuse it; the requester gets ``UpdateRejected``."""
        info = ErrorInfo("flowli.UpdateRejected", error) if isinstance(error, str) else codec.error_info(error)
        return self._answer(Answer(AnswerOutcome.FAILED, error=ErrorInfo(info.type, info.message)))

    def _answer(self, answer: Answer) -> FrameCall[None]:
        channel = reply_channel(self._context.eid, self.name)
        return self._context._tell(channel, "reply", answer.to_data(), self.id)


class Updates:
    """An endless iterator over the updates of one name."""

    def __init__(
        self, context: MessageCalls, name: str, validator: Callable[[Any], object] | None, as_type: Any
    ) -> None:
        self._context = context
        self._name = name
        self._validator = validator
        self._as_type = as_type

    def __aiter__(self) -> Updates:
        return self

    async def __anext__(self) -> Update:
        update = await self._context.next_update(self._name, validator=self._validator, as_type=self._as_type)
        assert update is not None
        return update
