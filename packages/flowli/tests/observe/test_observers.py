"""Observers in process: told everything in order, never able to stop or slow the engine."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest
from structlog.testing import capture_logs

from flowli.adapters.memory import MemoryBackend
from flowli.descriptors import ObserverType
from flowli.domain.errors import LeaseLost, NonRetryableError, UsageError
from flowli.domain.execution import ExecutionStatus
from flowli.domain.provenance import Site
from flowli.domain.retry import RetryPolicy
from flowli.plugins import Manager
from flowli.runtime import Context, Engine, EngineConfig, Registry
from flowli.runtime.observe import observers as collecting
from flowli.runtime.observe.events import (
    AttemptBegan,
    AttemptEnded,
    AttemptOutcome,
    Change,
    Event,
    ExecutionChanged,
    LeaseWasLost,
    StepRetries,
    Swept,
    TaskSetAside,
    TaskTaken,
)
from flowli.runtime.worker.executions import Executions
from flowli.runtime.worker.fates import SetAside
from flowli.runtime.worker.worker import Worker
from flowli.testing.clock import ManualClock, ManualWorld

registry = Registry()
tries: list[int] = []


def flaky() -> str:
    tries.append(1)
    if len(tries) < 2:
        raise ValueError("not yet")
    return "there"


def fatal() -> None:
    raise NonRetryableError("never")


@registry.workflow
async def journey(ctx: Context) -> str:
    got: str = await ctx.step(flaky, retry=RetryPolicy(max_attempts=3))
    await ctx.receive("go")
    return got


@registry.workflow
async def doomed(ctx: Context) -> None:
    await ctx.step(fatal)


class Notes:
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    async def observe(self, event: Event) -> None:
        self.events.append(event)

    def of(self, kind: type[Any]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]

    @property
    def changes(self) -> list[Change]:
        return [event.change for event in self.of(ExecutionChanged)]


class PlainNotes(Notes):
    """The same, blocking."""

    def observe(self, event: Event) -> None:  # type: ignore[override]
        self.events.append(event)


class Bad(Notes):
    async def observe(self, event: Event) -> None:
        await super().observe(event)
        raise RuntimeError("the observer is broken")


class Bench:
    def __init__(self, *observers: Any, name: str = "w") -> None:
        self.clock = ManualClock()
        self.ports = MemoryBackend(ManualWorld(self.clock)).ports
        self.engine = self.new(*observers, name=name)

    def new(self, *observers: Any, name: str = "w", bound: int | None = None) -> Engine:
        world = ManualWorld(self.clock, name=name)
        config = EngineConfig(hold_s=0.0)
        return Engine(self.ports, Site(name), registry=registry, config=config, world=world, observers=observers)

    async def work(self, engine: Engine | None = None) -> None:
        worker = (engine or self.engine).worker()
        await self.clock.run(worker.run_until_idle())
        await self.clock.run(worker.drain())
        await self.clock.run((engine or self.engine).close())


@pytest.fixture(autouse=True)
def fresh() -> None:
    tries.clear()


@pytest.mark.parametrize("kind", [Notes, PlainNotes])
async def test_an_observer_is_told_the_whole_life_of_an_execution_in_order(kind: Callable[[], Notes]) -> None:
    notes = kind()
    bench = Bench(notes)
    eid = await bench.engine.start(journey)
    await bench.work()
    await bench.clock.advance(5)
    await bench.clock.run(bench.engine.sweeper().sweep_once())
    await bench.work()
    await bench.engine.signal(eid, "go")
    await bench.work()
    assert await bench.engine.result(eid, timeout=1) == "there"
    assert notes.changes[:2] == [Change.CREATED, Change.STARTED]
    assert notes.changes.count(Change.SUSPENDED) == 2
    assert notes.changes[-1] is Change.COMPLETED
    assert {event.workflow for event in notes.of(ExecutionChanged)} == {"journey"}
    seqs = [event.journal_seq for event in notes.of(ExecutionChanged)[1:]]
    assert seqs == sorted(set(seqs))
    assert [event.attempt for event in notes.of(AttemptBegan)] == [1, 2]
    ended = [(event.outcome, event.error_type) for event in notes.of(AttemptEnded)]
    assert ended == [(AttemptOutcome.RAISED, "builtins.ValueError"), (AttemptOutcome.RETURNED, "")]
    (retries,) = notes.of(StepRetries)
    assert (retries.attempt, retries.error.message) == (1, "not yet")
    assert next(event.kind for event in notes.of(TaskTaken)) == "START"


async def test_a_replay_tells_nothing() -> None:
    notes = Notes()
    bench = Bench()
    eid = await bench.engine.start(journey)
    tries.append(1)
    await bench.work()
    other = bench.new(notes, name="other")
    await other.signal(eid, "go")
    await bench.work(other)
    assert await other.result(eid, timeout=1) == "there"
    assert notes.of(AttemptBegan) == []
    assert notes.changes[-1] is Change.COMPLETED
    assert Change.STARTED not in notes.changes


async def test_a_failing_observer_is_reported_once_and_the_others_are_told_everything() -> None:
    bad, notes = Bad(), Notes()
    bench = Bench(bad, notes)
    with capture_logs() as logs:
        eid = await bench.engine.start(doomed)
        await bench.work()
    assert len(bad.events) == 1
    assert [log["event"] for log in logs if "observer" in log["event"]] == [
        "an observer failed; it is told nothing more"
    ]
    assert notes.changes[-1] is Change.FAILED
    assert (await bench.engine.status(eid)).status is ExecutionStatus.FAILED


async def test_an_observer_that_exits_does_not_end_the_engine() -> None:
    class Exits(Notes):
        async def observe(self, event: Event) -> None:
            raise SystemExit(3)

    bench = Bench(Exits())
    eid = await bench.engine.start(doomed)
    await bench.work()
    assert (await bench.engine.status(eid)).status is ExecutionStatus.FAILED


async def test_an_observer_that_never_returns_holds_up_nothing_and_its_queue_is_bounded() -> None:
    class Stuck(Notes):
        async def observe(self, event: Event) -> None:
            await super().observe(event)
            await asyncio.Event().wait()

    stuck, clock = Stuck(), ManualClock()
    told = collecting.Observers(ManualWorld(clock), [stuck], bound=3)
    event = Swept(ManualWorld(clock).now(), {"timers": 1})
    with capture_logs() as logs:
        for _ in range(10):
            told.tell(event)
        await clock.settle()
        await clock.run(told.drain())
    assert len(stuck.events) == 1
    assert [log["event"] for log in logs] == [
        "an observer is too slow; it misses events",
        "an observer does not come to an end; it misses events",
    ]


async def test_a_plain_observer_runs_beside_the_loop() -> None:
    from flowli.world import SYSTEM

    threads: list[str] = []
    leave = threading.Event()

    class Blocks:
        def observe(self, event: Event) -> None:
            threads.append(threading.current_thread().name)
            leave.wait()

    told = collecting.Observers(SYSTEM, [Blocks()])
    told.tell(Swept(SYSTEM.now(), {"timers": 1}))
    await asyncio.sleep(0)  # the task of the observer begins
    leave.set()  # only reached because the loop is not what blocks
    await told.drain()
    assert threads[0].startswith("flowli-observer")


async def test_what_is_no_observer_is_refused() -> None:
    with pytest.raises(UsageError, match="it needs a method observe"):
        Bench(object())


async def test_observers_of_plugins_are_collected_once_and_broken_ones_are_skipped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    notes, loads = Notes(), []

    class Plugins(Manager):
        def __init__(self) -> None:
            pass

        def load_each(self, kind: Any) -> Any:
            loads.append(kind)
            return {"notes": notes, "odd": object()}

    monkeypatch.setattr("flowli.plugins.manager", Plugins)
    bench = Bench()
    with capture_logs() as logs:
        await bench.engine.start(doomed)
        await bench.work()
    assert loads == [ObserverType]
    assert notes.changes[-1] is Change.FAILED
    assert [log["name"] for log in logs if "observe(event)" in log["event"]] == ["odd"]


async def test_operators_verbs_are_told_where_they_are_done() -> None:
    notes = Notes()
    bench = Bench()
    eid = await bench.engine.start(journey)
    tries.append(1)
    await bench.work()
    operator = bench.new(notes, name="operator")
    await operator.terminate(eid, "enough")
    await bench.clock.run(operator.close())
    assert notes.changes[-1] is Change.CANCELLED
    assert notes.of(ExecutionChanged)[-1].reason == "enough"


async def test_a_pass_of_the_sweeper_that_did_something_is_told() -> None:
    notes = Notes()
    bench = Bench(notes)
    await bench.engine.start(journey)
    await bench.work()
    await bench.clock.advance(5)
    await bench.clock.run(bench.engine.sweeper().sweep_once())
    await bench.clock.run(bench.engine.close())
    assert [dict(event.actions) for event in notes.of(Swept)] == [{"timers": 1}]


async def test_a_lost_lease_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    notes = Notes()
    bench = Bench(notes)
    eid = await bench.engine.start(journey)

    async def lost(self: Executions, *args: Any) -> None:
        raise LeaseLost("somebody else has it")

    monkeypatch.setattr(Executions, "_run", lost)
    await bench.clock.run(bench.engine.worker().run_once())
    await bench.clock.run(bench.engine.close())
    (event,) = notes.of(LeaseWasLost)
    assert (event.eid, event.reason) == (eid, "somebody else has it")


async def test_a_dead_letter_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    notes = Notes()
    bench = Bench(notes)
    eid = await bench.engine.start(journey)

    async def deadly(self: Worker, guard: Any) -> SetAside:
        return SetAside("it brings workers down")

    monkeypatch.setattr(Worker, "_fate", deadly)
    await bench.work()
    (event,) = notes.of(TaskSetAside)
    assert (event.eid, event.queue, event.cause) == (eid, "default", "it brings workers down")
    assert notes.changes[-1] is Change.SUSPENDED
