"""K05 on all five stores: a refusal for being too quick delays and never fails. Time is that of the test."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from typing import TypeVar

import pytest

from flowli import CairnBackend, Context, Engine, EngineConfig, Registry, Site
from flowli.cairn.errors import StoreThrottled
from flowli.cairn.store import ObjectStore
from flowli.domain.entries import JournalEntry
from flowli.stores import open_store
from flowli.testing.clock import ManualClock, ManualWorld
from flowli.testing.stores import CountingStore, Request
from flowli.world import SYSTEM

from .conftest import STORES, Gate
from .emulators.answers import answer
from .emulators.proxy import Answer, Asked, Forward, proxy

T = TypeVar("T")
STEPS = 20
TTL_S = 6.0
LONG_S = 10.0
TOO_QUICK = StoreThrottled("The store takes fewer requests than it gets", "Try again later")


class OneWriteASecond:
    """What Google says of an object that was written less than a second ago; here the others say it too."""

    def __init__(self, clock: ManualClock) -> None:
        self.refused = self.passed = 0
        self._clock = clock
        self._last: dict[str, int] = {}

    def __call__(self, verb: str, key: str) -> bool:
        """Whether a request is too quick."""
        if verb != "put":
            return False
        if self._clock.elapsed_us - self._last.get(key, -1_000_000) < 1_000_000:
            self.refused += 1
            return True
        self._last[key] = self._clock.elapsed_us
        self.passed += 1
        return False


class AllFor:
    """Every request is too quick for a while, from the first one on."""

    def __init__(self, clock: ManualClock) -> None:
        self.refused = 0
        self._clock = clock
        self._until_us: int | None = None

    def __call__(self, verb: str, key: str) -> bool:
        """Whether a request is too quick."""
        if self._until_us is None:
            self._until_us = self._clock.elapsed_us + round(LONG_S * 1_000_000)
        if self._clock.elapsed_us >= self._until_us:
            return False
        self.refused += 1
        return True


Quick = OneWriteASecond | AllFor


class Throttled(CountingStore):
    """The store inside, which refuses what is too quick."""

    quick: Quick | None = None

    async def _through(self, request: Request, apply: Callable[[], Awaitable[T]]) -> T:
        if self.quick is not None and self.quick(request.verb, request.key):
            raise TOO_QUICK
        return await apply()


def on_the_wire(gate: Gate, quick: Quick, kind: str) -> None:
    """The service refuses what is too quick, in its own words."""
    scheme = gate.service.scheme

    def rule(asked: Asked, forward: Forward) -> Answer:
        verb = "put" if asked.method in ("PUT", "POST") else "other"
        key = asked.path
        if asked.method == "POST" and scheme == "gs":
            key = json.loads(asked.body.split(b"\r\n\r\n")[1].partition(b"\r\n")[0])["name"]
        return answer(scheme, kind) if quick(verb, key) else forward(asked)

    gate.proxy.rule = rule


class Bench:
    """One of the five stores under the clock of the test."""

    def __init__(self, url: str, gate: Gate | None) -> None:
        self.clock = ManualClock()
        self.world = ManualWorld(self.clock)
        self._gate = gate
        self._store = Throttled(open_store(url, world=self.world))
        self.backend = CairnBackend(self.store, world=self.world)

    @property
    def store(self) -> ObjectStore:
        return self._store

    def throttle(self, quick: Quick, kind: str) -> None:
        if self._gate is None:
            self._store.quick = quick
        else:
            on_the_wire(self._gate, quick, kind)

    def engine(self, registry: Registry) -> Engine:
        config = EngineConfig(exec_ttl_s=TTL_S, task_ttl_s=TTL_S)
        return Engine(self.backend.ports, Site.local("w"), registry=registry, config=config, world=self.world)


@pytest.fixture(params=STORES)
def bench(request: pytest.FixtureRequest, tmp_path, services) -> Iterator[Bench]:
    if request.param == "memory":
        yield Bench(f"memory:{SYSTEM.token()}", None)
    elif request.param == "file":
        yield Bench(f"file:{tmp_path}/bucket?durability=os", None)
    else:
        service = services(request.param)
        with proxy(service.port) as one:
            gate = Gate(service, one, SYSTEM.token())
            yield Bench(gate.url(), gate)


def twenty_steps(world: ManualWorld) -> Registry:
    """A workflow of ten steps that take no time and ten of a second, so that leases are renewed meanwhile."""
    registry = Registry()

    async def work(number: int) -> int:
        await world.sleep(1.0 if number >= STEPS / 2 else 0.0)
        return number

    @registry.workflow(name="twenty")
    async def twenty(ctx: Context) -> list[int]:
        return [await ctx.step(work, number) for number in range(STEPS)]

    return registry


async def run_throttled(bench: Bench, quick: Quick, kind: str, *, from_start: bool) -> tuple[JournalEntry, ...]:
    """Twenty steps on a store that is throttled from before the start on, or from after it."""
    registry = twenty_steps(bench.world)

    async def run() -> tuple[JournalEntry, ...]:
        await bench.backend.check()
        engine = bench.engine(registry)
        if from_start:
            bench.throttle(quick, kind)
        eid = await engine.start("twenty")
        if not from_start:
            bench.throttle(quick, kind)
        worker = asyncio.create_task(engine.worker().run())
        assert await engine.result(eid, timeout=300) == list(range(STEPS))
        worker.cancel()
        await asyncio.gather(worker, return_exceptions=True)
        entries = (await bench.backend.ports.journal.read(eid)).entries
        await engine.close()
        return entries

    entries = await bench.clock.run(run(), limit_s=600)
    await bench.backend.close()
    return entries


async def test_a_store_that_takes_one_write_a_second_of_a_key_loses_no_lease(bench: Bench, record_property):
    """Slower, never failed; renewals get through; no storm of tries."""
    slow = OneWriteASecond(bench.clock)
    entries = await run_throttled(bench, slow, "throttle", from_start=True)
    assert len({one.by.site.epoch for one in entries} - {None, 0}) == 1
    scheme = bench.store.url.partition(":")[0]
    told = f"{slow.passed}, {slow.refused} refused, {bench.clock.elapsed_us / 1_000_000:.1f} s of the test's clock"
    record_property(f"writes of {STEPS} steps at one a second of a key on {scheme}", told)
    assert 0 < slow.refused <= slow.passed


async def test_a_store_that_throttles_everything_for_ten_seconds_only_delays(bench: Bench):
    whole = AllFor(bench.clock)
    entries = await run_throttled(bench, whole, "busy", from_start=False)
    assert [type(one.body).__name__ for one in entries].count("ExecutionCompleted") == 1
    assert 0 < whole.refused < 120
