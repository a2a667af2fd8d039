"""Failure cases that the engine meets on every store, beside those of the other files.

=====  =====================================================================================
K01    ``test_lost_answers`` (every request of an execution), ``test_answers``
K02    ``test_answers`` (409 up to five times, on create and on swap)
K03    ``test_conformance`` (the table of outcomes), ``test_answers`` (deleted, foreign)
K04    here (tasks, timers, starts), ``test_places`` (slots of a log)
K05    ``test_places`` (one write a second; everything throttled for a while)
K06    ``test_answers`` (create and delete), here (swaps only)
K08    ``test_places`` (more than a page), here (pages of three, late keys)
K09    here (an idle worker and sweeper; an execution that waits)
K10    ``test_places``, ``test_conformance``
=====  =====================================================================================
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator

import pytest

from flowli import CairnBackend, Engine, EngineConfig, Site
from flowli.cairn.store import ObjectStore
from flowli.cairn.write import Won
from flowli.domain.errors import BackendRefused
from flowli.stores import open_store
from flowli.testing.clock import ManualClock, ManualWorld
from flowli.testing.stores import CountingStore, CutListing, Fault, FaultStore
from flowli.world import SYSTEM, World

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


@pytest.fixture
async def store(url: str) -> AsyncIterator[ObjectStore]:
    opened = open_store(url)
    yield opened
    await opened.close()


def engine_on(store: ObjectStore, world: World = SYSTEM, **config: float) -> Engine:
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


async def test_a_stalled_writer_that_refills_what_clean_up_emptied_starts_nothing_twice(store, ledger):
    """K04: the creates of a task and of a timer arrive when the execution is done, archived and cleaned up."""
    engine = engine_on(store, hold_s=0.0)
    eid = await engine.start(shop.nap, "a", 1.0, key="k")
    late = await stored(store, "wf/queues/")
    await engine.worker().run_until_idle()
    late |= await stored(store, "wf/timers/")
    assert {key.split("/")[1] for key in late} == {"queues", "timers"}
    result = asyncio.ensure_future(engine.result(eid, timeout=30))
    while not result.done():
        await engine.sweeper().sweep_once()
        await engine.worker().run_until_idle()
    assert await result == "a-1"
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


async def test_listings_of_three_keys_hide_nothing(store, ledger):
    """K08: eight tasks and four timers, and one that another process adds after the first listing."""
    cut = FaultStore(store, [Fault(CutListing(3), verb="list", times=1_000_000)])
    engine, other = engine_on(cut, hold_s=0.0), engine_on(store)
    names = [f"n{number}" for number in range(8)]
    eids = [await engine.start(shop.fulfil, name, 1) for name in names]
    naps = [await engine.start(shop.nap, f"t{number}", 0.01) for number in range(4)]
    await engine.worker().run_until_idle()
    late = await other.start(shop.fulfil, "late", 1)
    await SYSTEM.sleep(0.02)
    await engine.sweeper().sweep_once()
    await engine.worker().run_until_idle()
    for eid in (*eids, *naps, late):
        assert (await engine.status(eid)).status.value == "completed"
    assert done(ledger) == dict.fromkeys([*(f"{n} 1" for n in names), *(f"t{n} 1" for n in range(4)), "late 1"], 1)
    await other.close()
    await engine.close()


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
