"""``connect``: a client that needs no asyncio of its caller, and works while one runs (notebooks, Django, scripts)."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta
from types import TracebackType
from typing import Any, TypeVar

from flowli.adapters.coded import ValueCodec
from flowli.domain.entries import START, JournalEntry, Position
from flowli.domain.errors import UsageError
from flowli.domain.ids import Eid, Fid
from flowli.domain.memo import JournalFold
from flowli.domain.ports import ArchivedExecution, Ports
from flowli.domain.provenance import Actor, Site
from flowli.domain.tasks import DeadTask, QueueSettings
from flowli.evidence import KeptLog
from flowli.runtime.config import EngineConfig
from flowli.runtime.engine.engine import Engine
from flowli.runtime.engine.reading import ExecutionView
from flowli.runtime.engine.showing import Shown, StreamPage
from flowli.runtime.engine.starting import AnyWorkflow, StartResult
from flowli.runtime.insight import Explanation, FrameNode, Graph, Inspection, Moment
from flowli.runtime.progress import Progress
from flowli.runtime.registry import Registry
from flowli.world import SYSTEM, World

__all__ = ["Client", "connect"]

T = TypeVar("T")


def connect(
    backend: str | Callable[[], Ports],
    *,
    registry: Registry | None = None,
    site: Site | None = None,
    config: EngineConfig | None = None,
    world: World = SYSTEM,
    codec: ValueCodec | None = None,
) -> Client:
    """A client of a bucket whose methods block until they are done.

    Args:
        backend: URL of the bucket (``file:./bucket``), or a callable that opens the ports of another backend;
            it is called in the client's own thread.
        registry: the workflows that this process knows, so that arguments are checked and values come back
            typed; without it, workflows are started by name and version.
        site: this process; named ``client`` if None.
        config: settings.
        world: clocks, chance, ids.
        codec: the one through which the workers' values go; None if they have none.

    Raises:
        BackendError: the bucket cannot be opened.

    Example:
        >>> with flowli.connect("file:./bucket") as client:
        ...     eid = client.start("greet", "Ada", version="1")
        ...     client.result(eid, timeout=10)
        'hello Ada'
    """
    where = site or Site.local("client")

    @contextlib.asynccontextmanager
    async def engine() -> AsyncIterator[Engine]:
        async with contextlib.AsyncExitStack() as closing:
            ports = await _open(backend, world, closing) if isinstance(backend, str) else backend()
            opened = Engine(ports, where, registry=registry, config=config, world=world, codec=codec)
            yield await closing.enter_async_context(opened)

    return Client(engine, world)


async def _open(url: str, world: World, closing: contextlib.AsyncExitStack) -> Ports:
    from flowli.adapters import open_backend

    opened = open_backend(url, world=world)
    closing.push_async_callback(opened.close)
    await opened.ports.control.read(limit=1)  # an address that is wrong is refused here, and not by the first verb
    return opened.ports


class Client:
    """The verbs of an ``Engine``, run on an event loop in a thread of its own. Any thread may call it.

    Args:
        engine: opens the engine, in that thread, and closes it there.
        world: starts the thread.
    """

    def __init__(self, engine: Callable[[], contextlib.AbstractAsyncContextManager[Engine]], world: World) -> None:
        self._open = engine
        self._ready: concurrent.futures.Future[tuple[Engine, asyncio.AbstractEventLoop]] = concurrent.futures.Future()
        self._closed: concurrent.futures.Future[None] = concurrent.futures.Future()
        self._stop: asyncio.Event | None = None
        world.background("flowli-client", self._serve)
        self._engine, self._loop = self._ready.result()

    async def _serve(self) -> None:
        self._stop = asyncio.Event()
        try:
            async with self._open() as engine:
                self._ready.set_result((engine, asyncio.get_running_loop()))
                await self._stop.wait()
        except BaseException as error:
            end = self._closed if self._ready.done() else self._ready
            end.set_exception(error)
        else:
            self._closed.set_result(None)

    def _do(self, verb: Callable[..., Awaitable[T]], *args: Any, **kwargs: Any) -> T:
        """Run a verb to its end; an interrupt of the calling thread stops it."""
        if self._closed.done():
            raise UsageError("this client is closed; connect again")

        async def run() -> T:
            return await verb(*args, **kwargs)

        running = asyncio.run_coroutine_threadsafe(run(), self._loop)
        try:
            return running.result()
        except BaseException:
            running.cancel()
            raise

    def start(self, workflow: AnyWorkflow, /, *args: object, **options: Any) -> Eid:
        """``Engine.start``."""
        return self._do(self._engine.start, workflow, *args, **options)

    def start_result(self, workflow: AnyWorkflow, /, *args: object, **options: Any) -> StartResult:
        """``Engine.start_result``."""
        return self._do(self._engine.start_result, workflow, *args, **options)

    def start_args(self, workflow: AnyWorkflow, args: Any = (), kwargs: Any = None, **options: Any) -> StartResult:
        """``Engine.start_args``."""
        return self._do(self._engine.start_args, workflow, args, kwargs, **options)

    def run(self, workflow: AnyWorkflow, /, *args: object, **options: Any) -> Any:
        """``Engine.run``."""
        return self._do(self._engine.run, workflow, *args, **options)

    def result(self, eid: Eid | str, timeout: float | timedelta | None = None) -> Any:
        """``Engine.result``."""
        return self._do(self._engine.result, eid, timeout)

    def signal(
        self,
        eid: Eid | str,
        channel: str,
        payload: object = None,
        *,
        key: str | None = None,
        correlation: str | None = None,
        actor: Actor | None = None,
    ) -> int:
        """``Engine.signal``."""
        return self._do(self._engine.signal, eid, channel, payload, key=key, correlation=correlation, actor=actor)

    def deliver(self, eid: Eid | str, channel: str, value: object = None, *, task_id: str, **options: Any) -> int:
        """``Engine.deliver``."""
        return self._do(self._engine.deliver, eid, channel, value, task_id=task_id, **options)

    def broadcast(
        self,
        channel: str,
        payload: object = None,
        *,
        key: str | None = None,
        correlation: str | None = None,
        actor: Actor | None = None,
    ) -> int:
        """``Engine.broadcast``."""
        return self._do(self._engine.broadcast, channel, payload, key=key, correlation=correlation, actor=actor)

    def cancel(self, eid: Eid | str, reason: str = "", *, key: str | None = None, actor: Actor | None = None) -> None:
        """``Engine.cancel``."""
        self._do(self._engine.cancel, eid, reason, key=key, actor=actor)

    def terminate(
        self, eid: Eid | str, reason: str = "", *, key: str | None = None, actor: Actor | None = None
    ) -> None:
        """``Engine.terminate``."""
        self._do(self._engine.terminate, eid, reason, key=key, actor=actor)

    def pause(self, eid: Eid | str, reason: str = "", *, key: str | None = None, actor: Actor | None = None) -> None:
        """``Engine.pause``."""
        self._do(self._engine.pause, eid, reason, key=key, actor=actor)

    def resume(self, eid: Eid | str, reason: str = "", *, key: str | None = None, actor: Actor | None = None) -> None:
        """``Engine.resume``."""
        self._do(self._engine.resume, eid, reason, key=key, actor=actor)

    def migrate(
        self, eid: Eid | str, version: str, reason: str = "", *, key: str | None = None, actor: Actor | None = None
    ) -> None:
        """``Engine.migrate``."""
        self._do(self._engine.migrate, eid, version, reason, key=key, actor=actor)

    def update(
        self,
        eid: Eid | str,
        name: str,
        payload: object = None,
        *,
        timeout: float | timedelta | None = None,
        key: str | None = None,
        actor: Actor | None = None,
    ) -> Any:
        """``Engine.update``."""
        return self._do(self._engine.update, eid, name, payload, timeout=timeout, key=key, actor=actor)

    def published(self, eid: Eid | str, name: str) -> Shown | None:
        """``Engine.published``."""
        return self._do(self._engine.published, eid, name)

    def read_stream(
        self, eid: Eid | str, name: str, after: Position = START, *, limit: int | None = None
    ) -> StreamPage:
        """``Engine.read_stream``."""
        return self._do(self._engine.read_stream, eid, name, after, limit=limit)

    def fork(self, eid: Eid | str, from_fid: Fid, reason: str = "", **options: Any) -> Eid:
        """``Engine.fork``."""
        return self._do(self._engine.fork, eid, from_fid, reason, **options)

    def retry(self, eid: Eid | str, reason: str = "", **options: Any) -> Eid:
        """``Engine.retry``."""
        return self._do(self._engine.retry, eid, reason, **options)

    def replay(self, eid: Eid | str, reason: str = "", **options: Any) -> Eid:
        """``Engine.replay``."""
        return self._do(self._engine.replay, eid, reason, **options)

    def erase(self, eid: Eid | str, reason: str = "", **options: Any) -> None:
        """``Engine.erase``."""
        self._do(self._engine.erase, eid, reason, **options)

    def status(self, eid: Eid | str) -> ExecutionView:
        """``Engine.status``."""
        return self._do(self._engine.status, eid)

    def journal(self, eid: Eid | str) -> tuple[JournalEntry, ...]:
        """``Engine.journal``."""
        return self._do(self._engine.journal, eid)

    def frames(self, eid: Eid | str) -> JournalFold:
        """``Engine.frames``."""
        return self._do(self._engine.frames, eid)

    def archive(self, eid: Eid | str) -> ArchivedExecution | None:
        """``Engine.archive``."""
        return self._do(self._engine.archive, eid)

    def progress(self, eid: Eid | str) -> dict[Fid, Progress]:
        """``Engine.progress``."""
        return self._do(self._engine.progress, eid)

    def logs(self, eid: Eid | str, frame: Fid | None = None) -> list[KeptLog]:
        """``Engine.logs``."""
        return self._do(self._engine.logs, eid, frame)

    def inspect(self, eid: Eid | str) -> Inspection:
        """``Engine.inspect``."""
        return self._do(self._engine.inspect, eid)

    def explain(self, eid: Eid | str) -> Explanation:
        """``Engine.explain``."""
        return self._do(self._engine.explain, eid)

    def timeline(self, eid: Eid | str, *, values: bool = False) -> tuple[Moment, ...]:
        """``Engine.timeline``."""
        return self._do(self._engine.timeline, eid, values=values)

    def tree(self, eid: Eid | str, *, values: bool = False) -> tuple[FrameNode, ...]:
        """``Engine.tree``."""
        return self._do(self._engine.tree, eid, values=values)

    def graph(self, eid: Eid | str) -> Graph:
        """``Engine.graph``."""
        return self._do(self._engine.graph, eid)

    def queue_settings(self, queue: str) -> QueueSettings:
        """``Engine.queue_settings``."""
        return self._do(self._engine.queue_settings, queue)

    def pause_queue(
        self, queue: str, reason: str, *, key: str | None = None, actor: Actor | None = None
    ) -> QueueSettings:
        """``Engine.pause_queue``."""
        return self._do(self._engine.pause_queue, queue, reason, key=key, actor=actor)

    def resume_queue(
        self, queue: str, reason: str = "", *, key: str | None = None, actor: Actor | None = None
    ) -> QueueSettings:
        """``Engine.resume_queue``."""
        return self._do(self._engine.resume_queue, queue, reason, key=key, actor=actor)

    def limit_queue(self, queue: str, **options: Any) -> QueueSettings:
        """``Engine.limit_queue``."""
        return self._do(self._engine.limit_queue, queue, **options)

    def dead_letters(
        self, queue: str | None = None, *, eid: Eid | str | None = None, limit: int = 100
    ) -> list[DeadTask]:
        """``Engine.dead_letters``."""
        return self._do(self._engine.dead_letters, queue, eid=eid, limit=limit)

    def retry_dead(
        self, dead: DeadTask, reason: str = "", *, key: str | None = None, actor: Actor | None = None
    ) -> bool:
        """``Engine.retry_dead``."""
        return self._do(self._engine.retry_dead, dead, reason, key=key, actor=actor)

    def drop_dead(
        self, dead: DeadTask, reason: str = "", *, key: str | None = None, actor: Actor | None = None
    ) -> bool:
        """``Engine.drop_dead``."""
        return self._do(self._engine.drop_dead, dead, reason, key=key, actor=actor)

    def close(self) -> None:
        """Wait until all that was announced is durable, and end the thread. Closing twice is closing once."""
        stop = self._stop
        if stop is not None and not self._closed.done():
            self._loop.call_soon_threadsafe(stop.set)
            self._closed.result()

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
