"""Failure cases that the engine meets on every store, beside those of the other files.

=====  ==========================================================================================
K01    ``test_lost_answers`` (clouds), ``tests/cases/test_writes`` (memory, file)
K02    ``test_answers`` (clouds, 409 up to five times), ``tests/cases/test_writes`` (memory, file)
K03    ``test_conformance`` (the table of outcomes), ``test_answers`` (deleted, foreign)
K04    here (tasks, timers, starts), ``test_places`` (slots of a log)
K05    ``test_throttles`` (one write a second of a key; everything throttled for ten seconds)
K06    here (swaps on the clouds; all three in memory and in a folder), ``test_answers`` (clouds)
K08    here (more tasks and timers than a page, late keys), ``test_places`` (more keys than one)
K09    here (an idle worker and sweeper; an execution that waits)
K10    ``test_places``, ``test_conformance``; ``tests/cases/test_names_and_pages`` (ids)
=====  ==========================================================================================

Time is that of the test, except where a real process or a real service tells it.
"""

import asyncio
from collections import Counter

import pytest

from flowli import CairnBackend, Engine, EngineConfig, Site
from flowli.cairn.store import ObjectStore
from flowli.cairn.write import Won
from flowli.domain.errors import BackendRefused
from flowli.domain.timers import Timer
from flowli.stores import open_store
from flowli.testing.clock import ManualClock, ManualWorld
from flowli.testing.stores import CountingStore, CutListing, Fault, FaultStore
from flowli.testing.suites.port_suite import after_s, new_eid
from flowli.testing.suites.queue_base import task_for
from flowli.world import World

from . import shop
from .conftest import Gate
from .emulators.answers import ignoring_conditions
from .emulators.azurite import sas_token
from .emulators.proxy import Asked


@pytest.fixture
def ledger(tmp_path, monkeypatch):
    path = tmp_path / "ledger"
    monkeypatch.setenv(shop.LEDGER, str(path))
    return path


def done(ledger) -> Counter[str]:
    """How often each step ran."""
    lines = ledger.read_text().splitlines() if ledger.exists() else []
    return Counter(" ".join(line.split()[:2]) for line in lines)


def engine_on(store: ObjectStore, world: World, **config: float) -> Engine:
    backend = CairnBackend(store, world=world)
    return Engine(backend.ports, Site.local("w"), registry=shop.registry, config=EngineConfig(**config), world=world)


async def stored(store: ObjectStore, prefix: str) -> dict[str, bytes]:
    """What is under a prefix."""
    found = {}
    for one in (await store.list(prefix)).items:
        body = await store.get(one.key)
        if body is not None:
            found[one.key] = body.data
    return found


async def test_a_stalled_writer_that_refills_what_clean_up_emptied_starts_nothing_twice(url, ledger):
    """K04: the creates of a task and of a timer arrive when the execution is done, archived and cleaned up."""
    clock = ManualClock()
    world = ManualWorld(clock)
    store = open_store(url, world=world)
    engine = engine_on(store, world, hold_s=0.0)

    async def stall() -> None:
        eid = await engine.start(shop.nap, "a", 1.0, key="k")
        late = await stored(store, "wf/queues/")
        await engine.worker().run_until_idle()
        late |= await stored(store, "wf/timers/")
        assert {key.split("/")[1] for key in late} == {"queues", "timers"}
        await world.sleep(2)
        await engine.sweeper().sweep_once()
        await engine.worker().run_until_idle()
        assert await engine.result(eid, timeout=30) == "a-1"
        await engine.retention(0).run_once()
        for key, data in late.items():
            assert isinstance(await store.put(key, data, if_absent=True), Won), "the slot was empty"
        assert await engine.start(shop.nap, "a", 1.0, key="k") == eid, "a late start finds the one that was"
        for _ in range(2):
            await engine.sweeper().sweep_once()
            await engine.worker().run_until_idle()
        assert done(ledger) == {"a 1": 1}
        assert not await stored(store, "wf/queues/default/ready/")
        assert not await stored(store, "wf/timers/")
        assert (await engine.status(eid)).status.value == "completed"
        await engine.close()

    await clock.run(stall())
    await store.close()


async def test_what_lies_beyond_the_first_page_is_done_too(url, ledger):
    """K08: seven tasks, then seven timers, three keys a page, and a task of another process after the first look."""
    clock = ManualClock()
    world = ManualWorld(clock)
    store = open_store(url, world=world)
    cut = FaultStore(store, [Fault(CutListing(3), verb="list", times=1_000_000)])
    engine, other = engine_on(cut, world, hold_s=0.0), engine_on(store, ManualWorld(clock, name="other"))
    names = [f"n{n}" for n in range(7)]

    async def beyond() -> None:
        eids = [await engine.start(shop.nap, name, 60.0) for name in names]
        await engine.worker().run_until_idle()
        assert done(ledger) == {}
        late = await other.start(shop.fulfil, "late", 1)
        await engine.worker().run_until_idle()
        assert done(ledger) == {"late 1": 1}
        await world.sleep(60)
        assert (await engine.sweeper().sweep_once()).timers == len(names), "the last one in the same pass"
        await engine.worker().run_until_idle()
        assert done(ledger) == dict.fromkeys([*(f"{name} 1" for name in names), "late 1"], 1)
        for eid in (*eids, late):
            assert (await engine.status(eid)).status.value == "completed"
        await other.close()
        await engine.close()

    await clock.run(beyond())
    await store.close()


