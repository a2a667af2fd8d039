"""The settings of a bucket that matter to what is kept there: versions, lifecycle rules, public access, retention.

A store that can be asked for them is ``Describable``. Each setting may take a right of its own, which no worker needs;
one that may not be read, or that the service does not know, is told as such and is no error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, Protocol, TypeVar, runtime_checkable

__all__ = ["ROOTS", "Describable", "Harm", "Look", "Setting", "covers"]

Client = TypeVar("Client", contravariant=True)

ROOTS = ("wf/", "logs/")
"""Where all keys begin."""

_PASSING = "wf/probe/"


class Harm(StrEnum):
    """What a setting does to an installation."""

    NONE = "none"
    COSTS = "costs"
    LOSES = "loses"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting of a bucket.

    Attributes:
        name: ``versioning``, ``lifecycle``, ``public access``, ``retention`` or ``soft delete``.
        text: one sentence, with what to do if something is to be done.
        harm: ``costs`` also for what is a danger to others than flowli; ``loses`` for what takes its objects away or
            keeps it from working.
    """

    name: str
    text: str
    harm: Harm = Harm.NONE


@dataclass(frozen=True, slots=True)
class Look(Generic[Client]):
    """One request for settings.

    Attributes:
        name: of the settings that it tells, joined by commas.
        right: that it takes, in the words of the service.
        ask: the blocking call.
    """

    name: str
    right: str
    ask: Callable[[Client], Sequence[Setting]]


@runtime_checkable
class Describable(Protocol):
    """A store whose bucket can be asked for its settings."""

    async def settings(self) -> tuple[Setting, ...]:
        """The settings of the bucket, also those that could not be read. It never raises a ``StoreError``."""


def covers(rule: str, prefix: str) -> bool:
    """Whether what a rule does to the keys that begin with ``rule`` is done to some of an installation.

    Args:
        rule: the prefix to which a lifecycle rule is limited; empty for all keys.
        prefix: that of the installation.
    """
    if rule.startswith(prefix + _PASSING):
        return False
    return any((prefix + root).startswith(rule) or rule.startswith(prefix + root) for root in ROOTS)
