"""``Worker``: takes tasks from queues and runs the executions they are for."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Self

import structlog

from flowli.domain.errors import BackendError, LeaseLost, UsageError
from flowli.domain.ids import check_name
from flowli.domain.tasks import TaskKind, TaskLease
from flowli.runtime.owner.steps import StepRunner
from flowli.runtime.sweeper import Sweeper
from flowli.runtime.worker.executions import Ack, Executions, Fate, GiveBack
from flowli.runtime.worker.renewal import Renewals, TaskGuard

if TYPE_CHECKING:
    from flowli.runtime.engine.engine import Engine

__all__ = ["MAX_DEATHS", "Worker"]

_log = structlog.get_logger("flowli.worker")

MAX_DEATHS = 5
"""A task whose holders vanished so often without any outcome between is set aside."""

_PAGE = 32
_IDLE_GROWTH, _SLOWEST_POLL_S = 1.5, 5.0


class Worker:
    """Runs many executions at once.

    Args:
        engine: whose executions it runs.
        queues: names of the queues it takes from, the first ones first.
        concurrency: how many tasks it works on at once.
        sweeper: whether it sweeps as well.

    Example:
        >>> async with engine.worker() as worker:
        ...     await worker.run_until_idle()
    """

    def __init__(
        self,
        engine: Engine,
        *,
        queues: Sequence[str] = ("default",),
        concurrency: int = 50,
        sweeper: bool = False,
    ) -> None:
        if concurrency < 1:
            raise UsageError(f"concurrency is {concurrency}; a worker needs at least 1")
        if not queues:
            raise UsageError("a worker needs at least one queue")
        services = self._services = engine.services
        self._queues = tuple(check_name("queue", queue) for queue in queues)
        self._concurrency = concurrency
        self._sweeper = Sweeper(engine) if sweeper else None
        config = services.config
        shortest_s = min(config.exec_ttl_s, config.task_ttl_s)
        self._renewals = Renewals(services.ports, services.world, tick_s=shortest_s / 12)
        self._threads = services.world.pool("flowli-step", config.step_threads)
        runner = StepRunner(services.world, self._threads, config.max_value_bytes)
        self._executions = Executions(services, runner, self._renewals)
        self._holder = f"{services.site.worker_id}/{services.world.token()[:8]}"
        self._handling: set[asyncio.Task[None]] = set()
        self._closing: set[asyncio.Task[None]] = set()
        self._stopping = asyncio.Event()
        self._started = False
        self._sweeping: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.drain()

    def start(self) -> None:
        """Begin to renew leases and to sweep; ``run``, ``run_once`` and ``run_until_idle`` do it by themselves."""
        if not self._started:
            self._started = True
            self._renewals.start()
            if self._sweeper is not None:
                self._sweeping = asyncio.create_task(self._sweeper.run())

    async def run(self) -> None:
        """Work until ``stop`` is called, then drain."""
        self.start()
        idle_s = first_s = self._services.config.poll_s or self._services.ports.poll_hint_s
        slowest_s = max(first_s, _SLOWEST_POLL_S if first_s >= 1 else 4 * first_s)
        try:
            while not self._stopping.is_set():
                mark = self._services.hub.queue_mark(self._queues)
                if await self._take():
                    idle_s = first_s
                    continue
                if len(self._handling) >= self._concurrency:
                    await self._first_of(*self._handling)
                elif await self._sleep(idle_s, mark):
                    idle_s = first_s
                else:
                    idle_s = min(idle_s * _IDLE_GROWTH, slowest_s)
        finally:
            await self.drain()

    def stop(self) -> None:
        """Take no more tasks; ``run`` drains and returns."""
        self._stopping.set()

    def abandon(self) -> None:
        """Drop every coroutine without another word, as a crash of the process would. For tests."""
        self._executions.abandon()

    async def run_once(self) -> int:
        """Take what is there now, up to the concurrency, and work on it until it is suspended or done.

        Returns:
            How many tasks were taken.
        """
        self.start()
        taken = await self._take()
        await self._settle()
        return taken

    async def run_until_idle(self) -> int:
        """Work until the queues hold nothing for this worker; delayed tasks and sleeping executions are left.

        Returns:
            How many tasks were taken.
        """
        self.start()
        total = 0
        while True:
            taken = await self._take()
            total += taken
            if taken == 0:
                if not self._handling and not self._closing:
                    return total
                await self._first_of(*self._handling, *self._closing)

    async def drain(self, grace_s: float | None = None) -> None:
        """Hand over what runs, commit and ack what is pending, and stop.

        Args:
            grace_s: how long steps that are under way may take to end; then they are abandoned and will run again.
        """
        self._stopping.set()
        if not self._started:
            return
        self._started = False
        if self._sweeping is not None:
            assert self._sweeper is not None
            self._sweeper.stop()
            await asyncio.gather(self._sweeping, return_exceptions=True)
        self._executions.stop(now=False)
        await self._settle(self._services.config.grace_s if grace_s is None else grace_s)
        if self._handling:
            self._executions.stop(now=True)
            await self._settle(self._services.config.grace_s / 10 + 1)
        for task in self._handling:
            task.cancel()
        await asyncio.gather(*self._handling, return_exceptions=True)
        await self._executions.close()
        await self._services.announcer.drain()
        await asyncio.gather(*self._closing, return_exceptions=True)
        await self._renewals.stop()
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _take(self) -> int:
        taken = 0
        for queue in self._queues:
            room = self._concurrency - len(self._handling)
            if room <= 0 or self._stopping.is_set():
                break
            deadline_s = self._services.world.boottime_s() + self._services.config.task_ttl_s
            try:
                leases = await self._services.ports.queue.dequeue(
                    queue, self._holder, self._services.config.task_ttl_s, limit=min(room, _PAGE)
                )
            except BackendError as error:
                _log.warning("the queue could not be read", queue=queue, error=str(error))
                continue
            for lease in leases:
                guard = TaskGuard(self._services.world, self._services.config.task_ttl_s, deadline_s, lease=lease)
                self._renewals.watch(guard)
                task = asyncio.create_task(self._handle(guard))
                self._handling.add(task)
                task.add_done_callback(self._handling.discard)
            taken += len(leases)
        return taken

    async def _handle(self, guard: TaskGuard) -> None:
        lease = guard.lease
        try:
            fate = await self._fate(lease)
        except asyncio.CancelledError:
            fate = GiveBack("the worker was stopped", 0.0)
        except Exception:
            _log.exception("a task failed in the engine itself", task=lease.task.task_id)
            fate = GiveBack("the engine failed", self._services.config.task_ttl_s / 3)
        closing = asyncio.create_task(self._close(guard, fate))
        self._closing.add(closing)
        closing.add_done_callback(self._closing.discard)

    async def _fate(self, lease: TaskLease) -> Fate:
        task = lease.task
        if lease.deaths >= MAX_DEATHS:
            cause = f"{lease.deaths} workers in a row vanished while they worked on it"
            _log.error("task set aside", task=task.task_id, cause=cause)
            await self._services.ports.queue.bury(lease, cause, self._services.world.now())
            return Ack()
        if task.kind in (TaskKind.START, TaskKind.RESUME):
            return await self._executions.handle(task)
        _log.warning("not for a worker of the engine; it stays for a consumer", task=task.task_id, queue=task.queue)
        return GiveBack(f"{task.kind} is for a consumer", self._services.config.task_ttl_s)

    async def _close(self, guard: TaskGuard, fate: Fate) -> None:
        """Ack when the twins are durable, or give back. A crash before it: the task is taken again."""
        queue = self._services.ports.queue
        try:
            if isinstance(fate, Ack):
                if fate.after:
                    await asyncio.gather(*fate.after)
                await queue.ack([guard.lease])
            elif fate.delay_s is not None:
                _log.debug("task given back", task=guard.lease.task.task_id, reason=fate.reason)
                await queue.nack(guard.lease, delay_s=fate.delay_s)
            else:
                _log.warning("task left to expire", task=guard.lease.task.task_id, reason=fate.reason)
        except (BackendError, LeaseLost) as error:
            _log.warning("task not acked; it will be taken again", task=guard.lease.task.task_id, error=str(error))
        finally:
            self._renewals.forget(guard)

    async def _first_of(self, *tasks: asyncio.Task[None]) -> None:
        stop = asyncio.ensure_future(self._stopping.wait())
        try:
            await asyncio.wait((*tasks, stop), return_when=asyncio.FIRST_COMPLETED)
        finally:
            stop.cancel()

    async def _sleep(self, delay_s: float, mark: int) -> bool:
        woken = asyncio.ensure_future(self._services.hub.wait_queue(self._queues, delay_s, mark=mark))
        stop = asyncio.ensure_future(self._stopping.wait())
        try:
            await asyncio.wait((woken, stop), return_when=asyncio.FIRST_COMPLETED)
            return woken.done() and woken.result()
        finally:
            woken.cancel()
            stop.cancel()

    async def _settle(self, timeout_s: float | None = None) -> None:
        if self._handling:
            if timeout_s is None:
                await asyncio.wait(set(self._handling))
            else:
                alarm = asyncio.ensure_future(self._services.world.sleep(timeout_s))
                rest = asyncio.gather(*self._handling, return_exceptions=True)
                await asyncio.wait((alarm, rest), return_when=asyncio.FIRST_COMPLETED)
                alarm.cancel()
        if timeout_s is None and self._closing:
            await asyncio.wait(set(self._closing))
