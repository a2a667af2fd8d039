"""``Cluster``: a bucket, workers, sweepers and a client on virtual time; first a storm, then calm, then judgement."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from flowli.adapters.cairndb import CairnBackend
from flowli.domain.errors import BackendError
from flowli.domain.ids import Eid
from flowli.domain.provenance import Site
from flowli.runtime import Engine, EngineConfig, Registry, Worker
from flowli.testing.sim.bucket import Bucket, Chooser, Operation
from flowli.testing.sim.loop import CURRENT, Deadlock, VirtualLoop
from flowli.testing.sim.node import Node
from flowli.testing.sim.workload import Effect, Expected, Ledger, Workload

__all__ = ["Client", "Cluster", "Outcome", "Plan"]

T = TypeVar("T")

_SETTINGS: dict[str, Any] = {
    "exec_ttl_s": 6.0,
    "task_ttl_s": 6.0,
    "hold_s": 2.0,
    "grace_s": 5.0,
    "audit_period_s": 60.0,
}
_STORM_S, _CALM_S = 120.0, 600.0


@dataclass(frozen=True, slots=True)
class Plan:
    """What strikes.

    Attributes:
        choose: gives an operation its fault.
        one_host: all nodes are on one host, so that dead processes are seen at once.
        settings: of the engine; for both orders of the TTLs.
        skews_s: how far the wall clocks of the nodes are ahead, by name.
    """

    choose: Chooser = lambda operation: None
    one_host: bool = False
    settings: dict[str, Any] = field(default_factory=dict)
    skews_s: dict[str, float] = field(default_factory=dict)


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


class Client:
    """What a workload's ``drive`` holds: an engine in a process of its own, and a memory that survives its crashes."""

    def __init__(self, cluster: Cluster, engine: Engine) -> None:
        self.cluster = cluster
        self.engine = engine
        self.world = engine.world

    async def again(self, call: Callable[[], Awaitable[T]]) -> T:
        """Ask until the storage has answered; the call must be safe to repeat."""
        while True:
            try:
                return await call()
            except BackendError:
                await self.world.sleep(0.5)

    def expect(self, eid: Eid, expected: Expected) -> None:
        """The start of ``eid`` was acknowledged; this is how it must end."""
        self.cluster.expected[eid] = expected