MANY = {"memory": (1005, 1000), "file": (1005, 1000), "s3": (55, 50), "az": (55, 50), "gs": (55, 50)}
"""How many tasks and timers, and how many keys a page holds: on the emulators so few that it takes no minute."""


async def test_a_queue_of_more_than_a_page_is_emptied_and_its_last_timer_is_found(url):
    """K08: 1,005 of each where the store answers in no time, one more put by another process after the first look."""
    number, page = MANY[url.partition(":")[0]]
    clock = ManualClock()
    world = ManualWorld(clock)
    cut = FaultStore(open_store(url, world=world), [Fault(CutListing(page), verb="list", times=1_000_000)])
    backend = CairnBackend(cut, world=world)
    queue, timer = backend.ports.queue, backend.ports.timers
    tasks = [task_for(f"k{n}", at_s=n) for n in range(number + 1)]
    timers = [Timer(after_s(n), new_eid(), "root/a#1") for n in range(number)]

    async def empty() -> None:
        await asyncio.gather(*(queue.enqueue(one) for one in tasks[:number]), *(timer.set(one) for one in timers))
        taken = list(await queue.dequeue("finance", "w", 600.0, limit=10))
        await queue.enqueue(tasks[number])
        while len(taken) <= number:
            some = await queue.dequeue("finance", "w", 600.0, limit=100)
            taken += some
            await world.sleep(0 if some else 5)
        assert {lease.task.task_id for lease in taken} == {one.task_id for one in tasks}
        assert len(taken) == len(tasks)
        assert list(await timer.due(after_s(number), limit=2 * number)) == timers

    await clock.run(empty())
    await backend.close()


async def test_idle_workers_keep_to_the_budget_and_a_waiting_execution_costs_nothing(url):
    """K09: five minutes, by the clock of the test, with the requests of the real store."""
    clock = ManualClock()
    world = ManualWorld(clock)
    counted = CountingStore(open_store(url, world=world))
    engine = engine_on(counted, world, poll_s=5.0)

    async def wait() -> tuple[int, int]:
        await engine.start(shop.parcel, "b")
        await engine.worker().run_until_idle()
        await engine.sweeper().sweep_once()
        begun = counted.snapshot()
        worker = asyncio.create_task(engine.worker().run())
        await world.sleep(300)
        worker.cancel()
        await asyncio.gather(worker, return_exceptions=True)
        return begun, counted.snapshot()

    begun, ended = await clock.run(wait())
    counts = counted.since(begun)
    assert counts.list <= 720 / 12 + 2
    assert counts.put <= 60 / 12 + 4
    assert counts.get <= 720 / 12 + 4, "the settings of the queue"
    assert ended - begun == counts.list + counts.put + counts.get + counts.delete
    touched = {one.key for one in counted.requests[begun:] if one.verb in ("put", "delete")}
    assert not [key for key in touched if key.startswith(("wf/waits/", "wf/timers/", "logs/wf.exec."))]
    await counted.close()


def swaps(asked: Asked) -> bool:
    """A write on the condition that a version is there."""
    if asked.method == "POST":
        return "ifGenerationMatch=" in asked.query and "ifGenerationMatch=0" not in asked.query
    return asked.method == "PUT" and any(name.lower() == "if-match" for name, _ in asked.headers)


async def test_a_store_that_ignores_conditions_of_swaps_is_refused_by_name(gate: Gate, monkeypatch):
    """K06."""
    if gate.service.scheme == "az":
        monkeypatch.delenv("AZURE_STORAGE_KEY")
        monkeypatch.setenv("AZURE_STORAGE_SAS_TOKEN", sas_token())
    gate.proxy.rule = ignoring_conditions(swaps)
    backend = CairnBackend.open(gate.url())
    with pytest.raises(BackendRefused, match="fails the check 'stale compare-and-swap'"):
        await backend.check()
    await backend.close()


class Careless(CountingStore):
    """The conditions on some requests are not evaluated."""

    ignored = ""

    async def put(self, key: str, data: bytes, *, if_absent: bool = False, if_version: str | None = None):
        if_absent = if_absent and self.ignored != "create"
        return await super().put(key, data, if_absent=if_absent, if_version=self._kept("swap", if_version))

    async def delete(self, key: str, *, if_version: str | None = None):
        return await super().delete(key, if_version=self._kept("delete", if_version))

    def _kept(self, verb: str, version: str | None) -> str | None:
        return None if self.ignored == verb else version


@pytest.mark.parametrize(
    ("ignored", "check"),
    [("create", "put-if-absent"), ("swap", "stale compare-and-swap"), ("delete", "stale delete")],
)
@pytest.mark.parametrize("url", ["memory", "file"], indirect=True)
async def test_a_local_store_that_ignores_conditions_is_refused_by_name(url, ignored, check):
    """K06."""
    store = Careless(open_store(url))
    store.ignored = ignored
    backend = CairnBackend(store)
    with pytest.raises(BackendRefused, match=f"fails the check '{check}'"):
        await backend.check()
    await backend.close()
