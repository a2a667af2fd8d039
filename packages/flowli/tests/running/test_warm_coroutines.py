"""What is kept in memory between two ownerships, and what is let go."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import pytest

from flowli import Context
from flowli.domain.ports import Acquired, Holder
from flowli.domain.provenance import Site

from .fleet import Fleet, Process

TTL = {"exec_ttl_s": 6.0, "task_ttl_s": 6.0}


class Traced:
    """A workflow that says when its code begins, and what its code is shown of the world outside."""

    def __init__(self, fleet: Fleet) -> None:
        self.seen: Counter[str] = Counter()

        async def heard(ctx: Context, n: int) -> list[Any]:
            self.seen["begun"] += 1
            try:
                return [await ctx.receive("go") for _ in range(n)]
            except GeneratorExit:
                raise
            except BaseException as error:
                self.seen[type(error).__name__] += 1
                raise
            finally:
                self.seen["left"] += 1

        self.workflow = fleet.registry.add(heard)
        fleet.registry.add(heard, version="2")


@pytest.fixture
def traced(fleet: Fleet) -> Traced:
    return Traced(fleet)


def take_nothing(process: Process) -> asyncio.Event:
    """The process takes no more tasks until the event is set."""
    gate = asyncio.Event()

    async def wait() -> None:
        await gate.wait()

    process.trouble["queue.dequeue"] = wait
    return gate


async def test_suspending_shows_the_code_nothing_and_it_goes_on_in_place(fleet: Fleet, traced: Traced) -> None:
    """RPL-27, OWN-26: no ``except`` and no ``finally`` runs, however often it is suspended."""
    fleet.process("w", **TTL).work(sweep=False)
    eid = await fleet.engine.start("heard", 3, version="1")
    for n in range(3):
        await fleet.until_status(eid, "suspended")
        assert traced.seen == {"begun": 1}
        await fleet.engine.signal(eid, "go", n)
        await fleet.clock.advance(2)
    assert await fleet.value(eid) == [0, 1, 2]
    assert traced.seen == {"begun": 1, "left": 1}


async def test_one_that_was_overtaken_is_closed_and_its_journal_replayed(fleet: Fleet, traced: Traced) -> None:
    """OWN-26: another process owned the execution in between."""
    first = fleet.process("w-1", **TTL).work(sweep=False)
    eid = await fleet.engine.start("heard", 4, version="1")
    await fleet.until_status(eid, "suspended")
    gate = take_nothing(first)
    await fleet.clock.advance(3)
    second = fleet.process("w-2", **TTL).work(sweep=False)
    await fleet.engine.signal(eid, "go", 0)
    await fleet.clock.advance(5)
    assert traced.seen == {"begun": 2}, "the second one replays; the first one knows nothing of it"
    await fleet.run(second.stop())
    assert traced.seen == {"begun": 2, "left": 1}
    gate.set()
    await fleet.engine.signal(eid, "go", 1)
    await fleet.clock.advance(5)
    assert traced.seen == {"begun": 3, "left": 2}, "what the first one kept is closed, and the journal replayed"
    await fleet.engine.signal(eid, "go", 2)
    await fleet.clock.advance(5)
    assert traced.seen == {"begun": 3, "left": 2}, "from here on it goes on in place"
    await fleet.engine.signal(eid, "go", 3)
    assert await fleet.value(eid) == [0, 1, 2, 3]
    assert [entry.by.site.epoch for entry in await fleet.entries(eid)][-1] == 5


async def test_one_of_another_version_is_closed(fleet: Fleet, traced: Traced) -> None:
    """OWN-26: after a migration, be it by the operator or by the owner itself."""
    fleet.process("w", **TTL).work(sweep=False)
    eid = await fleet.engine.start("heard", 1, version="1")
    await fleet.until_status(eid, "suspended")
    await fleet.engine.migrate(eid, "2")
    await fleet.clock.advance(5)
    assert traced.seen == {"begun": 2, "left": 1}
    await fleet.engine.signal(eid, "go", "on")
    assert await fleet.value(eid) == ["on"]


async def test_losing_the_lease_shows_the_code_no_error(fleet: Fleet, traced: Traced) -> None:
    """RPL-27: a fenced owner lets the coroutine go, as any other that must go; nothing is raised in it."""
    process = fleet.process("w", **TTL)

    async def long() -> None:
        await fleet.clock.sleep(1000)

    shown: Counter[str] = Counter()

    @fleet.registry.workflow
    async def one(ctx: Context) -> None:
        try:
            await ctx.step(long)
        except Exception as error:
            shown[type(error).__name__] += 1
        except asyncio.CancelledError:
            shown["cancelled"] += 1
            raise

    process.work(sweep=False)
    eid = await fleet.engine.start(one)
    await fleet.clock.advance(2)
    stolen = await fleet.ports.ownership.acquire(eid, Holder("thief", Site("thief")), 60.0, force=True)
    assert isinstance(stolen, Acquired)
    before = await fleet.entries(eid)
    await fleet.clock.advance(20)
    assert process.worker is not None
    assert shown == {}
    assert await fleet.entries(eid) == before
