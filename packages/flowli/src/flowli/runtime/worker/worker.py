"""``Worker``: takes tasks from queues and runs the executions they are for."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Self

import structlog

from flowli.domain.entries import ControlEntry
from flowli.domain.errors import UsageError
from flowli.domain.ids import check_name
from flowli.domain.tasks import TaskKind
from flowli.evidence import recording
from flowli.runtime.first_of import first_of
from flowli.runtime.guard.watchdog import Watchdog
from flowli.runtime.observe.tasks import taken
from flowli.runtime.owner.attempt_logs import AttemptLogs
from flowli.runtime.owner.steps import StepRunner
from flowli.runtime.protocols.bury import is_deadly
from flowli.runtime.signs import Sign, queue_sign, worker_announcement
from flowli.runtime.sweeper import Sweeper
from flowli.runtime.worker.alone import Alone
from flowli.runtime.worker.background import Background
from flowli.runtime.worker.closing import Closing
from flowli.runtime.worker.detached import DetachedSteps
from flowli.runtime.worker.executions import Executions
from flowli.runtime.worker.fates import Fate, GiveBack, SetAside, Skip
from flowli.runtime.worker.intake import Intake
from flowli.runtime.worker.leases import ExecutionLeases
from flowli.runtime.worker.renewal import Renewals, TaskGuard

if TYPE_CHECKING:
    from flowli.runtime.engine.engine import Engine

__all__ = ["Worker"]

_log = structlog.get_logger("flowli.worker")

_IDLE_GROWTH, _SLOWEST_POLL_S = 1.5, 5.0
_NEXT_S = 1.0


class Worker:
    """Runs many executions at once.

    ``async with`` runs it in the background of the block, from the first await on, and drains it on leaving. A block
    that calls ``run``, ``run_once`` or ``run_until_idle`` drives it by itself from then on: the background takes no
    more.

    Args:
        engine: whose executions it runs.
        queues: names of the queues it takes from, the first ones first.
        concurrency: how many executions it works on at once.
        sweeper: whether it sweeps as well.

    Example:
        >>> async with engine.worker():
        ...     print(await engine.run(make_report, "june"))
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
        self._sign = Sign(services, map(queue_sign, self._queues))
        config = services.config
        shortest_s = min(config.exec_ttl_s, config.task_ttl_s)
        self._renewals = Renewals(services.ports, services.world, tick_s=shortest_s / 12)
        self._threads = services.world.pool("flowli-step", config.step_threads)
        kept = config.attempt_logs
        self._logs = (
            None if kept == "none" else AttemptLogs(services.ports.evidence, kept, int(config.attempt_log_bytes))
        )
        self._runner = StepRunner(services.world, self._threads, config.max_value_bytes, self._logs, services.observers)
        self._recording = contextlib.ExitStack()
        self._detached = DetachedSteps(services, self._runner)
        leases = ExecutionLeases(services)
        self._executions = Executions(services, self._runner, self._renewals, leases)
        self._closing = Closing(services, self._renewals, leases)
        self._intake = Intake(services, self._renewals, self._queues, concurrency, self._closing.close)
        self._alone = Alone(services, lambda: len(self._healthy), self._free)
        self._tasks: set[asyncio.Task[None]] = set()
        self._busy: set[TaskGuard] = set()
        self._healthy: set[TaskGuard] = set()
        self._freed = asyncio.Event()
        self._stopping = asyncio.Event()
        self._watchdog = Watchdog(services.world)
        self._started = False
        self._background = Background(self._work)
        self._sweeping: asyncio.Task[None] | None = None

    @property
    def stray_steps(self) -> int:
        """Sync steps that run on in their threads although nobody waits for them: they timed out or were fenced."""
        return self._runner.stray

    async def __aenter__(self) -> Self:
        self.start()
        self._background.begin()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        try:
            await self._background.end()
        finally:
            await self.drain()

    def start(self) -> None:
        """Begin to renew leases and to sweep; ``run``, ``run_once`` and ``run_until_idle`` do it by themselves."""
        if not self._started:
            self._started = True
            if self._logs is not None:
                self._recording.enter_context(recording())
            self._renewals.start()
            self._watchdog.start()
            if self._sweeper is not None:
                self._sweeping = asyncio.create_task(self._sweeper.run())

    async def run(self) -> None:
        """Work until ``stop`` is called, then drain. Says what its code is, and that it listens to its queues."""
        self.start()
        await self._background.end()
        try:
            await self._work(self._stopping)
        finally:
            await self.drain()

    async def _work(self, over: asyncio.Event) -> None:
        """Take and begin tasks until ``over`` is set."""
        self._announce()
        showing = asyncio.create_task(self._sign.run())
        idle_s = first_s = self._services.config.poll_s or self._services.ports.poll_hint_s
        slowest_s = max(first_s, _SLOWEST_POLL_S if first_s >= 1 else 4 * first_s)
        try:
            while not over.is_set():
                mark = self._services.hub.queue_mark(self._queues)
                if taken := await self._take():
                    idle_s = first_s
                    self._background.taken += taken
                elif self._room <= 0:
                    await self._wait_for_room(over)
                elif await self._wait_for_work(idle_s, mark, over):
                    idle_s = first_s
                else:
                    idle_s = min(idle_s * _IDLE_GROWTH, slowest_s)
        finally:
            showing.cancel()

    def _announce(self) -> None:
        services = self._services
        said = worker_announcement(services.registry, self._queues, services.site.worker_id)
        services.announcer.post([ControlEntry(said, services.provenance())])

    def stop(self) -> None:
        """Take no more tasks; ``run`` drains and returns."""
        self._stopping.set()
        self._background.stop()
        self._freed.set()

    def abandon(self) -> None:
        """Drop every coroutine without another word, as a crash of the process would. For tests."""
        self._recording.close()
        self._executions.abandon()

    async def run_once(self) -> int:
        """Take what is there now, up to the concurrency, and work on it until it is suspended or done.

        Returns:
            How many tasks were taken, with those that the background of the block has taken before.
        """
        self.start()
        ahead = await self._background.end()
        taken = await self._take()
        await self._settle()
        return ahead + taken

    async def run_until_idle(self) -> int:
        """Work until the queues hold nothing for this worker; delayed tasks and sleeping executions are left.

        Returns:
            How many tasks were taken, with those that the background of the block has taken before.
        """
        self.start()
        total = await self._background.end()
        while True:
            taken = await self._take()
            total += taken
            if taken:
                continue
            under_way = {*self._tasks, *self._closing.under_way}
            if not under_way and not self._intake.ahead:
                return total
            self._freed.clear()
            await first_of(self._freed.wait(), asyncio.wait(under_way, return_when=asyncio.FIRST_COMPLETED))

    async def drain(self, grace_s: float | None = None) -> None:
        """Hand over what runs, commit and ack what is pending, and stop.

        Args:
            grace_s: how long steps that are under way may take to end; then they are abandoned and will run again.
        """
        self.stop()
        if not self._started:
            return
        self._started = False
        if self._sweeping is not None:
            assert self._sweeper is not None
            self._sweeper.stop()
            await asyncio.gather(self._sweeping, return_exceptions=True)
        self._intake.let_go(everything=True)
        self._executions.stop(now=False)
        await self._settle(self._services.config.grace_s if grace_s is None else grace_s)
        if self._tasks:
            self._executions.stop(now=True)
            self._detached.stop()
            await self._settle(self._services.config.grace_s / 10 + 1)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._executions.close()
        await self._services.announcer.drain()
        while self._closing.under_way:
            await asyncio.wait(self._closing.under_way)
        if self._logs is not None:
            await self._logs.drain()
        self._recording.close()
        self._watchdog.stop()
        await self._renewals.stop()
        self._threads.shutdown(wait=False, cancel_futures=True)

    @property
    def _room(self) -> int:
        return 0 if self._alone.wanted else self._concurrency - len(self._busy)

    async def _take(self) -> int:
        """Begin what was taken ahead, as far as there is room; then take more. How many were begun or taken."""
        begun = 0
        while self._room > 0 and (guard := self._intake.next()) is not None:
            self._begin(guard)
            begun += 1
        if self._stopping.is_set() or self._alone.wanted or not self._intake.worth_taking(self._room):
            return begun
        before = self._intake.ahead
        taken = await self._intake.take(self._room, one_by_one=self._alone.careful)
        for guard in taken:
            self._begin(guard)
        if self._stopping.is_set() or self._alone.wanted:
            self._intake.let_go(everything=True)
        return begun + len(taken) + max(0, self._intake.ahead - before)

    def _begin(self, guard: TaskGuard) -> None:
        if not self._alone.claim(guard):
            self._closing.close(guard, GiveBack("one that may be dangerous runs first", _NEXT_S))
            return
        self._busy.add(guard)
        self._services.observers.tell(taken(guard.lease, self._services.world.now()))
        task = asyncio.create_task(self._handle(guard))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _handle(self, guard: TaskGuard) -> None:
        suspect = guard.lease.deaths > 0
        try:
            if suspect:
                await self._alone.enter(guard)
            else:
                self._healthy.add(guard)
            fate = await self._fate(guard)
        except asyncio.CancelledError:
            fate = GiveBack("the worker was stopped", 0.0, why=Skip.STOPPING)
        except Exception:
            _log.exception("a task failed in the engine itself", task=guard.lease.task.task_id)
            fate = GiveBack("the engine failed", self._services.config.task_ttl_s / 3)
        self._intake.finished()
        self._rests(guard)
        self._closing.close(guard, fate)

    def _rests(self, guard: TaskGuard) -> None:
        """The task needs no room any more: it is done, or only waits for another that is worked on."""
        self._busy.discard(guard)
        self._healthy.discard(guard)
        self._alone.leave(guard)
        self._alone.less()
        self._free()

    def _free(self) -> None:
        self._freed.set()

    def _came_on(self, guard: TaskGuard) -> None:
        """An outcome is durable: whatever the task does, it can be survived."""
        if guard.lease.deaths > 0 and not guard.vouched:
            guard.vouch()
            self._healthy.add(guard)
            self._alone.leave(guard)

    async def _fate(self, guard: TaskGuard) -> Fate:
        task, deaths = guard.lease.task, guard.lease.deaths
        if await is_deadly(self._services, guard.lease):
            return SetAside(f"{deaths} workers in a row vanished while they worked on task {task.task_id}")
        if task.kind in (TaskKind.START, TaskKind.RESUME):
            return await self._executions.handle(
                task,
                again=guard.lease.epoch > 1,
                joined=lambda: self._rests(guard),
                progress=lambda: self._came_on(guard),
            )
        if task.kind is TaskKind.RUN_STEP:
            return await self._detached.handle(guard)
        _log.warning("not for a worker of the engine; it stays for a consumer", task=task.task_id, queue=task.queue)
        return GiveBack(f"{task.kind} is for a consumer", self._services.config.task_ttl_s, why=Skip.UNKNOWN_CODE)

    async def _wait_for_room(self, over: asyncio.Event) -> None:
        """Wait until something ends, or something that was taken ahead has waited for too long."""
        self._freed.clear()
        left_s = self._intake.let_go()
        if self._room > 0 or over.is_set():
            return
        awaited: list[Awaitable[object]] = [self._freed.wait(), over.wait()]
        if left_s is not None:
            awaited.append(self._services.world.sleep(left_s))
        await first_of(*awaited)

    async def _wait_for_work(self, delay_s: float, mark: int, over: asyncio.Event) -> bool:
        woken = asyncio.ensure_future(self._services.hub.wait_queue(self._queues, delay_s, mark=mark))
        await first_of(woken, over.wait())
        return woken.done() and not woken.cancelled() and woken.result()

    async def _settle(self, timeout_s: float | None = None) -> None:
        """Wait for what is being worked on; without a time limit also for the acks."""
        if timeout_s is None:
            while under_way := {*self._tasks, *self._closing.under_way}:
                await asyncio.wait(under_way)
        elif self._tasks:
            await first_of(self._services.world.sleep(timeout_s), asyncio.wait({*self._tasks}))
