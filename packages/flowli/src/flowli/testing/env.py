"""``TestEnvironment``: workflows under test, with everything they need in one object and time that is skipped.

    >>> async with TestEnvironment(registry) as env:
    ...     env.replace(charge_card, lambda order: Decimal(5))
    ...     eid = await env.start(fulfil_order, order)
    ...     await env.run_until_idle()              # a sleep of 30 days takes milliseconds
    ...     assert (await env.result(eid)).paid == 5

Nothing of it is simulated but the time, and the bucket is in memory: engine, worker and sweeper are those of
production. Steps run for real unless they are replaced.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from flowli.adapters.coded import ValueCodec
from flowli.adapters.memory import MemoryBackend
from flowli.domain.entries import START as BEGINNING
from flowli.domain.entries import ExecutionCreated, ExecutionErased, JournalEntry
from flowli.domain.errors import UnknownExecution
from flowli.domain.ids import Eid
from flowli.domain.memo import Frame
from flowli.domain.ports import Ports
from flowli.domain.provenance import Site
from flowli.domain.waits import OnOperator
from flowli.runtime import Engine, EngineConfig, Registry, Sweeper
from flowli.runtime.engine import ExecutionView
from flowli.runtime.sweeper import SweepReport
from flowli.testing.clock import ManualWorld
from flowli.testing.fakes import Fake, Fakes, FakingWorker
from flowli.testing.replay import replay, write_history
from flowli.testing.skipping import SkippingClock
from flowli.testing.telling import outline, waiting
from flowli.timestamp import Timestamp
from flowli.world import World

__all__ = ["TestEnvironment"]

_START = Timestamp.parse("2026-01-01T00:00:00.000000Z")
_DAY_S = 86_400.0
_TTL_S = 3600.0


class TestEnvironment:
    """A bucket, a clock, an engine, a worker and a sweeper.

    Args:
        registry: the workflows.
        queues: served beside those of the registered workflows and ``default``.
        config: settings of the engine; by default waits suspend at once.
        ports: opens the bucket in the environment's world; by default it is in memory.
        codec: through which values go.
        start: the first instant, aware; 2026-01-01 UTC by default.
        patience_s: how much real time a step that does something real may take before time is skipped under it.
        check_replay: at the end of ``async with``, replay every journal and raise if a workflow is not deterministic.

    Attributes:
        engine: for everything that has no shorter way here.
        clock: moves by ``run_until_idle`` and ``advance``.
    """

    __test__ = False

    def __init__(
        self,
        registry: Registry,
        *,
        queues: Iterable[str] = (),
        config: EngineConfig | None = None,
        ports: Callable[[World], Ports] | None = None,
        codec: ValueCodec | None = None,
        start: datetime | None = None,
        patience_s: float = 0.2,
        check_replay: bool = True,
    ) -> None:
        self._fakes = Fakes()
        first = _START if start is None else Timestamp.from_datetime(start)
        self.clock = SkippingClock(first, self._fakes, patience_s=patience_s, limit_s=_DAY_S)
        world = ManualWorld(self.clock, name="test")
        settings = config or EngineConfig(hold_s=0.0, exec_ttl_s=_TTL_S, task_ttl_s=_TTL_S)
        found = MemoryBackend(world).ports if ports is None else ports(world)
        self.engine = Engine(found, Site("test"), registry=registry, config=settings, world=world, codec=codec)
        self._queues = tuple(dict.fromkeys(("default", *(one.queue for one in registry), *queues)))
        self._worker = FakingWorker(self.engine, self._fakes, queues=self._queues)
        self._due = _Due(self.engine.ports, self._queues, self.engine.sweeper())
        self._check_replay = check_replay

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
        if error is None and self._check_replay:
            await self.check_replays()

    @property
    def now(self) -> datetime:
        """The present instant, aware, UTC."""
        return self.clock.now().to_datetime()

    def replace(self, step: Callable[..., Any], fake: Callable[..., Any]) -> Fake:
        """Have ``fake`` run in the place of a step from now on.

        Args:
            step: the function that workflows give to ``ctx.step``.
            fake: takes the same arguments, plain or async; it may raise.

        Returns:
            What counts the calls.
        """
        return self._fakes.replace(step, fake)

    async def start(self, workflow: Callable[..., Any] | str, /, *args: Any, **options: Any) -> Eid:
        """``Engine.start``; nothing runs yet."""
        return await self.clock.drive(self.engine.start(workflow, *args, **options))

    async def run(self, workflow: Callable[..., Any] | str, /, *args: Any, **options: Any) -> Any:
        """Start an execution, skip all waiting, and give its result; errors are those of ``result``."""
        eid = await self.start(workflow, *args, **options)
        await self.run_until_idle()
        return await self.result(eid)

    async def signal(self, eid: Eid, channel: str, payload: object = None, **options: Any) -> int:
        """``Engine.signal``; nothing runs yet."""
        return await self.clock.drive(self.engine.signal(eid, channel, payload, **options))

    async def result(self, eid: Eid) -> Any:
        """The value of an execution that has ended; ``settle`` or ``run_until_idle`` first.

        Raises:
            ExecutionFailed, ExecutionCancelled: it did not complete.
            AssertionError: it has not ended; says what it waits on.
        """
        view = await self.status(eid)
        if not view.status.terminal:
            raise AssertionError(f"execution {eid} of {view.execution.workflow} has not ended: {waiting(view)}")
        return await self.clock.drive(self.engine.result(eid, 0.0))

    async def settle(self) -> None:
        """Run everything that can run at this instant; time moves only as far as steps and their timeouts take."""
        while True:
            taken = await self.clock.drive(self._worker.run_until_idle(), due=self._due)
            report = await self.clock.drive(self._due.act())
            await self.clock.drive(self.engine.announcer.drain())
            if not taken and report.idle:
                return

    async def advance(self, by: timedelta | float) -> None:
        """Let time pass, stopping at everything that is due on the way.

        Args:
            by: a delay, or seconds.
        """
        end = self.clock.now() + (by if isinstance(by, timedelta) else timedelta(seconds=by))
        await self.settle()
        while (due := await self.clock.drive(self._due.next_due())) is not None and due <= end:
            self.clock.jump(due)
            await self.settle()
        self.clock.jump(max(end, self.clock.now()))
        await self.settle()

    async def run_until_idle(self, *, limit: timedelta = timedelta(days=3660)) -> None:
        """Run everything, and skip sleeps, timeouts and delays, until nothing is left that time alone brings on.

        What then has not ended waits for a message or an operator.

        Args:
            limit: how far to go.

        Raises:
            AssertionError: there was more to do after ``limit``: an execution that goes on for ever needs ``advance``.
        """
        end = self.clock.now() + limit
        await self.settle()
        while (due := await self.clock.drive(self._due.next_due())) is not None:
            if due > end:
                raise AssertionError(
                    f"still something to do after {limit}; an execution that goes on for ever is tested with advance()"
                )
            self.clock.jump(max(due, self.clock.now()))
            await self.settle()

    async def restart(self) -> None:
        """Stop the worker and begin a new one, as a deploy does: all that was in memory is gone and is replayed."""
        await self.close()
        self._worker = FakingWorker(self.engine, self._fakes, queues=self._queues)

    async def status(self, eid: Eid) -> ExecutionView:
        """``Engine.status``."""
        return await self.clock.drive(self.engine.status(eid))

    async def frames(self, eid: Eid) -> dict[str, Frame]:
        """The frames of an execution by their ids, in the order of their start."""
        return (await self.clock.drive(self.engine.frames(eid))).frames

    async def outline(self, eid: Eid) -> list[str]:
        """What an execution has done, one line a frame: ``step charge_card completed``, ``receive answer waiting``."""
        return outline(await self.frames(eid))

    async def journal(self, eid: Eid) -> tuple[JournalEntry, ...]:
        """``Engine.journal``."""
        return await self.clock.drive(self.engine.journal(eid))

    async def save_history(self, eid: Eid, path: Path) -> None:
        """Record the journal of an execution in a file, for ``flowli.testing.histories``."""
        write_history(path, await self.journal(eid))

    async def check_replays(self) -> None:
        """Replay every execution of this environment.

        Raises:
            NondeterminismError: the code of one went another way than it did; says where.
        """
        for eid in sorted(await self._known()):
            try:
                entries, view = await self.journal(eid), await self.status(eid)
            except UnknownExecution:  # its archive has expired
                continue
            erased = any(isinstance(entry.body, ExecutionErased) for entry in entries)
            parked = any(isinstance(on, OnOperator) for on in view.waits_on)
            workflow = self.engine.registry.find(view.execution.workflow, view.version)
            if entries and workflow is not None and not erased and not parked:
                replay(workflow, entries, registry=self.engine.registry).check()

    async def _known(self) -> set[Eid]:
        """Every execution of this environment, children too."""
        found: set[Eid] = set()
        position, caught_up = BEGINNING, False
        while not caught_up:
            told = await self.clock.drive(self.engine.ports.control.read(after=position))
            found |= {entry.body.eid for entry in told.entries if isinstance(entry.body, ExecutionCreated)}
            position, caught_up = told.position, told.caught_up
        return found

    async def close(self) -> None:
        """Stop the worker."""
        await self.clock.drive(self._worker.drain())


class _Due:
    """The timers and delayed tasks of the environment's bucket, and the sweeper that acts on them."""

    def __init__(self, ports: Ports, queues: tuple[str, ...], sweeper: Sweeper) -> None:
        self._ports = ports
        self._queues = queues
        self._sweeper = sweeper

    async def next_due(self) -> Timestamp | None:
        due = [timer.due_at for timer in await self._ports.timers.pending(limit=1)]
        for queue in self._queues:
            views = await self._ports.queue.list(queue, limit=10_000)
            due += [view.task.not_before for view in views if view.delayed and view.task.not_before is not None]
        return min(due, default=None)

    async def act(self) -> SweepReport:
        return await self._sweeper.sweep_once()
