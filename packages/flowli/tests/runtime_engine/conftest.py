"""An engine on the memory backend and a manual clock, and owners whose every move a test decides."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, fields, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from flowli.adapters.cairndb import CairnBackend
from flowli.adapters.memory import MemoryBackend
from flowli.domain.channels import WaitMarker
from flowli.domain.data import Data
from flowli.domain.entries import (
    START,
    ControlBody,
    ExecutionCompleted,
    ExecutionResumed,
    ExecutionStarted,
    ExecutionSuspended,
    JournalBody,
    JournalEntry,
    StatusChanged,
)
from flowli.domain.execution import Execution
from flowli.domain.ids import Eid
from flowli.domain.memo import JournalFold
from flowli.domain.ports import Acquired, Appended, Holder, Lease, Ports
from flowli.domain.provenance import Actor, ActorKind, Provenance, Site
from flowli.domain.tasks import Task
from flowli.domain.waits import On, OnChannel
from flowli.runtime.config import EngineConfig
from flowli.runtime.context import Context
from flowli.runtime.engine import Engine
from flowli.runtime.protocols.twins import twins
from flowli.runtime.registry import Registry
from flowli.stores.memory import MemoryStore
from flowli.testing.clock import ManualClock, ManualWorld

registry = Registry()


@registry.workflow
async def greet(ctx: Context, name: str, times: int = 1) -> str:
    return f"hello {name}" * times


@registry.workflow
async def sign(ctx: Context, document: str) -> bool:
    return await ctx.receive("signature") is not None


@registry.workflow(name="sign", version="2")
async def sign_again(ctx: Context, document: str) -> bool:
    return await ctx.receive("signature", timeout=60) is not None


@dataclass
class Owner:
    """A worker that does only what the test says."""

    bench: Bench
    lease: Lease
    execution: Execution

    @property
    def by(self) -> Provenance:
        return replace(self.bench.by, site=self.bench.by.site.at_epoch(self.lease.epoch))

    async def append(self, *bodies: JournalBody, twin: bool = True) -> tuple[JournalEntry, ...]:
        """Append as an owner does: the twins follow the entries."""
        eid, ports = self.execution.eid, self.bench.ports
        found = await ports.journal.read(eid)
        made: Sequence[JournalBody] = bodies
        if not found.entries and not isinstance(bodies[0], ExecutionStarted):
            made = (ExecutionStarted(self.execution), *bodies)
        entries = [JournalEntry(body, self.by) for body in made]
        done = await ports.journal.append(eid, entries, after=found.position, epoch=self.lease.epoch, writer="test")
        assert isinstance(done, Appended)
        appended = (await ports.journal.read(eid, after=found.position)).entries
        if twin and (posted := twins(appended, eid)):
            await ports.control.append(posted)
        return appended

    async def suspend(self, *on: On, twin: bool = True) -> None:
        """Write the markers, then suspend."""
        for wait in on:
            if isinstance(wait, OnChannel):
                await self.bench.ports.channel.mark(
                    WaitMarker(wait.channel, self.execution.eid, self.lease.epoch, ("root/receive#1",))
                )
        await self.append(ExecutionSuspended(on, self.lease.epoch), twin=twin)

    async def complete(self, value: Data = None, *, twin: bool = True) -> None:
        await self.append(ExecutionCompleted(value), twin=twin)


class Mortal:
    """Ports of which the n-th write is the last."""

    def __init__(self, ports: Ports, writes: int) -> None:
        self._inner, self.left = ports, writes
        names = [field.name for field in fields(ports) if field.name not in ("fork", "poll_hint_s")]
        self.ports = replace(ports, **{name: MortalPort(getattr(ports, name), self) for name in names})


class MortalPort:
    """One of them. What comes after the last write never returns: the process is dead."""

    _reads = frozenset(
        {"get", "read", "read_start", "claims", "marker", "markers", "end", "list", "settings", "queues"}
    )

    def __init__(self, port: object, mortal: Mortal) -> None:
        self._port, self._mortal = port, mortal

    def __getattr__(self, name: str) -> object:
        method = getattr(self._port, name)

        async def call(*args: Any, **options: Any) -> object:
            if self._mortal.left == 0:
                await asyncio.Event().wait()
            self._mortal.left -= name not in self._reads
            return await method(*args, **options)

        return call


class Unhurried(ManualWorld):
    """The backend's world: its pauses (retries, gathering of commits) take no time that a test would see."""

    async def sleep(self, seconds: float) -> None:
        for _ in range(3):
            await asyncio.sleep(0)


def memory(clock: ManualClock) -> Ports:
    return MemoryBackend(ManualWorld(clock)).ports


def cairn(clock: ManualClock) -> Ports:
    world = Unhurried(clock, name="bucket")
    return CairnBackend(MemoryStore(world=world), world=world).ports


