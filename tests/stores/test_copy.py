"""``flowli bucket copy`` from store to store, and killed in the middle."""

import asyncio
import itertools
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from flowli import CairnBackend, Engine, EngineConfig, Site
from flowli.cli import main
from flowli.domain.ids import Eid
from flowli.world import SYSTEM

from . import shop
from .conftest import EMULATORS, Gate
from .emulators.proxy import Answer, Asked, Forward, passing
from .emulators.service import Service
from .test_engine import PATIENCE_S, Workers


def copy(*arguments: str) -> dict[str, object]:
    """What the command answers, or its error."""
    done = CliRunner().invoke(main.flowli, ["bucket", "copy", *arguments, "--json"], prog_name="flowli")
    answer = json.loads(done.stderr if done.exit_code else done.stdout)
    return answer["error"] if done.exit_code else answer


def cut_over(source: str, target: str) -> dict[str, object]:
    """Finish; leases of executions that ended are not released, and last for a second or two."""
    until = time.monotonic() + PATIENCE_S
    while "is held by" in str((answer := copy(source, target, "--cut-over")).get("message")):
        assert time.monotonic() < until, answer
    assert answer.get("done") is True, answer
    return answer


def engine_on(backend: CairnBackend) -> Engine:
    config = EngineConfig(exec_ttl_s=1.0, task_ttl_s=1.0)
    return Engine(backend.ports, Site.local("w"), registry=shop.registry, config=config)


async def begin(url: str) -> tuple[str, str]:
    """An execution that is done and one that waits."""
    async with CairnBackend.open(url) as backend:
        engine = engine_on(backend)
        done = await engine.start(shop.fulfil, "a", key="k")
        waiting = await engine.start(shop.parcel, "b")
        while (await engine.status(waiting)).status.value != "suspended" or not await ended(engine, done):
            await engine.worker().run_until_idle()
        await engine.close()
        return str(done), str(waiting)


async def ended(engine: Engine, eid: Eid) -> bool:
    """Whether an execution is completed: leases of a second may be lost on a host that stands still."""
    return (await engine.status(eid)).status.value == "completed"


async def end(url: str, done: str, waiting: str) -> None:
    """What was done is known, what waited goes on."""
    async with CairnBackend.open(url) as backend:
        engine = engine_on(backend)
        assert await engine.result(done, timeout=PATIENCE_S) == [f"a-{number}" for number in range(1, 6)]
        assert str(await engine.start(shop.fulfil, "a", key="k")) == done
        await engine.signal(waiting, "arrived", "today")
        while not await ended(engine, Eid(waiting)):
            await engine.worker().run_until_idle()
        assert await engine.result(waiting, timeout=PATIENCE_S) == "b-1 today"
        await engine.close()


async def test_an_installation_travels_through_all_five_stores(services: Callable[[str], Service], tmp_path: Path):
    places = [
        f"memory:{SYSTEM.token()}",
        *(services(scheme).url(SYSTEM.token()) for scheme in EMULATORS),
        f"file:{tmp_path}/bucket?durability=os",
        f"memory:{SYSTEM.token()}",
    ]
    ids = await begin(places[0])
    counts = set()
    for source, target in itertools.pairwise(places):
        moved = await asyncio.to_thread(cut_over, source, target)
        counts.add((moved["keys"], moved["verified"], moved["mended"]))
        said = await asyncio.to_thread(copy, source, f"memory:{SYSTEM.token()}")
        assert "was moved to" in str(said["message"])
    assert len(counts) == 1, "as many objects everywhere"
    await end(places[-1], *ids)


class Killer:
    """Kills a process when so many of its requests have arrived."""

    def __init__(self, nth: int) -> None:
        self.process: subprocess.Popen[bytes] | None = None
        self.ready = threading.Event()
        self._left = nth
        self._lock = threading.Lock()

    def run(self, command: list[str]) -> int:
        """How the process ends."""
        self.process = subprocess.Popen(command, env=dict(os.environ), stderr=subprocess.DEVNULL)
        self.ready.set()
        return self.process.wait(PATIENCE_S)

    def rule(self, asked: Asked, forward: Forward) -> Answer | None:
        with self._lock:
            self._left -= 1
            left = self._left
        if left > 0:
            return forward(asked)
        answer = forward(asked) if left == 0 else None
        self.ready.wait(PATIENCE_S)
        assert self.process is not None
        self.process.send_signal(signal.SIGKILL)
        return answer


@pytest.mark.parametrize("nth", [6, 23])
async def test_a_copy_that_was_killed_goes_on(gate: Gate, tmp_path: Path, nth: int):
    source, target = f"file:{tmp_path}/bucket?durability=os", gate.url()
    ids = await begin(source)
    killer = Killer(nth)
    gate.proxy.rule = killer.rule
    command = [sys.executable, "-m", "flowli.cli", "bucket", "copy", source, target, "--cut-over"]
    assert await asyncio.to_thread(killer.run, command) == -signal.SIGKILL
    gate.proxy.rule = passing
    await asyncio.to_thread(cut_over, source, target)
    await end(target, *ids)


async def test_the_cut_over_is_refused_while_a_worker_holds_an_execution(gate: Gate, tmp_path: Path):
    source, target = gate.url("from"), gate.url("to")
    ids = await begin(source)
    async with CairnBackend.open(source) as backend:
        engine = engine_on(backend)
        eid = await engine.start(shop.parcel, "c")
        lease = await hold(engine, eid)
        said = await asyncio.to_thread(copy, source, target, "--cut-over")
        assert "is held by" in str(said["message"])
        assert (await asyncio.to_thread(copy, source, target))["done"] is False
        await engine.ports.ownership.release(lease)
        await engine.close()
    await asyncio.to_thread(cut_over, source, target)
    await end(target, *ids)


async def hold(engine: Engine, eid):
    """The lease of an execution, held by a process of another host."""
    from flowli.domain.ports import Acquired, Holder

    got = await engine.ports.ownership.acquire(eid, Holder("far", Site("far")), 3600.0)
    assert isinstance(got, Acquired)
    return got.lease


@pytest.mark.parametrize("service", ["s3"], indirect=True)
async def test_a_copy_of_a_bucket_on_which_a_worker_works_misses_nothing(service: Service):
    source, target = service.url(SYSTEM.token()), service.url(SYSTEM.token())
    workers = Workers(source, ttl=2)
    try:
        async with CairnBackend.open(source) as backend:
            engine = engine_on(backend)
            eids = [await engine.start(shop.fulfil, "o0")]
            worker = workers.begin()
            assert len(await engine.result(eids[0], timeout=PATIENCE_S)) == 5
            copying = asyncio.create_task(asyncio.to_thread(copy, source, target))
            eids += [await engine.start(shop.fulfil, f"o{number}") for number in range(1, 6)]
            assert (await copying)["done"] is False
            for eid in eids:
                await engine.result(eid, timeout=PATIENCE_S)
            await engine.close()
        said = await asyncio.to_thread(copy, source, target, "--cut-over")
        assert "is held by" in str(said["message"]), "an idle worker shows a sign of life"
        worker.send_signal(signal.SIGTERM)
        assert await asyncio.to_thread(worker.wait, PATIENCE_S) == 0
    finally:
        workers.end()
    await asyncio.to_thread(cut_over, source, target)
    async with CairnBackend.open(target) as backend:
        other = engine_on(backend)
        for number, eid in enumerate(eids):
            assert await other.result(eid, timeout=PATIENCE_S) == [f"o{number}-{step}" for step in range(1, 6)]
