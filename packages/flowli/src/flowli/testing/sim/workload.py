"""``Workload``: something to run while faults strike, and what must have come of it."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from flowli.domain.data import Data
from flowli.domain.ids import Eid
from flowli.runtime import Registry
from flowli.runtime.sweep_jobs import SweepJob

if TYPE_CHECKING:
    from flowli.testing.sim.cluster import Cluster
    from flowli.testing.sim.fleet import Client

__all__ = ["Drive", "Effect", "Expected", "Ledger", "Workload", "drive_one"]

Drive: TypeAlias = Callable[["Client"], Coroutine[Any, Any, None]]
"""What one process of a workload does."""


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
        workers: how many worker processes there are; ``sweepers`` likewise.
        queues: that every worker takes from.
        settings: settings of the engine that differ from the simulator's own.
        roles: further processes, by name: what each of them does until it is killed. It is started again then.
        jobs: makes the sweep jobs of every sweeper.
    """

    name: str
    registry: Callable[[Cluster], Registry]
    drive: Drive
    check: Callable[[Cluster], list[str]] = lambda cluster: []
    workers: int = 2
    sweepers: int = 1
    queues: tuple[str, ...] = ("default",)
    settings: Mapping[str, float] = field(default_factory=dict)
    roles: Mapping[str, Drive] = field(default_factory=dict)
    jobs: Callable[[Cluster], Sequence[SweepJob]] = lambda cluster: ()


async def drive_one(client: Client, expected: Expected, key: str = "k1") -> None:
    """Start one execution of the workflow ``main``."""
    eid = await client.again(lambda: client.engine.start("main", key=key))
    client.expect(eid, expected)
