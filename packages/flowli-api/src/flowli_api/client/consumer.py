"""``RemoteConsumer``: the loop of ``flowli.Consumer`` over HTTP, for work far from the bucket.

For each task: 1 take it and keep it renewed; 2 run the handler; 3 deliver the answer and ack. *A crash before 3*: the
task comes back when its ttl is over, and the work is done again: a handler is idempotent, by ``delegate.task_id``. What
was answered before the ack was lost is not handed out again: the service looks.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import TypeVar
from uuid import UUID

import httpx
import structlog
from pydantic import BaseModel

from flowli import codec
from flowli.domain.data import Data
from flowli.domain.delegate import Delegate
from flowli.domain.errors import BackendError, Defer, LeaseLost, Retry
from flowli.domain.ids import check_name
from flowli.runtime import Handler
from flowli.runtime.consumer import DRAINING, LEASE_LOST
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
        done: called when a task is answered and acked, for what its handler kept until then. It may be missed by a
            crash.

    A handler that is cancelled is told why, as by ``flowli.Consumer``.

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
        done: Callable[[Delegate], Awaitable[None]] | None = None,
    ) -> None:
        self._client = client
        self._queue = check_name("queue", queue)
        self._handler = handler
        self._parallel = max(1, parallel)
        self._ttl_s, self._wait_s = ttl_s, wait_s
        self._world = world
        self._done = done
        self._stopping = asyncio.Event()
        self._running: set[asyncio.Task[None]] = set()
        self._works: dict[str, _Work] = {}

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

    async def drain(self, grace_s: float) -> None:
        """Take no more tasks; give those back that have not ended after ``grace_s``, cancelling their handlers."""
        self.stop()
        if self._running:
            late = asyncio.ensure_future(self._world.sleep(grace_s))
            ended = asyncio.ensure_future(self._finish())
            await asyncio.wait({late, ended}, return_when=asyncio.FIRST_COMPLETED)
            late.cancel()
            for task in self._running:
                task.cancel()
            await ended

    def token(self, task_id: str) -> str:
        """The token of a task that is worked on here, for ``WorkerPlane``.

        Raises:
            LeaseLost: it is not worked on here.
        """
        return self._work(task_id).token

    def wanted(self, task_id: str) -> bool:
        """Whether, at the last renewal, somebody could receive the answer of a task that is worked on here.

        Raises:
            LeaseLost: it is not worked on here.
        """
        return self._work(task_id).wanted

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
            doing = asyncio.ensure_future(self._run(task))
            self._running.add(doing)
            doing.add_done_callback(self._running.discard)
        return len(found.items)

    async def _run(self, task: TakenOut) -> None:
        work = _Work(self._client, task, self._handler, self._world)
        self._works[task.task_id] = work
        try:
            if await work.run() and self._done is not None:
                await self._done(work.delegate)
        finally:
            if self._works.get(task.task_id) is work:  # a lost task may have been taken again here
                del self._works[task.task_id]

    def _work(self, task_id: str) -> _Work:
        if task_id not in self._works:
            raise LeaseLost(f"task {task_id} is not worked on here any more")
        return self._works[task_id]

    async def _finish(self) -> None:
        while self._running:
            await asyncio.wait(set(self._running))


class _Work:
    """One task in the hands of a consumer."""

    def __init__(self, client: AsyncClient, task: TakenOut, handler: Handler, world: World) -> None:
        self._client = client
        self._task = task
        self._handler = handler
        self._world = world
        self.token, self.wanted = task.token, True
        self.delegate = Delegate(
            task.payload, None, task.correlation, task_id=task.task_id, eid=UUID(task.eid), delivery=task.delivery
        )

    async def run(self) -> bool:
        """From the taking to the ack; False if the task was given back or lost, and is there for another taking."""
        try:
            answer = await self._renewed()
            if answer is None:
                return False
            await self._send("/v1/tasks/deliver", AnswerOut, {"token": self.token, "ack": True, **answer})
        except asyncio.CancelledError:
            _log.info("task given back: this consumer ends", task=self._task.task_id)
            with contextlib.suppress(ApiError, httpx.TransportError):  # then it comes back when its ttl is over
                await self._give_back(0.0)
            return False
        except (LeaseLost, ApiError, httpx.TransportError) as error:
            _log.warning("task lost; its work was stopped", task=self._task.task_id, error=str(error))
            return False
        return True

    async def _renewed(self) -> dict[str, Data] | None:
        """The answer, worked out while the lease is renewed; None if the task was given back."""
        doing = asyncio.ensure_future(self._answer(self.delegate))
        renewing = asyncio.ensure_future(self._renew())
        why = LEASE_LOST
        try:
            await asyncio.wait((doing, renewing), return_when=asyncio.FIRST_COMPLETED)
            if not doing.done():
                await renewing  # raises what ended it
            return await doing
        except (Retry, Defer) as signal:
            await self._give_back(self._delay_s(signal))
            return None
        except BackendError as error:
            _log.error("task given back", task=self._task.task_id, error=str(error), again_in_s=_RETRY_DELAY_S)
            await self._give_back(_RETRY_DELAY_S)
            return None
        except asyncio.CancelledError:
            why = DRAINING
            raise
        finally:
            doing.cancel(why)
            renewing.cancel()
            await asyncio.gather(doing, renewing, return_exceptions=True)

    async def _give_back(self, delay_s: float) -> None:
        await self._send("/v1/tasks/nack", HeldOut, {"token": self.token, "delay_s": delay_s})

    async def _answer(self, delegate: Delegate) -> dict[str, Data]:
        try:
            value = codec.to_data(await self._handler(delegate), path="answer")
        except (Retry, Defer, BackendError, LeaseLost):
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
                found = await self._send("/v1/tasks/renew", Renewed, {"token": self.token})
            except (ApiError, httpx.TransportError) as error:
                lost = isinstance(error, ApiError) and error.problem.status < 500
                if lost or self._world.boottime_s() - renewed_s >= self._task.ttl_s:
                    raise LeaseLost(f"task {self._task.task_id} could not be renewed: {error}") from error
                continue
            self.token, self.wanted, renewed_s = found.token, found.wanted, self._world.boottime_s()

    async def _send(self, path: str, model: type[M], body: dict[str, Data]) -> M:
        return await self._client.send(Call("POST", path, model, body))

    def _delay_s(self, signal: Retry | Defer) -> float:
        until = signal.after if isinstance(signal, Retry) else signal.until
        if until is None:
            return _RETRY_DELAY_S
        if isinstance(until, datetime):
            until = until - self._world.now().to_datetime()
        return max(0.0, until / timedelta(seconds=1))
