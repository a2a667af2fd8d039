"""``RemoteConsumer``: the loop of ``flowli.Consumer`` over HTTP, for work far from the bucket.

For each task: 1 take it and keep it renewed; 2 run the handler; 3 deliver the answer and ack. *A crash before 3*: the
task comes back when its ttl is over, and the work is done again: a handler is idempotent, by ``delegate.task_id``. What
was answered before the ack was lost is not handed out again: the service looks.
"""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta
from typing import TypeVar
from uuid import UUID

import httpx
import structlog
from pydantic import BaseModel

from flowli import codec
from flowli.domain.data import Data
from flowli.domain.delegate import Delegate
from flowli.domain.errors import Defer, LeaseLost, Retry
from flowli.domain.ids import check_name
from flowli.runtime import Handler
from flowli.world import SYSTEM, World
from flowli_api.client.asynchronous import AsyncClient
from flowli_api.client.calls import Call
from flowli_api.client.errors import ApiError
from flowli_api.dto.tasks import AnswerOut, HeldOut, Renewed, TakenOut, TakenPage

__all__ = ["RemoteConsumer"]

M = TypeVar("M", bound=BaseModel)

_log = structlog.get_logger("flowli.consumer")
_RETRY_DELAY_S = 5.0


class RemoteConsumer:
    """Works on the DELEGATE tasks of one queue through a service.

    Args:
        client: of the service; its token holds ``tasks:consume:{queue}``.
        queue: where tasks are taken from.
        handler: does the work; the same as of ``flowli.Consumer``.
        parallel: tasks worked on at once.
        ttl_s: a consumer that has not renewed a task for so long is taken for dead.
        wait_s: how long one request waits for a task.
        world: clock.

    Example:
        >>> async with AsyncClient(url, token) as client:
        ...     await RemoteConsumer(client, "agents", handler).run()
    """

    def __init__(
        self,
        client: AsyncClient,
        queue: str,
        handler: Handler,
        *,
        parallel: int = 1,
        ttl_s: float = 30.0,
        wait_s: float = 20.0,
        world: World = SYSTEM,
    ) -> None:
        self._client = client
        self._queue = check_name("queue", queue)
        self._handler = handler
        self._parallel = max(1, parallel)
        self._ttl_s, self._wait_s = ttl_s, wait_s
        self._world = world
        self._stopping = asyncio.Event()
        self._running: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Work until ``stop``; what is under way then is finished first."""
        stopped = asyncio.ensure_future(self._stopping.wait())
        try:
            while not self._stopping.is_set():
                if len(self._running) >= self._parallel:
                    await asyncio.wait({stopped, *self._running}, return_when=asyncio.FIRST_COMPLETED)
                    continue
                taking = asyncio.ensure_future(self._take(self._wait_s))
                await asyncio.wait({stopped, taking}, return_when=asyncio.FIRST_COMPLETED)
                if not taking.done():
                    taking.cancel()  # what it may have taken comes back when its ttl is over
                    await asyncio.gather(taking, return_exceptions=True)
                elif not taking.result():
                    await self._world.sleep(0.0 if self._wait_s else 1.0)
        finally:
            stopped.cancel()
            await self._finish()

    def stop(self) -> None:
        """Take no more tasks."""
        self._stopping.set()

    async def run_once(self) -> int:
        """Work on the tasks that can be taken now, up to ``parallel``; returns how many."""
        taken = await self._take(0.0)
        await self._finish()
        return taken

    async def _take(self, wait_s: float) -> int:
        body = {"limit": self._parallel - len(self._running), "ttl_s": self._ttl_s, "wait_s": wait_s}
        path = f"/v1/queues/{self._queue}/dequeue"
        call = Call("POST", path, TakenPage, body, repeatable=False, wait_s=wait_s)
        try:
            found = await self._client.send(call)
        except (httpx.TransportError, ApiError) as error:
            if isinstance(error, ApiError) and error.problem.status < 500 and error.code != "rate_limited":
                raise
            _log.warning("no tasks can be taken now", queue=self._queue, error=str(error))
            await self._world.sleep(_RETRY_DELAY_S)
            return 0
        for task in found.items:
            work = asyncio.ensure_future(_Work(self._client, task, self._handler, self._world).run())
            self._running.add(work)
            work.add_done_callback(self._running.discard)
        return len(found.items)

    async def _finish(self) -> None:
        while self._running:
            await asyncio.wait(set(self._running))


class _Work:
    """One task in the hands of a consumer."""

    def __init__(self, client: AsyncClient, task: TakenOut, handler: Handler, world: World) -> None:
        self._client = client
        self._task = task
        self._token = task.token
        self._handler = handler
        self._world = world

    async def run(self) -> None:
        """From the taking to the ack; a lost lease leaves the task for another taking."""
        task = self._task
        delegate = Delegate(
            task.payload, None, task.correlation, task_id=task.task_id, eid=UUID(task.eid), delivery=task.delivery
        )
        try:
            answer = await self._renewed(delegate)
            if answer is None:
                return
            await self._send("/v1/tasks/deliver", AnswerOut, {"token": self._token, "ack": True, **answer})
        except (LeaseLost, ApiError, httpx.TransportError) as error:
            _log.warning("task lost; its work was stopped", task=task.task_id, error=str(error))

    async def _renewed(self, delegate: Delegate) -> dict[str, Data] | None:
        """The answer, worked out while the lease is renewed; None if the task was given back."""
        doing = asyncio.ensure_future(self._answer(delegate))
        renewing = asyncio.ensure_future(self._renew())
        try:
            await asyncio.wait((doing, renewing), return_when=asyncio.FIRST_COMPLETED)
            if not doing.done():
                await renewing  # raises what ended it
            return await doing
        except (Retry, Defer) as signal:
            body: dict[str, Data] = {"token": self._token, "delay_s": self._delay_s(signal)}
            await self._send("/v1/tasks/nack", HeldOut, body)
            return None
        finally:
            for work in (doing, renewing):
                work.cancel()
            await asyncio.gather(doing, renewing, return_exceptions=True)

    async def _answer(self, delegate: Delegate) -> dict[str, Data]:
        try:
            value = codec.to_data(await self._handler(delegate), path="answer")
        except (Retry, Defer, LeaseLost):
            raise
        except Exception as failed:
            error = codec.error_info(failed)
            told: dict[str, Data] = {"type": error.type, "message": error.message, "traceback": error.traceback}
            return {"error": told}
        return {"value": value}

    async def _renew(self) -> None:
        renewed_s = self._world.boottime_s()
        while True:
            await self._world.sleep(self._task.ttl_s / 3)
            try:
                found = await self._send("/v1/tasks/renew", Renewed, {"token": self._token})
            except (ApiError, httpx.TransportError) as error:
                lost = isinstance(error, ApiError) and error.problem.status < 500
                if lost or self._world.boottime_s() - renewed_s >= self._task.ttl_s:
                    raise LeaseLost(f"task {self._task.task_id} could not be renewed: {error}") from error
                continue
            self._token, renewed_s = found.token, self._world.boottime_s()

    async def _send(self, path: str, model: type[M], body: dict[str, Data]) -> M:
        return await self._client.send(Call("POST", path, model, body))

    def _delay_s(self, signal: Retry | Defer) -> float:
        until = signal.after if isinstance(signal, Retry) else signal.until
        if until is None:
            return _RETRY_DELAY_S
        if isinstance(until, datetime):
            until = until - self._world.now().to_datetime()
        return max(0.0, until / timedelta(seconds=1))
