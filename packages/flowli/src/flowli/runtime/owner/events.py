"""What an owner is told. It deals with one event at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from flowli.domain.ids import Eid
from flowli.domain.ports import LeaseRequest
from flowli.runtime.owner.steps import Returned
from flowli.runtime.protocols.complete_child import ChildEnd
from flowli.runtime.protocols.retry import Deferred, Failed
from flowli.runtime.protocols.step_end import StepEnd
from flowli.runtime.replay.calls import LiveFrame

__all__ = [
    "AttemptEnded",
    "ChildSeen",
    "EffectDone",
    "Event",
    "Lost",
    "Nudged",
    "Requested",
    "StepSeen",
    "Stop",
    "Woken",
]


@dataclass(frozen=True, slots=True)
class AttemptEnded:
    """An attempt of a step has an outcome."""

    frame: LiveFrame
    outcome: Returned | Failed | Deferred


@dataclass(frozen=True, slots=True)
class EffectDone:
    """An effect was done: its value, or the usage error that it met."""

    frame: LiveFrame
    outcome: Returned | Failed


@dataclass(frozen=True, slots=True)
class Woken:
    """Something that the execution may wait on has come; ``cause`` is the key of the RESUME that says so."""

    cause: str


@dataclass(frozen=True, slots=True)
class ChildSeen:
    """A child's end is known."""

    eid: Eid
    end: ChildEnd


@dataclass(frozen=True, slots=True)
class StepSeen:
    """The end of a detached step is known; ``cause`` as in ``Woken``."""

    cause: str
    end: StepEnd


@dataclass(frozen=True, slots=True)
class Requested:
    """Requests stand in the lease."""

    requests: tuple[LeaseRequest, ...]


@dataclass(frozen=True, slots=True)
class Nudged:
    """Something changed that the loop looks at anyway: a commit landed, an instant came, channels were read."""


@dataclass(frozen=True, slots=True)
class Lost:
    """The execution cannot go on here."""

    error: BaseException


@dataclass(frozen=True, slots=True)
class Stop:
    """The worker goes down: launch nothing more and hand the execution over.

    Attributes:
        now: do not wait for what is under way.
    """

    now: bool


Event: TypeAlias = AttemptEnded | EffectDone | Woken | ChildSeen | StepSeen | Requested | Nudged | Stop | Lost
