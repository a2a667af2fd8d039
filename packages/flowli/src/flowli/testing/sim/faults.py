"""The faults that one operation on the bucket may carry."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

__all__ = [
    "DieAfter",
    "DieBefore",
    "Echo",
    "Fault",
    "Freeze",
    "Late",
    "Outage",
    "Refuse",
    "Resent",
    "Slow",
    "StaleList",
    "Throttle",
    "TornList",
    "Vanish",
]


@dataclass(frozen=True, slots=True)
class Refuse:
    """Not applied; the client is told that the store cannot be reached."""


@dataclass(frozen=True, slots=True)
class Throttle:
    """Not applied; the client is told to slow down."""


@dataclass(frozen=True, slots=True)
class Vanish:
    """Applied; the answer is lost and the client times out."""


@dataclass(frozen=True, slots=True)
class Echo:
    """Applied; the answer is lost, the request was sent again below, and the client sees that its condition fails."""


@dataclass(frozen=True, slots=True)
class Late:
    """The client times out now; the request lands ``after_s`` later, if its condition still holds."""

    after_s: float


@dataclass(frozen=True, slots=True)
class Outage:
    """For ``for_s`` from now on the store refuses everything that anybody asks."""

    for_s: float


@dataclass(frozen=True, slots=True)
class Slow:
    """Applied, and answered, ``after_s`` later."""

    after_s: float


@dataclass(frozen=True, slots=True)
class Resent:
    """An unconditional write is applied once more, ``after_s`` later."""

    after_s: float


@dataclass(frozen=True, slots=True)
class DieBefore:
    """The process dies; the request was never sent."""


@dataclass(frozen=True, slots=True)
class DieAfter:
    """Applied; the process dies before the answer."""


@dataclass(frozen=True, slots=True)
class Freeze:
    """The process stands still for ``for_s``, after the request was sent.

    Attributes:
        suspend: its monotonic clock stands still as well, as when a laptop sleeps.
    """

    for_s: float
    suspend: bool = False


@dataclass(frozen=True, slots=True)
class StaleList:
    """A listing shows what was there ``age_s`` ago."""

    age_s: float


@dataclass(frozen=True, slots=True)
class TornList:
    """A listing ends after its first key, and says that more follow."""


Fault: TypeAlias = (
    Refuse
    | Throttle
    | Vanish
    | Echo
    | Late
    | Outage
    | Slow
    | Resent
    | DieBefore
    | DieAfter
    | Freeze
    | StaleList
    | TornList
)
