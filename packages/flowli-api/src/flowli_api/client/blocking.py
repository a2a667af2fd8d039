"""``Client``: the service without asyncio, and while a loop runs (notebooks, scripts, web frameworks)."""

from __future__ import annotations

import asyncio
import concurrent.futures
from collections.abc import Awaitable, Callable, Mapping
from types import TracebackType
from typing import Concatenate, ParamSpec, TypeVar

import httpx

from flowli.domain.errors import UsageError
from flowli.world import SYSTEM, World
from flowli_api.client.asynchronous import AsyncClient
from flowli_api.dto.executions import ExecutionSummary

__all__ = ["Client"]

P = ParamSpec("P")
R = TypeVar("R")


def _blocking(verb: Callable[Concatenate[AsyncClient, P], Awaitable[R]]) -> Callable[Concatenate[Client, P], R]:
    """A method of ``AsyncClient`` that returns when it is done; its arguments and errors stay what they are."""

    def call(self: Client, /, *args: P.args, **kwargs: P.kwargs) -> R:
        self._check_open()
        return self._do(verb(self._inner, *args, **kwargs))

    call.__name__, call.__doc__ = verb.__name__, verb.__doc__
    return call


class Client:
    """The calls of ``AsyncClient``, each returning when it is done. Any thread may make them, several at once.

    Args:
        url: of the service.
        token: an access token or an API key.
        timeout_s: for one answer, beside what a call waits for on purpose.
        transport: how requests are sent; the network if None.
        world: clock and chance; runs the thread that does the work.

    Example:
        >>> with Client("https://flowli.example.org", token) as client:
        ...     started = client.start("invoice_approval", "INV-7", key="INV-7")
        ...     result = client.result(started.eid, timeout_s=60)
    """

    def __init__(
        self,
        url: str,
        token: str,
        *,
        timeout_s: float = 10.0,
        transport: httpx.AsyncBaseTransport | None = None,
        world: World = SYSTEM,
    ) -> None:
        self._inner = AsyncClient(url, token, timeout_s=timeout_s, transport=transport, world=world)
        self._ready: concurrent.futures.Future[asyncio.AbstractEventLoop] = concurrent.futures.Future()
        self._closed: concurrent.futures.Future[None] = concurrent.futures.Future()
        self._stop = asyncio.Event()
        world.background("flowli-api-client", self._serve)
        self._loop = self._ready.result()

    me = _blocking(AsyncClient.me)
    workflows = _blocking(AsyncClient.workflows)
    start = _blocking(AsyncClient.start)
    executions = _blocking(AsyncClient.executions)
    execution = _blocking(AsyncClient.execution)
    journal = _blocking(AsyncClient.journal)
    frames = _blocking(AsyncClient.frames)
    explain = _blocking(AsyncClient.explain)
    result = _blocking(AsyncClient.result)
    published = _blocking(AsyncClient.published)
    read_stream = _blocking(AsyncClient.read_stream)
    signal = _blocking(AsyncClient.signal)
    update = _blocking(AsyncClient.update)
    cancel = _blocking(AsyncClient.cancel)
    terminate = _blocking(AsyncClient.terminate)
    pause = _blocking(AsyncClient.pause)
    resume = _blocking(AsyncClient.resume)
    migrate = _blocking(AsyncClient.migrate)
    fork = _blocking(AsyncClient.fork)
    retry = _blocking(AsyncClient.retry)
    replay = _blocking(AsyncClient.replay)
    erase = _blocking(AsyncClient.erase)
    bulk = _blocking(AsyncClient.bulk)
    queues = _blocking(AsyncClient.queues)

    def each_execution(self, filters: Mapping[str, object] | None = None) -> list[ExecutionSummary]:
        """All executions that fit, the newest first."""
        self._check_open()

        async def collect() -> list[ExecutionSummary]:
            return [row async for row in self._inner.each_execution(filters)]

        return self._do(collect())

    def close(self) -> None:
        """Let go of the connections and the thread. Closing twice is closing once."""
        if not self._closed.done():
            self._loop.call_soon_threadsafe(self._stop.set)
            self._closed.result()

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _check_open(self) -> None:
        if self._closed.done():
            raise UsageError("this client is closed; make another one")

    def _do(self, work: Awaitable[R]) -> R:
        async def run() -> R:
            return await work

        running = asyncio.run_coroutine_threadsafe(run(), self._loop)
        try:
            return running.result()
        except BaseException:
            running.cancel()
            raise

    async def _serve(self) -> None:
        self._ready.set_result(asyncio.get_running_loop())
        await self._stop.wait()
        await self._inner.close()
        self._closed.set_result(None)
