"""What a check is given, and what it says."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

from flowli.cairn.observe import ObservedRequest
from flowli.cairn.store import ObjectStore
from flowli.domain.data import Data
from flowli.world import World

__all__ = ["Check", "Finding", "Level", "Patient", "Wishes"]


class Level(StrEnum):
    """How good a finding is."""

    GOOD = "good"
    NOTE = "note"
    BAD = "bad"
    NOT_TRIED = "not tried"


@dataclass(frozen=True, slots=True)
class Finding:
    """What a check found.

    Attributes:
        check: what was examined, in a word or two.
        level: how good it is; one that is bad means no-go.
        text: one sentence, with what to do if something is to be done.
        data: the same for scripts, and more.
        fatal: no later check makes sense.
    """

    check: str
    level: Level
    text: str
    data: Mapping[str, Data] = field(default_factory=dict)
    fatal: bool = False


@dataclass(frozen=True, slots=True)
class Wishes:
    """What the operator wants to know.

    Attributes:
        process: for which process the rights must suffice.
        samples: how many requests of each kind are timed.
        racers: how many writers race.
        per_day: executions a day, for the bill.
        steps: steps of each.
        workers: processes that wait for work all the time.
    """

    process: str = "worker"
    samples: int = 20
    racers: int = 8
    per_day: int = 1000
    steps: int = 5
    workers: int = 2


@dataclass(slots=True)
class Patient:
    """What is examined.

    Attributes:
        store: the bucket; each request to it is noted in ``requests``.
        world: clock and chance.
        wishes: of the operator.
        requests: all so far.
        denied: the rights that were found missing, each with what to grant.
    """

    store: ObjectStore
    world: World
    wishes: Wishes
    requests: list[ObservedRequest] = field(default_factory=list)
    denied: dict[str, str] = field(default_factory=dict)


Check: TypeAlias = Callable[[Patient], Awaitable[list[Finding]]]
"""Examines one thing. It never raises a ``StoreError``: that is a finding."""
