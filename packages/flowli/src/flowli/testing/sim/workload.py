"""``Workload``: something to run while faults strike, and what must have come of it."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from flowli.domain.data import Data
from flowli.domain.ids import Eid
from flowli.runtime import Registry

if TYPE_CHECKING:
    from flowli.testing.sim.cluster import Client, Cluster

__all__ = ["Effect", "Expected", "Ledger", "Workload"]

Drive: TypeAlias = Callable[["Client"], Coroutine[Any, Any, None]]


@dataclass(frozen=True, slots=True)
class Effect:
    """Something that a step did outside the engine; ``starts`` if it was the first thing that the attempt did."""

    at_s: float
    eid: Eid
    fid: str
    attempt: int
    node: str
    note: str = ""
    starts: bool = True
    epoch: int = 0


@dataclass(slots=True)
class Ledger:
    """What the steps of all nodes did, in order: the outside world."""

    effects: list[Effect] = field(default_factory=list)

    def of(self, eid: Eid, fid: str) -> list[Effect]:
        """The effects of one step."""
        return [effect for effect in self.effects if (effect.eid, effect.fid) == (eid, fid)]


@dataclass(frozen=True, slots=True)
class Expected:
    """How an execution must end.

    Attributes:
        values: the results that are right; empty if it need not complete.
        statuses: the terminal statuses that are right.
        waiting: it may rightly still wait when nothing more happens.
    """

    values: tuple[Data, ...] = ()
    statuses: tuple[str, ...] = ("completed",)
    waiting: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Workload:
    """A scenario.

    Attributes:
        registry: makes the workflows, whose steps write to the ledger.
        drive: what a client does; it is called again after a crash of the client, and asks for the same things.
        check: further demands on the cluster when all is calm; returns what is wrong.
        workers: how many worker processes there are.
        settings: settings of the engine that differ from the simulator's own.
    """

    name: str
    registry: Callable[[Cluster], Registry]
    drive: Drive
    check: Callable[[Cluster], list[str]] = lambda cluster: []
    workers: int = 2
    settings: dict[str, float] = field(default_factory=dict)
