"""The worker plane."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, JsonValue

from flowli_api.dto.base import In, Out
from flowli_api.params import WHOLE

__all__ = [
    "Ack",
    "Acquire",
    "AnswerOut",
    "Deliver",
    "Dequeue",
    "EvidenceWritten",
    "HeldOut",
    "Nack",
    "Renew",
    "Renewed",
    "ScopeOut",
    "State",
    "StateCleared",
    "StateOut",
    "TakenOut",
    "TakenPage",
]

Token = Annotated[str, Field(min_length=1, max_length=16_384, description="Of the dequeue, or of the last renewal.")]
_Ttl = Annotated[float, Field(ge=1, le=3600, description="Without a renewal for so long the holder is taken for dead.")]


class Dequeue(In):
    """Take tasks."""

    limit: Annotated[int, Field(ge=1, le=100), WHOLE] = 1
    ttl_s: _Ttl = 30.0
    wait_s: float = Field(default=0.0, ge=0, le=3600, description="How long to wait for a task if there is none.")


class TakenOut(Out):
    """A task that the caller holds now."""

    token: str
    task_id: str
    eid: str
    queue: str
    payload: JsonValue
    correlation: str | None
    reply: bool = Field(description="Somebody waits for an answer.")
    delivery: int = Field(description="From 1; rises each time the task is taken.")
    ttl_s: float


class TakenPage(Out):
    """The tasks that were taken; none if there was none in the time given."""

    items: list[TakenOut]


class Renew(In):
    """Show that the holder lives."""

    token: Token


class Renewed(Out):
    """The lease goes on. Earlier tokens of this taking stay good."""

    token: str
    ttl_s: float
    wanted: bool = Field(description="False when nobody can receive the answer any more: the work may end.")


class Ack(In):
    """The tasks are done."""

    tokens: list[Token] = Field(min_length=1, max_length=100)


class Nack(In):
    """Give a task back."""

    token: Token
    delay_s: float = Field(default=0.0, ge=0, le=31_536_000)


class HeldOut(Out):
    """Tasks that are no longer held."""

    task_ids: list[str]


class Failure(In):
    """Why the work failed."""

    type: str = Field(min_length=1, max_length=500, examples=["builtins.ValueError"])
    message: str = Field(max_length=65_536)
    traceback: str = Field(default="", max_length=262_144)


class Deliver(In):
    """Answer a task; with `ack` also be done with it."""

    token: Token
    value: JsonValue = None
    error: Failure | None = Field(default=None, description="The work failed; `value` is then of no interest.")
    ack: bool = False


class AnswerOut(Out):
    """The answer is durable."""

    task_id: str
    delivered: bool = Field(description="False if nobody waits for it.")
    control_seq: int


class EvidenceWritten(Out):
    """A body is kept."""

    name: str = Field(examples=["root~agents=1.1.1/transcript"])
    fresh: bool = Field(description="False if there was one of that name: the first one stays.")
    whole: bool = Field(description="False while parts are missing.")


class State(In):
    """What the consumer of a task leaves for the one who goes on with it."""

    token: Token
    state: JsonValue


class StateOut(Out):
    """The state of a task."""

    token: str
    state: JsonValue
    held: bool = Field(description="Nobody has taken it since the token was given.")
    standing: bool = Field(description="The task is still in its queue.")


class StateCleared(Out):
    """The state is gone, or somebody else's."""

    cleared: bool = True


class Acquire(In):
    """Take a scope."""

    ttl_s: _Ttl = 30.0


class ScopeOut(Out):
    """A scope that the caller holds now."""

    token: str
    epoch: int = Field(description="Rises with every holder; give it to what is written to, as a fence.")
    ttl_s: float
