"""Tasks that bring their process down."""

from __future__ import annotations

from typing import Any

import pytest

from flowli import Context
from flowli.domain.entries import ExecutionSuspended, FrameStarted, StatusChanged
from flowli.domain.ids import Eid
from flowli.domain.waits import OnOperator
from flowli.runtime.protocols.bury import MAX_DEATHS

from .fleet import Fleet, Process

TTL = {"exec_ttl_s": 6.0, "task_ttl_s": 6.0, "grace_s": 5.0}


class Poison:
    """A step that kills the process it runs in, as often as it is told."""

    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet
        self.process: Process | None = None
        self.deaths = 0
        self.lethal = 1_000
        self.beside: list[list[str]] = []
        self.running: list[str] = []

    async def bite(self) -> str:
        await self.fleet.clock.sleep(0.5)
        self.beside.append(list(self.running))
        if self.deaths < self.lethal:
            self.deaths += 1
            assert self.process is not None
            self.process.kill()
            await self.fleet.clock.sleep(10_000)
        return "survived"

    async def healthy(self, name: str) -> str:
        self.running.append(name)
        await self.fleet.clock.sleep(1)
        self.running.remove(name)
        return name

    async def supervise(self, until: Any, *, generations: int = 30) -> None:
        """Start a worker whenever the last one is dead, until something is so."""
        for n in range(generations):
            self.process = self.fleet.process(f"w-{n}", **TTL).work(concurrency=10)
            process = self.process

            async def over(process: Process = process) -> bool:
                return process.dead or bool(await until())

            await self.fleet.until(over, limit_s=600)
            if await until():
                return
            self.running.clear()
        raise AssertionError("it never came to this")


@pytest.fixture
def poison(fleet: Fleet) -> Poison:
    made = Poison(fleet)

    @fleet.registry.workflow
    async def deadly(ctx: Context) -> str:
        return await ctx.step(made.bite)

    @fleet.registry.workflow
    async def fine(ctx: Context, name: str) -> str:
        return await ctx.step(made.healthy, name)

    return made


async def parked(fleet: Fleet, eid: Eid) -> bool:
    return (await fleet.fold(eid)).parked is not None


async def test_a_task_that_kills_its_workers_is_set_aside_and_the_others_complete(fleet: Fleet, poison: Poison) -> None:
    """QUE-6, K28."""
    bad = await fleet.engine.start("deadly")
    good = [await fleet.engine.start("fine", f"n{n}") for n in range(20)]

    async def all_done() -> bool:
        ended = [(await fleet.fold(eid)).end is not None for eid in good]
        return all(ended) and await parked(fleet, bad) and bool(await fleet.ports.queue.dead("default"))

    await poison.supervise(all_done)
    assert poison.deaths == MAX_DEATHS
    (dead,) = await fleet.ports.queue.dead("default")
    assert (dead.task.target, dead.deaths) == (bad, MAX_DEATHS)
    assert "5 workers in a row vanished" in dead.cause
    fold = await fleet.fold(bad)
    assert fold.anomalies == []
    assert fold.parked == OnOperator("dead_letter", dead.cause, task=dead.task.task_id)
    for eid in good:
        await fleet.check(eid)
    await fleet.clock.advance(5)
    bodies = [entry.body for entry in (await fleet.ports.control.read()).entries]
    twins = [body for body in bodies if isinstance(body, StatusChanged) and body.eid == bad]
    assert max(twins, key=lambda twin: twin.journal_seq).status == "suspended"


async def test_a_suspect_runs_alone(fleet: Fleet, poison: Poison) -> None:
    """QUE-7."""
    for n in range(5):
        await fleet.engine.start("fine", f"n{n}")
    bad = await fleet.engine.start("deadly")
    for n in range(30):
        await fleet.engine.start("fine", f"m{n}")

    async def gone() -> bool:
        return await parked(fleet, bad)

    await poison.supervise(gone)
    assert poison.beside[0], "the first time nobody knew"
    assert poison.beside[1:] == [[]] * (MAX_DEATHS - 1)


async def test_an_outcome_sets_the_deaths_back(fleet: Fleet, poison: Poison) -> None:
    """QUE-7."""
    bites = 0

    async def count() -> None:
        nonlocal bites
        bites += 1

    @fleet.registry.workflow
    async def tough(ctx: Context) -> str:
        for _ in range(4):
            await ctx.step(count)
            await ctx.step(kill_twice)
        return "through"

    kills: dict[str, int] = {}

    async def kill_twice() -> None:
        from flowli import step_info

        fid = step_info().fid
        kills[fid] = kills.get(fid, 0) + 1
        if kills[fid] <= 2:
            assert poison.process is not None
            poison.process.kill()
            await fleet.clock.sleep(10_000)

    eid = await fleet.engine.start(tough)

    async def ended() -> bool:
        return (await fleet.fold(eid)).end is not None

    await poison.supervise(ended)
    assert await fleet.value(eid) == "through"
    assert sum(kills.values()) == 12, "eight deaths in all, never five in a row"
    assert bites == 4
    assert await fleet.ports.queue.dead("default") == []


async def test_wake_ups_of_a_dead_letter_are_acked_until_an_operator_lets_it_go_on(
    fleet: Fleet, poison: Poison
) -> None:
    """QUE-17."""
    bad = await fleet.engine.start("deadly")

    async def gone() -> bool:
        return await parked(fleet, bad)

    await poison.supervise(gone)
    await fleet.engine.signal(bad, "anything")
    await fleet.clock.advance(20)
    assert await fleet.tasks() == []
    poison.lethal = 0
    await fleet.engine.resume(bad, "fixed")
    assert await fleet.value(bad) == "survived"


async def test_a_revived_task_runs_again(fleet: Fleet, poison: Poison) -> None:
    """QUE-6, K28."""
    bad = await fleet.engine.start("deadly")

    async def gone() -> bool:
        return bool(await fleet.ports.queue.dead("default"))

    await poison.supervise(gone)
    poison.lethal = 0
    (dead,) = await fleet.ports.queue.dead("default")
    assert await fleet.ports.queue.revive(dead)
    assert await fleet.value(bad) == "survived"
    started = [entry.body.attempt for entry in await fleet.entries(bad) if isinstance(entry.body, FrameStarted)]
    assert started == [1], "an attempt without an outcome was never made"
    assert any(isinstance(entry.body, ExecutionSuspended) for entry in await fleet.entries(bad))
