"""Messages that come early, in crowds, or while one execution hands over to the next."""

from __future__ import annotations

import random
from typing import Any
from uuid import UUID

import pytest

from flowli import Context
from flowli.domain.errors import UnknownExecution

from .rig import Calls


@pytest.mark.parametrize("when", ["at once", "during a step", "after the worker died"])
async def test_messages_that_nobody_waits_for_yet_are_kept_in_order(fleet: Any, when: str) -> None:
    """K23: each is received once, first in first out; those that nobody received are there to be seen."""

    async def step() -> None:
        await fleet.clock.sleep(10)

    @fleet.registry.workflow
    async def three(ctx: Context) -> list[Any]:
        await ctx.step(step)
        return [await ctx.receive("go") for _ in range(3)]

    settings = {"exec_ttl_s": 6.0, "task_ttl_s": 6.0}
    eid = await fleet.engine.start(three)
    if when != "at once":
        first = fleet.process("w-1", **settings).work(sweep=False)
        await fleet.clock.advance(3)
    for n in range(4):
        await fleet.engine.signal(eid, "go", n)
    if when == "after the worker died":
        first.kill()
    fleet.process("w-2", **settings).work()
    assert await fleet.value(eid) == [0, 1, 2]
    end = await fleet.ports.channel.end(f"{eid}.go")
    assert end.seq == 4
    assert (await fleet.fold(eid)).last_consumed[f"{eid}.go"][0] == 3, "the fourth is left"


async def test_a_signal_to_nobody_is_an_error(fleet: Any) -> None:
    """K23: not silence."""
    with pytest.raises(UnknownExecution):
        await fleet.engine.signal(UUID("0197a1b2-0000-7000-8000-000000000000"), "go")


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("way", ["one execution", "a chain"])
async def test_a_hundred_signals_from_four_clients_are_counted_once_each(fleet: Any, way: str, seed: int) -> None:
    """K24: in one execution that suspends after each, and in a chain that hands over its place; workers die."""
    chance = random.Random(seed)
    heard = Calls()
    total, each = 100, 100 if way == "one execution" else 20

    @fleet.registry.workflow
    async def counter(ctx: Context, place: str = "start", count: int = 0) -> int:
        for _ in range(each):
            heard[await ctx.receive("tick", scope="global", from_=place)] += 0
            count += 1
            place = ctx.position("tick", scope="global")
        if count < total:
            return await ctx.child(counter, place, count, on_parent_close="abandon")
        return count

    settings = {"exec_ttl_s": 3.0, "task_ttl_s": 3.0}
    worker = fleet.process("w-0", **settings).work()
    clients = [fleet.process(f"c-{n}") for n in range(4)]
    eid = await fleet.engine.start(counter)
    for n in range(total):
        await fleet.run(clients[n % 4].engine.broadcast("tick", n))
        if n % 10 == 9:
            await fleet.clock.advance(chance.random() * 2)
        if n % 25 == 24:
            worker.dies_at, worker.dies_after = len(worker.calls) + chance.randrange(1, 20), chance.random() < 0.5
            worker = fleet.process(f"w-{n}", **settings).work()
    assert await fleet.value(eid) == total
    assert set(heard) == set(range(total))
