"""``Fleet``: the processes of a cluster: workers, sweepers, a client, and what else a workload runs."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

from flowli.domain.errors import BackendError
from flowli.domain.ids import Eid
from flowli.domain.provenance import Site
from flowli.runtime import Engine, EngineConfig, Worker
from flowli.testing.sim.node import Node
from flowli.testing.sim.workload import Drive, Expected

if TYPE_CHECKING:
    from flowli.testing.sim.cluster import Cluster

__all__ = ["Client", "Fleet"]

T = TypeVar("T")

_SETTINGS: dict[str, Any] = {
    "exec_ttl_s": 6.0,
    "task_ttl_s": 6.0,
    "hold_s": 2.0,
    "grace_s": 5.0,
    "audit_period_s": 35.0,
}


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


class Fleet:
    """See the module's docstring.

    Attributes:
        nodes: the living or last process of each name.
        client_done: the client has nothing more to ask.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._workers: list[Worker] = []
        self._mains: dict[str, Callable[[Node], Coroutine[Any, Any, None]]] = {}
        self._died_s: dict[Node, float] = {}
        self.nodes: dict[str, Node] = {}
        self.client_done = False

    def start(self) -> None:
        """Start every process."""
        workload = self._cluster.workload
        for number in range(1, workload.workers + 1):
            self._start(f"worker-{number}", self._work)
        for number in range(1, workload.sweepers + 1):
            self._start(f"sweeper-{number}", self._sweep)
        for name, role in workload.roles.items():
            self._start(name, functools.partial(self._play, role))
        self._start("client", self._drive)

    def restart(self, *, dead_for_s: float) -> None:
        """Start those again that have been dead for so long, as a supervisor of processes would."""
        for name, node in list(self.nodes.items()):
            dead = node.dead and self._cluster.loop.time() - self._died_s[node] >= dead_for_s
            if dead and not (name == "client" and self.client_done):
                self._start(name, self._mains[name])

    def kill(self, node: Node) -> None:
        """The process is gone between two instructions."""
        if not node.dead:
            node.dead = True
            self._cluster.loop.dead_processes.add(f"{node.name}/{node.life}")
            self._died_s[node] = self._cluster.loop.time()
            self._cluster.note(node, "is killed")

    def drop(self) -> None:
        """Forget all of them, without a word."""
        for node in self.nodes.values():
            node.dead = True
        for worker in self._workers:
            worker.abandon()

    def _start(self, name: str, main: Callable[[Node], Coroutine[Any, Any, None]]) -> None:
        plan, before = self._cluster.plan, self.nodes.get(name)
        host = "host" if plan.one_host else name
        life = 1 if before is None else before.life + 1
        node = Node(self._cluster.loop, name, host, self._cluster.seed, life, skew_s=plan.skews_s.get(name, 0.0))
        self.nodes[name], self._mains[name] = node, main
        task = node.spawn(main(node))
        task.add_done_callback(lambda task: self._ended(node, task))
        self._cluster.note(node, "starts")

    def _ended(self, node: Node, task: asyncio.Task[None]) -> None:
        """A client that fails was told something wrong; any other process that ends is started again."""
        failed = None if task.cancelled() else task.exception()
        if failed is not None:
            self._cluster.note(node, f"fails: {failed!r}")
        if node.name != "client":
            self.kill(node)
        elif failed is not None:
            self._cluster.memory.setdefault("failures", []).append(repr(failed))
            self.client_done = True

    def _engine(self, node: Node) -> Engine:
        cluster = self._cluster
        settings = {**_SETTINGS, **cluster.workload.settings, **cluster.plan.settings}
        config = EngineConfig(**settings)
        ports = cluster.bucket.ports(node, retire_grace_s=config.retire_grace_s)
        site = Site(node.name, node.host, node.life)
        return Engine(ports, site, registry=cluster.registry(), config=config, world=node.world)

    def _client(self, node: Node) -> Client:
        return Client(self._cluster, self._engine(node))

    async def _work(self, node: Node) -> None:
        worker = self._engine(node).worker(self._cluster.workload.queues, concurrency=8)
        self._workers.append(worker)
        await worker.run()

    async def _sweep(self, node: Node) -> None:
        engine = self._engine(node)
        await engine.sweeper(jobs=self._cluster.workload.jobs(self._cluster)).run(interval_s=1.0)

    async def _play(self, role: Drive, node: Node) -> None:
        await role(self._client(node))

    async def _drive(self, node: Node) -> None:
        client = self._client(node)
        await self._cluster.workload.drive(client)
        await client.engine.announcer.drain()
        self.client_done = True
