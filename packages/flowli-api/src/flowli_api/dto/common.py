"""Small things that many answers hold."""

from __future__ import annotations

from pydantic import Field, JsonValue

from flowli import codec
from flowli.domain.errors import ErrorInfo
from flowli.domain.ids import FrameRef
from flowli.domain.provenance import Actor, Provenance
from flowli.domain.waits import On
from flowli.timestamp import Timestamp
from flowli_api.dto.base import Out

__all__ = ["ActorOut", "ErrorOut", "FrameRefOut", "Written", "instant", "waits"]


class ActorOut(Out):
    """Who did something."""

    kind: str = Field(examples=["human"])
    id: str = Field(examples=["https://login.example.org|ada"])
    on_behalf_of: str | None = None

    @classmethod
    def of(cls, actor: Actor) -> ActorOut:
        """From the domain."""
        return cls(kind=actor.kind.value, id=actor.id, on_behalf_of=actor.on_behalf_of)

    @classmethod
    def by(cls, by: Provenance) -> ActorOut:
        """The actor of a provenance."""
        return cls.of(by.actor)


class ErrorOut(Out):
    """An error as it is journaled. The traceback needs ``values:read``."""

    type: str = Field(examples=["builtins.ValueError"])
    message: str
    traceback: str | None = None

    @classmethod
    def of(cls, error: ErrorInfo | None, values: bool = False) -> ErrorOut | None:
        """From the domain."""
        if error is None:
            return None
        return cls(type=error.type, message=error.message, traceback=(error.traceback or None) if values else None)


class FrameRefOut(Out):
    """One frame of one execution."""

    eid: str
    fid: str

    @classmethod
    def of(cls, ref: FrameRef | None) -> FrameRefOut | None:
        """From the domain."""
        return None if ref is None else cls(eid=str(ref.eid), fid=ref.fid)


class Written(Out):
    """A write is durable."""

    eid: str | None = Field(default=None, examples=["0197a1b2-0000-7000-8000-000000000000"])
    control_seq: int = Field(examples=[42], description="Send it as Flowli-After to see this write at any process.")


def instant(at: Timestamp | None) -> str | None:
    """An instant as text."""
    return None if at is None else str(at)


def waits(on: tuple[On, ...]) -> list[dict[str, JsonValue]]:
    """What something waits on: each with its ``tag`` and the fields of that kind."""
    return [{"tag": one.tag, **codec.dump(one)} for one in on]
