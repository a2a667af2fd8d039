"""Worker processes that share a folder, block, freeze, are asked to stop and are killed."""

from __future__ import annotations

import asyncio
import random
import signal
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from flowli.domain.entries import ExecutionResumed

if TYPE_CHECKING:
    from conftest import Fleet


async def until(condition: Callable[[], Awaitable[bool]], limit_s: float = 120.0) -> None:
    deadline = time.monotonic() + limit_s
    while not await condition():
        assert time.monotonic() < deadline, f"not within {limit_s} s"
        await asyncio.sleep(0.05)


def ran(fleet: Fleet, times: int) -> Callable[[], Awaitable[bool]]:
    async def enough() -> bool:
        return len(fleet.runs()) >= times

    return enough


async def test_two_workers_complete_500_executions_of_5_steps(fleet: Fleet) -> None:
    eids = await asyncio.gather(*(fleet.engine.start("five", n, version="1") for n in range(500)))
    fleet.worker("w-1")
    fleet.worker("w-2")
    values = [await fleet.engine.result(eid, 240) for eid in eids]
    assert values == [n + 5 for n in range(500)]
    assert await fleet.prove(eids) == 0
    runs = fleet.runs()
    assert len(runs) == 2500
    assert len({run.pid for run in runs}) == 2, "both took part"
    await until(fleet.nothing_left)


async def test_twenty_kills_at_random_points_lose_and_repeat_nothing(
    fleet: Fleet, record_property: Callable[[str, object], None]
) -> None:
    """WRK-8."""
    chance = random.Random(7)
    eids = await asyncio.gather(*(fleet.engine.start("five", n, version="1") for n in range(500)))
    workers = [fleet.worker("w-0", "--with-sweeper"), fleet.worker("w-1", "--with-sweeper")]
    kills = 0
    while kills < 20:
        before = len(fleet.runs())
        await until(ran(fleet, before + chance.randrange(1, 60)))
        await asyncio.sleep(chance.random() * 0.05)
        victim = chance.randrange(2)
        workers[victim].kill()
        workers[victim].wait()
        kills += 1
        workers[victim] = fleet.worker(f"w-{kills + 1}", "--with-sweeper")
    values = [await fleet.engine.result(eid, 240) for eid in eids]
    assert values == [n + 5 for n in range(500)]
    again = await fleet.prove(eids)
    record_property("kills of a worker: steps under way that ran again, of 2500", again)
    await until(fleet.nothing_left)
    assert await fleet.backend.ports.queue.dead("default") == []


async def test_a_step_that_blocks_the_loop_for_longer_than_the_ttl_keeps_its_lease(fleet: Fleet) -> None:
    """OWN-14, K12."""
    eid = await fleet.engine.start("blocking", 5.0, version="1")
    fleet.worker("w-1", ttl_s=2.0)
    await until(ran(fleet, 1))
    fleet.worker("w-2", "--with-sweeper", ttl_s=2.0)
    assert await fleet.engine.result(eid, 120) == ["blocked", "burnt"]
    assert [run.epoch for run in fleet.runs()] == [1, 1]
    entries = await fleet.journal(eid)
    assert not any(isinstance(entry.body, ExecutionResumed) for entry in entries), "nobody took it over"


async def test_a_stopped_process_is_taken_over_and_does_no_harm_when_it_goes_on(fleet: Fleet) -> None:
    """OWN-20."""
    eid = await fleet.engine.start("resting", 3.0, version="1")
    first = fleet.worker("w-1", ttl_s=1.5)
    await until(ran(fleet, 1))
    first.send_signal(signal.SIGSTOP)
    fleet.worker("w-2", "--with-sweeper", ttl_s=1.5)
    assert await fleet.engine.result(eid, 120) == "rested"
    before = await fleet.journal(eid)
    first.send_signal(signal.SIGCONT)

    async def noticed() -> bool:
        return "left to expire" in fleet.log("w-1") or "not acked" in fleet.log("w-1")

    await until(noticed)
    assert await fleet.journal(eid) == before
    assert [run.epoch for run in fleet.runs()] == [1, 2]


async def test_sigterm_hands_over_and_exits_cleanly(fleet: Fleet) -> None:
    """WRK-3."""
    waiting = await fleet.engine.start("waiting", version="1")
    resting = await fleet.engine.start("resting", 60.0, version="1")
    first = fleet.worker("w-1", "--grace", "1", ttl_s=30.0)
    await until(ran(fleet, 2))
    began = time.monotonic()
    first.send_signal(signal.SIGTERM)
    assert await asyncio.to_thread(first.wait, 60) == 0
    assert time.monotonic() - began < 50, "it did not wait for the step of a minute"
    views = await fleet.backend.ports.queue.list("default")
    assert [(view.task.target, view.holder, view.deaths) for view in views] == [(resting, None, 0)]
    fleet.worker("w-2", ttl_s=30.0)
    await fleet.engine.signal(waiting, "go", "on")
    assert await fleet.engine.result(waiting, 120) == "on"
    await until(ran(fleet, 3))
    entries = await fleet.journal(resting)
    assert not any(isinstance(entry.body, ExecutionResumed) for entry in entries), "a clean hand-over"


async def test_a_step_that_exits_its_process_is_set_aside_and_the_others_complete(fleet: Fleet) -> None:
    """K28."""
    bad = await fleet.engine.start("deadly", version="1")
    good = [await fleet.engine.start("five", n, version="1") for n in range(20)]
    deadline = time.monotonic() + 240
    worker = fleet.worker("w-0", ttl_s=1.5)
    count = 1
    while not await fleet.backend.ports.queue.dead("default"):
        assert time.monotonic() < deadline
        if worker.poll() is not None:
            worker = fleet.worker(f"w-{count}", ttl_s=1.5)
            count += 1
        await asyncio.sleep(0.1)
    (dead,) = await fleet.backend.ports.queue.dead("default")
    assert (dead.task.target, dead.deaths) == (bad, 5)
    assert len([run for run in fleet.runs() if run.eid == str(bad)]) == 5
    for eid in good:
        await fleet.engine.result(eid, 120)
    await fleet.prove(good)
