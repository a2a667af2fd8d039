"""Sync steps in the worker's threads, in real time: what a manual clock cannot show."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from typing import Any

import pytest

from flowli import Context, Registry, RetryPolicy, StepFailed, check_cancelled, heartbeat, step_info
from flowli.adapters.cairndb import CairnBackend
from flowli.domain.errors import Cancelled, ExecutionCancelled
from flowli.domain.provenance import Site
from flowli.runtime.config import EngineConfig
from flowli.runtime.engine import Engine
from flowli.runtime.worker.worker import Worker

registry = Registry()
gate = threading.Event()
log: list[str] = []


def polite(seconds: float = 10.0) -> str:
    """Stops when nobody waits for it any more."""
    log.append("begins")
    try:
        for _ in range(int(seconds * 200)):
            if gate.wait(0.005):
                return "opened"
            check_cancelled()
    except Cancelled:
        log.append("stops")
        raise
    return "late"


def deaf() -> str:
    """Does not look."""
    log.append("begins")
    gate.wait(10)
    log.append("ends")
    return "too late"


def beats() -> str:
    heartbeat({"half": True})
    return threading.current_thread().name


@registry.workflow
async def one(ctx: Context, name: str, timeout: float | None = None) -> str:
    step: Any = {"polite": polite, "deaf": deaf, "beats": beats}[name]
    options: dict[str, Any] = {} if timeout is None else {"timeout": timeout}
    try:
        return str(await ctx.step(step, retry=RetryPolicy(1), **options))
    except StepFailed as error:
        return error.error.message


@registry.workflow
async def info(ctx: Context) -> list[str]:
    def look() -> str:
        return f"{step_info().fid} {threading.current_thread().name.split('_')[0]}"

    return [await ctx.step(look), *await ctx.gather(*(ctx.step(look) for _ in range(3)))]


@pytest.fixture
async def engine() -> AsyncIterator[Engine]:
    gate.clear()
    log.clear()
    backend = CairnBackend.open("memory:")
    yield Engine(backend.ports, Site.local("w"), registry=registry, config=EngineConfig(step_threads=4))
    gate.set()
    await backend.close()


@pytest.fixture
async def worker(engine: Engine) -> AsyncIterator[Worker]:
    made = engine.worker()
    running = asyncio.create_task(made.run())
    yield made
    gate.set()
    made.stop()
    await running


async def until(condition: Any) -> None:
    for _ in range(2000):
        if condition():
            return
        await asyncio.sleep(0.005)
    raise AssertionError("it never came to this")


async def test_sync_steps_run_in_threads_that_know_their_step(engine: Engine, worker: Worker) -> None:
    """STP-1."""
    found = await engine.run("info")
    assert found == [f"root/look#{n} flowli-step" for n in range(1, 5)]


async def test_a_heartbeat_of_a_thread_is_taken(engine: Engine, worker: Worker) -> None:
    """STP-11."""
    assert (await engine.run("one", "beats")).startswith("flowli-step")


async def test_a_cancel_is_seen_by_a_thread_that_looks(engine: Engine, worker: Worker) -> None:
    """STP-5."""
    eid = await engine.start("one", "polite")
    await until(lambda: "begins" in log)
    await engine.cancel(eid, "stop")
    with pytest.raises(ExecutionCancelled):
        await engine.result(eid)
    await until(lambda: "stops" in log)
    await until(lambda: worker.stray_steps == 0)


async def test_a_thread_that_timed_out_runs_on_and_is_counted(engine: Engine, worker: Worker) -> None:
    """STP-4."""
    assert "its timeout of 0.05 s" in await engine.run("one", "deaf", 0.05)
    assert worker.stray_steps == 1
    gate.set()
    await until(lambda: worker.stray_steps == 0)
    assert log == ["begins", "ends"]


async def test_a_drain_does_not_wait_for_a_thread_that_does_not_look(engine: Engine, worker: Worker) -> None:
    eid = await engine.start("one", "deaf")
    await until(lambda: "begins" in log)
    async with asyncio.timeout(60):
        await worker.drain(grace_s=0.05)
    status = await engine.status(eid)
    assert status.status == "suspended"
    assert status.waits_on == ()


async def test_threads_beyond_their_number_wait_their_turn(engine: Engine, worker: Worker) -> None:
    """WRK-5."""
    eids = [await engine.start("one", "polite") for _ in range(8)]
    await until(lambda: log.count("begins") == 4)
    await asyncio.sleep(0.05)
    assert log.count("begins") == 4
    gate.set()
    assert [await engine.result(eid) for eid in eids] == ["opened"] * 8
