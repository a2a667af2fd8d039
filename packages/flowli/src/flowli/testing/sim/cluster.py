"""``Cluster``: a bucket, or another backend, and a fleet on virtual time; first a storm, then calm, then judgement."""

from __future__ import annotations

import asyncio
import itertools
import random
from dataclasses import dataclass, field
from typing import Any

from flowli.domain.ids import Eid
from flowli.runtime import Registry
from flowli.testing.sim.backends import Backends, OpenBackend
from flowli.testing.sim.bucket import Bucket
from flowli.testing.sim.fleet import Fleet
from flowli.testing.sim.loop import CURRENT, Deadlock, VirtualLoop
from flowli.testing.sim.network import Chooser, Network, Operation
from flowli.testing.sim.workload import Effect, Expected, Ledger, Workload

__all__ = ["Cluster", "Outcome", "Plan"]

_STORM_S, _CALM_S, _AFTERWARDS_S = 120.0, 600.0, 55.0
_RESTART_S, _WILD = 9.0, 15_000
_TIDYING = 10
_RUNS = itertools.count(1)


@dataclass(frozen=True, slots=True)
class Plan:
    """What strikes.

    Attributes:
        choose: gives an operation its fault.
        one_host: all nodes are on one host, so that dead processes are seen at once.
        settings: of the engine; for both orders of the TTLs.
        skews_s: how far the wall clocks of the nodes are ahead, by name.
        open_backend: opens ten ports that stand in the place of the bucket.
    """

    choose: Chooser = lambda operation: None
    one_host: bool = False
    settings: dict[str, Any] = field(default_factory=dict)
    skews_s: dict[str, float] = field(default_factory=dict)
    open_backend: OpenBackend | None = None


@dataclass(slots=True)
class Outcome:
    """What came of a run.

    Attributes:
        problems: what was violated, one line each; empty for a good run.
        operations: how many requests were made.
        seconds: virtual time.
    """

    problems: list[str]
    operations: int
    seconds: float


class Cluster:
    """See the module's docstring.

    Attributes:
        bucket: what all processes share: a ``Bucket``, or the ``Backends`` of a plan.
        expected: the executions whose start was acknowledged.
        ledger: what steps did.
        notes: for the story: second, who, what.
    """

    def __init__(self, workload: Workload, plan: Plan, seed: int) -> None:
        self.workload = workload
        self.plan = plan
        self.seed = seed
        self.loop = VirtualLoop(start_s=1000.0)
        self.bucket: Network = Bucket(self.loop, seed)
        if plan.open_backend is not None:
            self.bucket = Backends(self.loop, seed, plan.open_backend, f"run-{next(_RUNS)}")
        self.ledger = Ledger()
        self.expected: dict[Eid, Expected] = {}
        self.memory: dict[str, Any] = {}
        self.notes: list[tuple[float, str, str]] = []
        self.calm = False
        self.rng = random.Random(f"{seed}/cluster")
        self.fleet = Fleet(self)
        self.bucket.on_kill = self.fleet.kill
        self._registry: Registry | None = None

    @property
    def struck(self) -> list[Operation]:
        """The operations that carried a fault."""
        return [operation for operation in self.bucket.operations if operation.fault is not None]

    def registry(self) -> Registry:
        """The workflows, the same objects for every node."""
        if self._registry is None:
            self._registry = self.workload.registry(self)
        return self._registry

    def effect(self, note: str = "", *, starts: bool = True) -> None:
        """Called by steps: something happened outside.

        Args:
            starts: it is the first thing that the attempt does.
        """
        from flowli.runtime.step import step_info

        info, node = step_info(), CURRENT.get()
        self.ledger.effects.append(
            Effect(self.loop.time(), info.eid, info.fid, info.attempt, str(node), note, starts, info.epoch)
        )

    def note(self, who: object, what: str) -> None:
        """Add a line to the story."""
        self.notes.append((self.loop.time(), str(who), what))

    def run(self) -> Outcome:
        """Storm, calm, judgement."""
        from flowli.testing.sim.invariants import judge

        problems: list[str] = []
        main = self.loop.create_task(self._main(problems))
        outer = asyncio._get_running_loop()
        try:
            self.loop.run_until_complete(main)
        except Deadlock as deadlock:
            problems.append(f"L1: deadlock: {deadlock}")
        finally:
            asyncio._set_running_loop(outer)
        problems += judge(self)
        problems += self.bucket.close()
        outcome = Outcome(problems, len(self.bucket.operations), self.loop.time() - 1000.0)
        self._drop()
        return outcome

    def _drop(self) -> None:
        """Forget what still runs, without a word."""
        self.fleet.drop()
        self.loop.drop()

    async def _main(self, problems: list[str]) -> None:
        self.bucket.choose = self._choose
        self.fleet.start()
        await self._until(_STORM_S)
        self.calm = True
        self.note("calm", "no more faults; every role runs again")
        self.fleet.restart(dead_for_s=0.0)
        if not await self._until(_CALM_S):
            problems += self._unsettled()
        if not self._runs_wild():
            await asyncio.sleep(_AFTERWARDS_S)
            await self._tidied()

    def _choose(self, operation: Any) -> Any:
        return None if self.calm else self.plan.choose(operation)

    async def _until(self, limit_s: float) -> bool:
        """Wait until all is done; roles that died are started again meanwhile."""
        end_s = self.loop.time() + limit_s
        while self.loop.time() < end_s and not self._runs_wild():
            await asyncio.sleep(0.25)
            if self._settled():
                return True
            self.fleet.restart(dead_for_s=_RESTART_S)
        return self._settled()

    def _runs_wild(self) -> bool:
        """Whether so much is asked for that the end need not be waited for: it is a finding anyhow."""
        return len(self.bucket.operations) > _WILD

    def _settled(self) -> bool:
        from flowli.testing.sim.invariants import ended, set_aside

        return self.fleet.client_done and all(
            expected.waiting or ended(self, eid) or set_aside(self, eid) for eid, expected in self.expected.items()
        )

    async def _tidied(self) -> None:
        """Let the last tasks be acked: a timer of an execution that has ended may have been fired just now."""
        from flowli.testing.sim.invariants import leftovers

        for _ in range(_TIDYING):
            if not leftovers(self):
                return
            await asyncio.sleep(1.0)

    def _unsettled(self) -> list[str]:
        from flowli.testing.sim.invariants import ended, set_aside, standing

        found = [] if self.fleet.client_done else ["L2: the client's calls never came to an end"]
        for eid, expected in self.expected.items():
            if not (expected.waiting or ended(self, eid) or set_aside(self, eid)):
                found.append(f"L2: execution {eid} never ended: {standing(self, eid)}")
        return found