def rows(clock: ManualClock, folder: Path) -> Ports:
    """The example of a backend that somebody else wrote."""
    from flowli_backend_sqlite.backend import SqliteBackend

    return SqliteBackend(f"{folder}/flowli.db", ManualWorld(clock), "os").ports


class Bench:
    """The engine under test and what surrounds it."""

    def __init__(self, backend: Callable[[ManualClock], Ports]) -> None:
        self.clock = ManualClock()
        self.world = ManualWorld(self.clock)
        self.ports = backend(self.clock)
        self.engine = self.new_engine()
        self._workers = 0

    def new_engine(self, *, ports: Ports | None = None, config: EngineConfig | None = None, name: str = "op") -> Engine:
        world = ManualWorld(self.clock, name=name)
        return Engine(ports or self.ports, Site(name), registry=registry, config=config, world=world)

    async def dies_after(
        self, writes: int, act: Callable[[Engine], Coroutine[Any, Any, object]], *, config: EngineConfig | None = None
    ) -> bool:
        """Let a process act until it has written ``writes`` times; True if it died, False if it came to its end."""
        mortal, others = Mortal(self.ports, writes), asyncio.all_tasks()
        acting = asyncio.create_task(act(self.new_engine(ports=mortal.ports, config=config, name="dying")))
        for _ in range(100):
            await self.clock.settle()
            if acting.done() or mortal.left == 0:
                break
            await self.clock.advance(1)
        died = not acting.done()
        while left := asyncio.all_tasks() - others:  # again, since what cleans up may wait for ever as well
            for task in left:
                task.cancel()
            await asyncio.wait(left, timeout=0)
        if not died:
            acting.result()
        return died

    @property
    def by(self) -> Provenance:
        return Provenance(Actor(ActorKind.WORKER, "w"), Site("w"), self.world.now())

    async def own(self, eid: Eid, *, ttl_s: float = 30.0) -> Owner:
        """Acquire the lease of an execution as a worker would."""
        execution = await self.ports.executions.get(eid)
        assert execution is not None
        fold = JournalFold((await self.ports.journal.read(eid)).entries)
        holder = Holder("w/" + self.world.token(), Site("w"))
        got = await self.ports.ownership.acquire(eid, holder, ttl_s, free_epoch=fold.released_epoch)
        assert isinstance(got, Acquired)
        return Owner(self, got.lease, execution)

    async def work(self, *, registry: Registry | None = None, queue: str = "default") -> None:
        """Let a worker of another process do all that there is to do."""
        self._workers += 1
        engine = self.new_engine(name=f"worker-{self._workers}")
        if registry is not None:
            engine = Engine(self.ports, Site(f"w{self._workers}"), registry=registry, world=engine.world)
        worker = engine.worker((queue,))
        await self.clock.run(worker.run_until_idle())
        await self.clock.run(worker.drain())

    async def running(self, **options: Any) -> Owner:
        """An execution that a worker runs, its START acked."""
        eid = await self.engine.start("sign", "contract")
        owner = await self.own(eid, **options)
        await owner.append(ExecutionResumed(1))
        await self.drain()
        return owner

    async def tasks(self, queue: str = "default") -> list[Task]:
        return [view.task for view in await self.ports.queue.list(queue)]

    async def reasons(self, queue: str = "default") -> list[str]:
        return [task.reason for task in await self.tasks(queue)]

    async def drain(self, queue: str = "default") -> list[Task]:
        """Take and ack all tasks, as a worker that has nothing to do for them."""
        leases = await self.ports.queue.dequeue(queue, "w", 30.0, limit=1000)
        await self.ports.queue.ack(leases)
        return [lease.task for lease in leases]

    async def control(self) -> list[ControlBody]:
        await self.engine.announcer.drain()
        return [entry.body for entry in (await self.ports.control.read()).entries]

    async def statuses(self, eid: Eid) -> list[StatusChanged]:
        return [body for body in await self.control() if isinstance(body, StatusChanged) and body.eid == eid]

    async def is_empty(self) -> bool:
        """Whether nothing at all was stored by way of the queue, the control log and the dispatch keys."""
        control = await self.ports.control.read()
        return not await self.ports.queue.queues() and control.position == START


BACKENDS: dict[str, Callable[[ManualClock, Path], Ports]] = {
    "memory": lambda clock, _: memory(clock),
    "cairn": lambda clock, _: cairn(clock),
}
if find_spec("flowli_backend_sqlite"):  # the wheel of flowli is tested alone as well, without the examples
    BACKENDS["rows"] = rows


@pytest.fixture(params=BACKENDS)
async def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Bench:
    return Bench(lambda clock: BACKENDS[request.param](clock, tmp_path))
