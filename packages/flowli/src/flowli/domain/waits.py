"""What a frame or an execution waits on: tagged values, never parsed out of a string."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, TypeAlias

from flowli.domain.ids import Eid, Fid
from flowli.timestamp import Timestamp

__all__ = ["On", "OnChannel", "OnChild", "OnOperator", "OnStep", "OnTimer"]


@dataclass(frozen=True, slots=True)
class OnChannel:
    """A message on a channel (the full name, ``{eid}.{name}`` for a scoped one)."""

    tag: ClassVar[str] = "channel"
    channel: str


@dataclass(frozen=True, slots=True)
class OnTimer:
    """An instant: a sleep, a retry delay, a deferral or the deadline of a receive."""

    tag: ClassVar[str] = "timer"
    due_at: Timestamp


@dataclass(frozen=True, slots=True)
class OnChild:
    """The end of a child execution."""

    tag: ClassVar[str] = "child"
    eid: Eid


@dataclass(frozen=True, slots=True)
class OnStep:
    """The outcome of a detached step that another worker runs."""

    tag: ClassVar[str] = "step"
    fid: Fid
    attempt: int


@dataclass(frozen=True, slots=True)
class OnOperator:
    """A person: the execution is paused or parked.

    Attributes:
        cause: ``paused``, ``nondeterminism``, ``unknown_entry``, ``dead_letter``, ...
        reason: one sentence.
        code_ref: of the code that parked it, so that another code may try again.
        task: id of the task that was set aside, if that is why.
    """

    tag: ClassVar[str] = "operator"
    cause: str
    reason: str = ""
    code_ref: str = ""
    task: str = ""


On: TypeAlias = OnChannel | OnTimer | OnChild | OnStep | OnOperator
