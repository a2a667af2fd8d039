"""``Consumer``: takes DELEGATE tasks from a queue, has a handler do the work, and answers.

For each task: 1 take it and keep its lease renewed; 2 if it was delivered before, look on the reply channel for an
answer that a crashed consumer gave; 3 run the handler; 4 deliver the answer; 5 ack. *A crash before 4*: another
consumer does the work again, so that a handler must be idempotent. *A crash between 4 and 5*: step 2 finds the
answer, and the work is not done again. A consumer writes nothing but its answer and the state of its own task lease.

A handler that is cancelled is told why by the message of the cancel: ``LEASE_LOST`` (somebody else may do the work
already: stop it) or ``DRAINING`` (this process ends and gives the task back: whoever takes it next may go on with it).
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Protocol

import structlog

from flowli import codec
from flowli.domain.channels import Message, scoped_channel
from flowli.domain.data import Data
from flowli.domain.delegate import Answer, AnswerOutcome, Delegate, ReplyTo
from flowli.domain.entries import START
from flowli.domain.errors import (
    BackendError,
    BackendUnavailable,
    Defer,
    InvalidName,
    InvalidValue,
    LeaseLost,
    OutcomeUnknown,
    Retry,
)
from flowli.domain.ids import check_name
from flowli.domain.ports import Ports
from flowli.domain.provenance import Actor, ActorKind, Provenance, Site
from flowli.domain.tasks import TaskKind, TaskLease
from flowli.runtime.hub import Hub
from flowli.runtime.observe.spans import handler_work
from flowli.runtime.observe.tracer import NO_TRACER, Tracer
from flowli.runtime.protocols.deliver import deliver
from flowli.world import SYSTEM, World

__all__ = ["DRAINING", "LEASE_LOST", "Consumer", "Handler"]

LEASE_LOST, DRAINING = "lease lost", "draining"
"""Why a handler is cancelled."""

_log = structlog.get_logger("flowli.consumer")
_FOREIGN_DELAY_S = 30.0
_RETRY_DELAY_S = 5.0


class Handler(Protocol):
    """The work itself. It may be asked for the same delegate twice: it must be idempotent, by ``delegate.task_id``."""

    async def __call__(self, delegate: Delegate) -> Data:
        """Do the work and return the value of the answer.

        Raises:
            Retry: give the task back; it is delivered again after the delay.
            Defer: the same, at an instant.
            Exception: anything else is answered as a failure.
        """


@dataclass(frozen=True, slots=True)
class _Means:
    ports: Ports
    handler: Handler
    site: Site
    world: World
    hub: Hub
    done: Callable[[Delegate], Awaitable[None]] | None
    tracer: Tracer


class Consumer:
    """Works on the DELEGATE tasks of one queue.

    Args:
        handler: does the work.
        parallel: tasks worked on at once.
        ttl_s: a consumer that has not renewed a task for so long is taken for dead.
        hub: of the engine in this process, so that answers and new tasks wake at once; None if there is none.
        done: called when a task is answered and acked, for what its handler kept until then. It may be missed by a
            crash.
        tracer: makes a span of each delivery; its handler runs inside. None hands contexts on and makes none.
    """

    def __init__(
        self,
        ports: Ports,
        queue: str,
        handler: Handler,
        *,
        site: Site,
        world: World = SYSTEM,
        parallel: int = 1,
        ttl_s: float = 30.0,
        hub: Hub | None = None,
        done: Callable[[Delegate], Awaitable[None]] | None = None,
        tracer: Tracer | None = None,
    ) -> None:
        self._means = _Means(ports, handler, site, world, hub or Hub(world), done, tracer or NO_TRACER)
        self._ports = ports
        self._queue = check_name("queue", queue)
        self._parallel = max(1, parallel)
        self._ttl_s = ttl_s
        self._holder = f"{site.worker_id}/{world.token()}"
        self._stopping = asyncio.Event()
        self._running: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Work until ``stop``; what is under way then is finished first."""
        try:
            while not self._stopping.is_set():
                if not await self._take():
                    await self._rest()
        finally:
            await self._finish()

    def stop(self) -> None:
        """Take no more tasks."""
        self._stopping.set()

    async def drain(self, grace_s: float) -> None:
        """Take no more tasks; give those back that have not ended after ``grace_s``, cancelling their handlers."""
        self.stop()
        if self._running:
            late = asyncio.ensure_future(self._means.world.sleep(grace_s))
            ended = asyncio.ensure_future(self._finish())
            await asyncio.wait({late, ended}, return_when=asyncio.FIRST_COMPLETED)
            late.cancel()
            for task in self._running:
                task.cancel()
            await ended

    async def run_once(self) -> int:
        """Work on the tasks that can be taken now, up to ``parallel``; returns how many."""
        taken = await self._take()
        await self._finish()
        return taken

    async def _take(self) -> int:
        free = self._parallel - len(self._running)
        if free <= 0:
            return 0
        try:
            leases = await self._ports.queue.dequeue(self._queue, self._holder, self._ttl_s, limit=free)
        except (BackendUnavailable, OutcomeUnknown) as error:
            _log.warning("no tasks can be taken now", queue=self._queue, error=str(error))
            return 0
        for lease in leases:
            task = asyncio.create_task(self._guarded(lease))
            self._running.add(task)
            task.add_done_callback(self._running.discard)
        return len(leases)

    async def _rest(self) -> None:
        """Until a task ends, a stop, a wake-up of the queue, or the next poll."""
        stopped = asyncio.ensure_future(self._stopping.wait())
        polled = asyncio.ensure_future(self._means.hub.wait_queue([self._queue], self._ports.poll_hint_s))
        try:
            await asyncio.wait({stopped, polled, *self._running}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            stopped.cancel()
            polled.cancel()

    async def _finish(self) -> None:
        while self._running:
            await asyncio.wait(set(self._running))

    async def _guarded(self, lease: TaskLease) -> None:
        """One task, from taking to ack; a storage error or a lost lease leaves it for another taking."""
        work = _Work(self._means, lease)
        try:
            await work.run()
        except LeaseLost:
            _log.warning("task lost to another consumer; its work was stopped", task=lease.task.task_id)
        except asyncio.CancelledError:
            _log.info("task given back: this consumer ends", task=lease.task.task_id)
            with contextlib.suppress(BackendError, LeaseLost):
                await work.give_back(0.0)
        except BackendError as error:
            _log.error("task given back", task=lease.task.task_id, error=str(error), again_in_s=_RETRY_DELAY_S)
            with contextlib.suppress(BackendError, LeaseLost):  # then it comes back when its lease expires
                await work.give_back(_RETRY_DELAY_S)


class _Work:
    """One task in the hands of a consumer."""

    def __init__(self, means: _Means, lease: TaskLease) -> None:
        self._means = means
        self._lease = lease
        self._renewing = asyncio.Lock()

    async def run(self) -> None:
        task, queue = self._lease.task, self._means.ports.queue
        if task.kind is not TaskKind.DELEGATE:
            _log.error("a task on this queue is not for consumers", queue=task.queue, task=task.task_id)
            await self.give_back(_FOREIGN_DELAY_S)
            return
        try:
            delegate = codec.load(Delegate, task.payload)
            channel = None if delegate.reply_to is None else _channel(delegate.reply_to)
        except (InvalidValue, InvalidName) as error:
            cause = f"its payload is not that of a delegate: {error}"
            await queue.bury(self._lease, cause, self._means.world.now())
            return
        delegate = replace(delegate, task_id=task.task_id, eid=task.target, delivery=self._lease.epoch)
        try:
            await self._renewed(self._work(delegate, channel))
        except (Retry, Defer) as signal:
            await self.give_back(self._delay_s(signal))
        else:
            await queue.ack([self._lease])
            if self._means.done is not None:
                await self._means.done(delegate)

    async def give_back(self, delay_s: float) -> None:
        await self._means.ports.queue.nack(self._lease, delay_s=delay_s)

    async def _renewed(self, work: Coroutine[None, None, None]) -> None:
        """Do the work while the lease is renewed; a lost lease stops it at once."""
        doing, renewing = asyncio.ensure_future(work), asyncio.ensure_future(self._renew())
        why = LEASE_LOST
        try:
            await asyncio.wait((doing, renewing), return_when=asyncio.FIRST_COMPLETED)
            if not doing.done():
                await renewing  # raises what ended it
            await doing
        except asyncio.CancelledError:
            why = DRAINING
            raise
        finally:
            doing.cancel(why)
            async with self._renewing:  # never between a renewal and the lease that it returns
                renewing.cancel()
            await asyncio.gather(doing, renewing, return_exceptions=True)

    async def _renew(self) -> None:
        world = self._means.world
        renewed_at_s = world.boottime_s()
        while True:
            await world.sleep(self._lease.ttl_s / 3)
            async with self._renewing:
                try:
                    self._lease = await self._means.ports.queue.renew(self._lease)
                    renewed_at_s = world.boottime_s()
                except (BackendUnavailable, OutcomeUnknown) as error:
                    if world.boottime_s() - renewed_at_s >= self._lease.ttl_s:
                        raise LeaseLost(f"task {self._lease.task.task_id} could not be renewed in time") from error

    async def _work(self, delegate: Delegate, channel: str | None) -> None:
        """Steps 2 to 4."""
        means, task = self._means, self._lease.task
        with means.tracer.around(handler_work(task, delegate.delivery)) as span:
            earlier = await self._earlier(delegate, channel)
            answer = earlier or await self._answer(replace(delegate, trace=span.trace))
            if answer.error is not None:
                span.failed(answer.error.type)
        if channel is None or delegate.reply_to is None:
            return
        who = Actor(ActorKind.WORKER, means.site.worker_id)
        by = Provenance(who, means.site, means.world.now(), trace=span.trace)
        message = Message(delegate.task_id, channel, answer.to_data(), by, delegate.correlation)
        again = START if delegate.delivery > 1 else None
        await deliver(means.ports, means.hub, message, eid=delegate.reply_to.eid, by=by, search_after=again)

    async def _answer(self, delegate: Delegate) -> Answer:
        try:
            value = codec.to_data(await self._means.handler(delegate), path="answer")
        except (Retry, Defer, BackendError, LeaseLost):
            raise
        except Exception as error:
            return Answer(AnswerOutcome.FAILED, error=codec.error_info(error))
        return Answer(AnswerOutcome.COMPLETED, value)

    async def _earlier(self, delegate: Delegate, channel: str | None) -> Answer | None:
        if channel is None or delegate.delivery <= 1:
            return None
        found = await self._means.ports.channel.read(channel)
        message = next((message for message in found.messages if message.id == delegate.task_id), None)
        return None if message is None else Answer.from_data(message.payload)

    def _delay_s(self, signal: Retry | Defer) -> float:
        until = signal.after if isinstance(signal, Retry) else signal.until
        if until is None:
            return _RETRY_DELAY_S
        if isinstance(until, datetime):
            until = until - self._means.world.now().to_datetime()
        return max(0.0, until / timedelta(seconds=1))


def _channel(reply_to: ReplyTo) -> str:
    """The full name; the envelope may hold it or the execution's own name for it."""
    return scoped_channel(reply_to.eid, reply_to.channel.removeprefix(f"{reply_to.eid}."))