class Cluster:
    """See the module's docstring.

    Attributes:
        expected: the executions whose start was acknowledged.
        ledger: what steps did.
        notes: for the story: second, who, what.
    """

    def __init__(self, workload: Workload, plan: Plan, seed: int) -> None:
        self.workload = workload
        self.plan = plan
        self.seed = seed
        self.loop = VirtualLoop(start_s=1000.0)
        self.bucket = Bucket(self.loop, seed)
        self.bucket.on_kill = self.kill
        self.ledger = Ledger()
        self.expected: dict[Eid, Expected] = {}
        self.memory: dict[str, Any] = {}
        self.nodes: dict[str, Node] = {}
        self.notes: list[tuple[float, str, str]] = []
        self.calm = False
        self.rng = random.Random(f"{seed}/cluster")
        self._registry: Registry | None = None
        self._workers: list[Worker] = []
        self._client_done = False

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
        outcome = Outcome(problems, len(self.bucket.operations), self.loop.time() - 1000.0)
        self._drop()
        return outcome

    def _drop(self) -> None:
        """Forget what still runs, without a word."""
        for node in self.nodes.values():
            node.dead = True
        for worker in self._workers:
            worker.abandon()
        self.loop.drop()

    async def _main(self, problems: list[str]) -> None:
        self.bucket.choose = self._choose
        for number in range(1, self.workload.workers + 1):
            self._start_worker(f"worker-{number}")
        self._start_sweeper("sweeper-1")
        self._start_client()
        await self._until(lambda: self._client_done and self._settled(), _STORM_S)
        self._calm_down()
        if not await self._until(lambda: self._client_done and self._settled(), _CALM_S):
            problems += self._unsettled()
        await asyncio.sleep(90.0)

    def _choose(self, operation: Any) -> Any:
        return None if self.calm else self.plan.choose(operation)

    def _calm_down(self) -> None:
        self.calm = True
        self.note("calm", "no more faults; every role runs again")
        for name, node in list(self.nodes.items()):
            if node.dead:
                self._restart(name)

    async def _until(self, done: Callable[[], bool], limit_s: float) -> bool:
        end_s = self.loop.time() + limit_s
        while self.loop.time() < end_s:
            await asyncio.sleep(0.25)
            if done():
                return True
            for name, node in list(self.nodes.items()):
                if node.dead and self.loop.time() - node.slept_s > 0 and self._due_to_restart(node):
                    self._restart(name)
        return done()

    def _due_to_restart(self, node: Node) -> bool:
        died_s = self.memory.setdefault(f"died:{node}", self.loop.time())
        return self.loop.time() - float(died_s) >= 9.0

    def _settled(self) -> bool:
        from flowli.testing.sim.invariants import ended, set_aside

        return all(
            expected.waiting or ended(self, eid) or set_aside(self, eid) for eid, expected in self.expected.items()
        )

    def _unsettled(self) -> list[str]:
        from flowli.testing.sim.invariants import ended, set_aside, standing

        found = [] if self._client_done else ["L2: the client's calls never came to an end"]
        for eid, expected in self.expected.items():
            if not (expected.waiting or ended(self, eid) or set_aside(self, eid)):
                found.append(f"L2: execution {eid} never ended: {standing(self, eid)}")
        return found

    # processes

    def _node(self, name: str) -> Node:
        before = self.nodes.get(name)
        host = "host" if self.plan.one_host else name
        life = 1 if before is None else before.life + 1
        node = Node(self.loop, name, host, self.seed, life, skew_s=self.plan.skews_s.get(name, 0.0))
        self.nodes[name] = node
        return node

    def _engine(self, node: Node) -> Engine:
        backend = CairnBackend(self.bucket.store(node), world=node.world)
        config = EngineConfig(**{**_SETTINGS, **self.workload.settings, **self.plan.settings})
        ports = replace(backend.ports, fork=None)
        return Engine(
            ports, Site(node.name, node.host, node.life), registry=self.registry(), config=config, world=node.world
        )

    def _start_worker(self, name: str) -> None:
        node = self._node(name)

        async def work() -> None:
            worker = self._engine(node).worker(concurrency=8)
            self._workers.append(worker)
            await worker.run()

        self._supervise(node, node.spawn(work()))
        self.note(node, "starts as a worker")

    def _start_sweeper(self, name: str) -> None:
        node = self._node(name)

        async def sweep() -> None:
            await self._engine(node).sweeper().run(interval_s=1.0)

        self._supervise(node, node.spawn(sweep()))
        self.note(node, "starts as a sweeper")

    def _supervise(self, node: Node, task: asyncio.Task[None]) -> None:
        """A role that ends by itself is started again, as a supervisor of processes would."""

        def ended(task: asyncio.Task[None]) -> None:
            if not task.cancelled() and task.exception() is not None:
                self.note(node, f"ends: {task.exception()!r}")
            self.kill(node)

        task.add_done_callback(ended)

    def _start_client(self) -> None:
        node = self._node("client")

        async def drive() -> None:
            engine = self._engine(node)
            await self.workload.drive(Client(self, engine))
            await engine.announcer.drain()
            self._client_done = True

        task = node.spawn(drive())
        task.add_done_callback(self._client_failed)
        self.note(node, "starts as a client")

    def _client_failed(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and task.exception() is not None:
            self.note("client", f"fails: {task.exception()!r}")
            self.memory.setdefault("failures", []).append(repr(task.exception()))
            self._client_done = True

    def _restart(self, name: str) -> None:
        if name.startswith("worker"):
            self._start_worker(name)
        elif name.startswith("sweeper"):
            self._start_sweeper(name)
        elif not self._client_done:
            self._start_client()

    def kill(self, node: Node) -> None:
        """The process is gone between two instructions."""
        if not node.dead:
            node.dead = True
            self.loop.dead_processes.add(f"{node.name}/{node.life}")
            self.memory[f"died:{node}"] = self.loop.time()
            self.note(node, "is killed")
