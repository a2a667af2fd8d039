"""``Health``: the pages of one process: is it alive, is it ready, what it measures, how much work waits."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Iterable
from dataclasses import asdict
from types import TracebackType
from typing import TYPE_CHECKING, Self

import structlog

from flowli.domain.errors import FlowliError
from flowli.telemetry.instruments import Instruments
from flowli.telemetry.queues import QueueLoad, queue_load
from flowli.telemetry.scrape import MISSING, Scrape

if TYPE_CHECKING:
    from flowli.runtime.engine.engine import Engine

__all__ = ["LAG_ALERT_S", "Health"]

_log = structlog.get_logger("flowli.health")
LAG_ALERT_S = 300.0
"""From which lag on somebody is told, unless a process is told otherwise."""

_LOOK_S, _REQUEST_S = 10.0, 5.0
_REASONS = {200: "OK", 404: "Not Found", 405: "Method Not Allowed", 501: "Not Implemented", 503: "Service Unavailable"}
_STATES = ("ready", "unready", "draining")
_TEXT, _JSON = "text/plain; charset=utf-8", "application/json"
_PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"

_Answer = tuple[int, str, str]


class Health:
    """See the module's docstring. While the block runs it answers on its port, and looks at the queues every 10 s.

    Args:
        engine: whose backend decides whether the process is ready.
        queues: those to tell of; None for all that hold something.
        concurrency: executions that one worker runs at once.
        lag_alert_s: from which lag of a queue on somebody is to be told, in seconds.
        scrape: what is measured; None if that needs what is not installed.
        host, port: where it listens; port 0 takes a free one.

    Attributes:
        port: where it listens.
        draining: set it when the process takes nothing new; it is not ready any more.
    """

    def __init__(
        self,
        engine: Engine,
        *,
        queues: Iterable[str] | None = None,
        concurrency: int = 50,
        lag_alert_s: float = LAG_ALERT_S,
        scrape: Scrape | None = None,
        host: str = "127.0.0.1",
        port: int = 0,
    ) -> None:
        self.port = port
        self.draining = False
        self._engine = engine
        self._queues = None if queues is None else tuple(queues)
        self._concurrency = concurrency
        self._lag_alert_s = lag_alert_s
        self._scrape = scrape
        self._host = host
        self._problem = "the bucket was not looked at yet"
        self._loads: list[QueueLoad] = []
        self._server: asyncio.Server | None = None
        self._looking: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, self._host, self.port)
        self.port = int(self._server.sockets[0].getsockname()[1])
        self._looking = asyncio.create_task(self._look_again())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None
        assert self._looking is not None
        self._looking.cancel()
        self._server.close()
        await asyncio.wait((self._looking,))

    async def look(self) -> None:
        """Look at the queues: whether the bucket answers, and what waits."""
        ports, now = self._engine.ports, self._engine.world.now()
        try:
            queues = await ports.queue.queues() if self._queues is None else self._queues
            loads = [await queue_load(ports, queue, now, concurrency=self._concurrency) for queue in queues]
        except FlowliError as error:
            self._problem = f"the bucket does not answer: {error}"
            return
        self._problem = ""
        # a queue that holds nothing any more says so once, instead of showing for ever what it held last
        gone = {one.queue for one in self._loads} - {one.queue for one in loads}
        self._loads = loads
        if self._scrape is not None:
            for load in (*loads, *(QueueLoad(queue, 0, 0.0, 0) for queue in sorted(gone))):
                load.show(self._scrape.instruments)
                self._scrape.instruments.gauge("flowli.queue.lag_threshold", self._lag_alert_s, load.queue)

    def _show_state(self, instruments: Instruments) -> None:
        state = "draining" if self.draining else "unready" if self._problem else "ready"
        for one in _STATES:
            instruments.gauge("flowli.process.state", float(one == state), one)

    async def _look_again(self) -> None:
        while True:
            await self.look()
            await self._engine.world.sleep(_LOOK_S)

    def answer(self, method: str, path: str) -> _Answer:
        """Status, content type and body for a request."""
        if method not in ("GET", "HEAD"):
            return 405, _TEXT, "only GET is answered here\n"
        match path.partition("?")[0]:
            case "/live":
                return 200, _TEXT, "alive\n"
            case "/ready":
                problem = "it drains: it takes nothing new" if self.draining else self._problem
                return (503, _TEXT, f"{problem}\n") if problem else (200, _TEXT, "ready\n")
            case "/metrics" if self._scrape is None:
                return 501, _TEXT, f"{MISSING}\n"
            case "/metrics":
                assert self._scrape is not None
                self._show_state(self._scrape.instruments)
                return 200, _PROMETHEUS, self._scrape.text()
            case "/queues":
                return 200, _JSON, json.dumps([asdict(one) for one in self._loads]) + "\n"
            case _:
                return 404, _TEXT, "there are /live, /ready, /metrics and /queues\n"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One request on one connection; whoever dawdles is hung up on."""
        try:
            async with asyncio.timeout(_REQUEST_S):
                line = (await reader.readuntil(b"\r\n")).decode("latin-1").split()
                while await reader.readuntil(b"\r\n") != b"\r\n":
                    pass
                method, path = (line[0], line[1]) if len(line) == 3 else ("?", "?")
                status, kind, text = self.answer(method, path)
                body = text.encode()
                head = (
                    f"HTTP/1.1 {status} {_REASONS[status]}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n"
                )
                writer.write(f"{head}Connection: close\r\n\r\n".encode() + (b"" if method == "HEAD" else body))
                await writer.drain()
        except (TimeoutError, OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            _log.debug("a request for health was not finished")
        finally:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()
