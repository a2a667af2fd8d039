"""A small fleet on one bucket and one manual clock: processes that can be started, killed and frozen out.

Nothing here sleeps: time moves only while everything waits for it.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

from flowli.adapters.cairndb import CairnBackend
from flowli.adapters.memory import MemoryBackend
from flowli.cairn.store import ObjectStore
from flowli.descriptors import Backend
from flowli.domain.entries import FrameCompleted, JournalEntry
from flowli.domain.errors import FlowliError
from flowli.domain.frames import FrameKind
from flowli.domain.ids import Eid
from flowli.domain.memo import JournalFold
from flowli.domain.ports import Ports
from flowli.domain.provenance import Site
from flowli.domain.tasks import Task
from flowli.runtime.config import EngineConfig
from flowli.runtime.engine import Engine
from flowli.runtime.registry import Registry
from flowli.runtime.sweeper import Sweeper
from flowli.runtime.worker.worker import Worker
from flowli.stores.filesystem import FilesystemStore
from flowli.stores.memory import MemoryStore
from flowli.testing.clock import ManualClock, ManualWorld

T = TypeVar("T")

Wrap = Callable[[ObjectStore], ObjectStore]


class Died(BaseException):
    """The process is dead: whatever it does next is not done."""


class Mortal:
    """A port that does nothing once its process is dead, and that counts what is asked of it."""

    def __init__(self, name: str, port: Any, process: Process) -> None:
        self._name = name
        self._port = port
        self._process = process

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._port, name)

        async def call(*args: Any, **kwargs: Any) -> Any:
            process = self._process
            process.about_to(f"{self._name}.{name}")
            trouble = process.trouble.get(f"{self._name}.{name}")
            if trouble is not None:
                await trouble()
            process.alive()
            answer = await method(*args, **kwargs)
            process.has_done()
            return answer

        return call


class ProcessWorld(ManualWorld):
    """The world of one process; a dead one wakes up no more."""

    dead_now = False

    async def sleep(self, seconds: float) -> None:
        await super().sleep(seconds)
        if self.dead_now:
            raise Died


class Driven:
    """An engine of which every call is run on the manual clock."""

    def __init__(self, engine: Engine, clock: ManualClock) -> None:
        self._engine = engine
        self._clock = clock

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._engine, name)

        async def call(*args: Any, **kwargs: Any) -> Any:
            return await self._clock.run(method(*args, **kwargs))

        return call


class Process:
    """One process of the fleet: an engine, and a worker and a sweeper if they are started.

    Attributes:
        calls: the port calls made so far, by name: ``journal.append``.
        trouble: awaited before each call of a name; may wait, or raise.
        frozen: for the tests that make it hang.
        dies_at: the number of the call that it does not survive; ``dies_after``: whether that call is still done.
    """

    def __init__(self, fleet: Fleet, name: str, config: EngineConfig, wrap: Wrap | None, skew_s: float) -> None:
        self.fleet = fleet
        self.name = name
        self.world = ProcessWorld(fleet.clock, name=name, skew_s=skew_s)
        self.dead = self.frozen = False
        self.calls: list[str] = []
        self.trouble: dict[str, Callable[[], Awaitable[None]]] = {}
        self.dies_at: int | None = None
        self.dies_after = False
        self.backend = fleet.open(self.world, wrap)
        self.ports = self._mortal(self.backend.ports)
        self.engine = Engine(self.ports, Site(name), registry=fleet.registry, config=config, world=self.world)
        self.worker: Worker | None = None
        self._tasks: list[asyncio.Task[None]] = []

    def _mortal(self, ports: Ports) -> Ports:
        wrapped: dict[str, Any] = {
            field.name: Mortal(field.name, getattr(ports, field.name), self)
            for field in fields(ports)
            if field.name not in ("fork", "poll_hint_s")
        }
        fork = ports.fork
        return Ports(
            **wrapped, fork=None if fork is None else lambda: self._mortal(fork()), poll_hint_s=ports.poll_hint_s
        )

    def about_to(self, name: str) -> None:
        """A port is called."""
        self.alive()
        self.calls.append(name)
        if self.dies_at is not None and len(self.calls) >= self.dies_at and not self.dies_after:
            self.kill()
            raise Died

    def alive(self) -> None:
        """A dead process goes no further."""
        if self.dead:
            raise Died

    def has_done(self) -> None:
        """A port has answered."""
        self.alive()
        if self.dies_at is not None and len(self.calls) >= self.dies_at:
            self.kill()
            raise Died

    def work(self, *, queues: Iterable[str] = ("default",), concurrency: int = 50, sweep: bool = True) -> Process:
        """Start a worker, and a sweeper beside it."""
        self.worker = self.engine.worker(tuple(queues), concurrency=concurrency)
        self._spawn(self.worker.run())
        if sweep:
            self.sweep()
        return self

    def sweep(self) -> Process:
        """Start a sweeper."""
        self._spawn(Sweeper(self.engine).run(interval_s=1.0))
        return self

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        async def run() -> None:
            with contextlib.suppress(Died):
                await work

        self._tasks.append(asyncio.create_task(run()))

    def kill(self, *, seen: bool = False) -> None:
        """SIGKILL.

        Args:
            seen: the other processes can see that it is dead: they are on the same host.
        """
        self.dead = self.world.dead_now = True
        if self.worker is not None:
            self.worker.abandon()
        for task in self._tasks:
            task.cancel()
        if seen:
            for other in self.fleet.processes:
                other.world.dead.add(self.world.process())

    async def stop(self) -> None:
        """SIGTERM, and wait for the end."""
        if self.worker is not None:
            self.worker.stop()
        for task in self._tasks[0 if self.worker is None else 1 :]:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks.clear()


def open_rows(folder: Path, world: ManualWorld) -> Backend:
    """The example of a backend that somebody else wrote: ten ports on SQLite, and nothing else."""
    from flowli_backend_sqlite.backend import SqliteBackend

    return SqliteBackend(f"{folder}/flowli.db", world, "os")


class Fleet:
    """See the module's docstring."""

    def __init__(self, kind: str, folder: Path) -> None:
        self.kind = kind
        self.clock = ManualClock()
        self.registry = Registry()
        self.processes: list[Process] = []
        self._folder = folder
        self._store_world = ManualWorld(self.clock, name="store")
        self._memory = MemoryBackend(self._store_world)
        self._store = MemoryStore(world=self._store_world)
        self._backends: list[Backend] = []

    def open(self, world: ManualWorld, wrap: Wrap | None) -> MemoryBackend | Backend:
        """The backend as one process sees it."""
        if self.kind == "memory":
            return self._memory
        if self.kind == "rows":
            self._backends.append(open_rows(self._folder, world))
            return self._backends[-1]
        store: ObjectStore = self._store.fork()
        if self.kind == "files":
            store = FilesystemStore.from_url(f"file:{self._folder}/bucket?durability=os", world=world)
        backend = CairnBackend(wrap(store) if wrap is not None else store, world=world)
        self._backends.append(backend)
        return backend

    def process(self, name: str = "app", *, wrap: Wrap | None = None, skew_s: float = 0.0, **settings: Any) -> Process:
        """One more process.

        Args:
            skew_s: how far its wall clock is ahead.
            settings: of its engine.
        """
        process = Process(self, name, EngineConfig(**{"poll_s": 0.5, **settings}), wrap, skew_s)
        self.processes.append(process)
        return process

    @property
    def app(self) -> Process:
        """A process that starts executions and looks at them."""
        found = next((process for process in self.processes if process.name == "app"), None)
        return found or self.process()

    @property
    def engine(self) -> Any:
        """Its engine, whose calls move time while they wait."""
        return Driven(self.app.engine, self.clock)

    @property
    def ports(self) -> Ports:
        """The ports as it has them."""
        return self.app.ports

    async def run(self, work: Coroutine[Any, Any, T], *, limit_s: float = 86_400.0) -> T:
        """Await ``work``, moving time."""
        return await self.clock.run(work, limit_s=limit_s)

    async def value(self, eid: Eid, *, limit_s: float = 86_400.0) -> Any:
        """The result of an execution, and that it left nothing behind."""
        try:
            return await self.run(self.app.engine.result(eid), limit_s=limit_s)
        finally:
            await self.check(eid)

    async def result(self, workflow: Any, *args: Any, **options: Any) -> Any:
        """Start an execution and return its result."""
        return await self.value(await self.engine.start(workflow, *args, **options))

    async def until(self, condition: Callable[[], Awaitable[bool]], *, limit_s: float = 3600.0) -> None:
        """Move time until something is so."""

        async def wait() -> None:
            while not await condition():
                await self.clock.sleep(0.25)

        await self.run(wait(), limit_s=limit_s)

    async def until_status(self, eid: Eid, status: str) -> None:
        """Move time until an execution has a status."""

        async def reached() -> bool:
            return (await self.fold(eid)).status == status

        await self.until(reached)

    async def entries(self, eid: Eid) -> tuple[JournalEntry, ...]:
        """The journal."""
        return (await self.ports.journal.read(eid)).entries

    async def fold(self, eid: Eid) -> JournalFold:
        """The journal, folded."""
        return JournalFold(await self.entries(eid))

    async def tags(self, eid: Eid) -> list[str]:
        """The kinds of the entries in a journal."""
        return [entry.body.tag for entry in await self.entries(eid)]

    async def tasks(self, queue: str = "default") -> list[Task]:
        """The tasks of a queue."""
        return [view.task for view in await self.ports.queue.list(queue)]

    async def check(self, eid: Eid) -> None:
        """An execution that has ended: its journal is sound, and nothing of it is left anywhere."""
        await self.clock.advance(5)
        entries = await self.entries(eid)
        fold = JournalFold(entries)
        assert fold.anomalies == []
        assert fold.status.terminal, fold.status
        assert entries[-1].body is fold.end
        epochs = [entry.by.site.epoch for entry in entries]
        assert epochs == sorted(epochs)
        memos = [entry.body.fid for entry in entries if isinstance(entry.body, FrameCompleted)]
        assert len(memos) == len(set(memos))

        async def no_tasks() -> bool:
            queues = await self.ports.queue.queues()
            left = [view.task for queue in queues for view in await self.ports.queue.list(queue, limit=1000)]
            return not any(task.target == eid and task.kind != "DELEGATE" for task in left)

        await self.until(no_tasks, limit_s=120)
        assert [timer for timer in await self.ports.timers.pending() if timer.eid == eid] == []
        channels = {frame.metadata["channel"] for frame in fold.frames.values() if frame.kind is FrameKind.RECEIVE}
        for channel in channels:
            assert await self.ports.channel.marker(str(channel), eid) is None

    async def close(self) -> None:
        """Stop what runs."""
        for process in self.processes:
            if not process.dead:
                with contextlib.suppress(FlowliError):
                    await self.run(process.stop())
        for backend in self._backends:
            await backend.close()
