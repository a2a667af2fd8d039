"""Delegates: work that leaves the engine, and the answers to it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from flowli.domain.data import Data
from flowli.domain.errors import ErrorInfo
from flowli.domain.ids import Eid

__all__ = ["Answer", "AnswerOutcome", "Delegate", "ReplyTo"]


@dataclass(frozen=True, slots=True)
class ReplyTo:
    """Where the answer goes: the channel ``channel`` of the execution ``eid``."""

    eid: Eid
    channel: str


@dataclass(frozen=True, slots=True)
class Delegate:
    """A piece of work for a consumer: the payload of a DELEGATE task.

    Attributes:
        payload: what is to be done; the consumer's handler knows how to read it.
        reply_to: where the answer goes; None if nobody waits for one.
        correlation: is repeated on the answer.
        task_id: of the task, filled in by the consumer: the same each time the task is delivered.
        eid: the execution that delegated it, filled in by the consumer.
        delivery: from 1; rises each time the task is taken; filled in by the consumer.
        trace: W3C trace context of this delivery, to be handed on to what does the work; filled in by the consumer.
    """

    payload: Data
    reply_to: ReplyTo | None = None
    correlation: str | None = None
    task_id: str = ""
    eid: Eid | None = None
    delivery: int = 0
    trace: str = ""


class AnswerOutcome(StrEnum):
    """How the work ended."""

    COMPLETED = "completed"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Answer:
    """What a consumer sends on the reply channel: ``{"outcome": "completed", "value": ...}`` or
    ``{"outcome": "failed", "error": {...}}``.
    """

    outcome: AnswerOutcome
    value: Data = None
    error: ErrorInfo | None = None

    def to_data(self) -> dict[str, Data]:
        """The payload of the reply message."""
        if self.error is None:
            return {"outcome": self.outcome.value, "value": self.value}
        info: dict[str, Data] = {"type": self.error.type, "message": self.error.message}
        if self.error.traceback:
            info["traceback"] = self.error.traceback
        return {"outcome": self.outcome.value, "error": info}

    @classmethod
    def from_data(cls, data: Data) -> Answer:
        """Read the payload of a reply message.

        Raises:
            ValueError: it is no answer.
        """
        match data:
            case {"outcome": "completed", "value": value}:
                return cls(AnswerOutcome.COMPLETED, value)
            case {"outcome": "failed", "error": {"type": str(kind), "message": str(message), **rest}}:
                return cls(AnswerOutcome.FAILED, None, ErrorInfo(kind, message, str(rest.get("traceback", ""))))
            case _:
                raise ValueError('an answer has the form {"outcome": "completed", "value": ...}')
