"""Listings that come in pages, and names that a store could mix up."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from flowli import Context, Engine, Registry, Site
from flowli.domain.errors import UsageError
from flowli.domain.timers import Timer
from flowli.testing.stores import CutListing, Fault

from .rig import Calls, Wire, real


async def test_what_is_behind_a_full_page_is_done_as_well(kind: str, tmp_path: Path) -> None:
    """K08: a thousand and five in one queue, and one more that another process puts when the first have been listed."""
    registry, wire = Registry(), Wire()
    done: set[int] = set()

    async def put() -> None:
        assert len(done) < 500, "the worker is still at its first page"
        await another.start(one, 1005)

    @registry.workflow
    async def one(ctx: Context, n: int) -> None:
        if n == 7:
            await ctx.step(put)
        done.add(n)

    async with real(kind, tmp_path, registry, wire.wrap) as engine:
        another = Engine(engine.ports, Site("another"), registry=registry)
        for n in range(1005):
            await engine.start(one, n)
        pages = await engine.ports.queue.list("default", limit=10_000)
        assert len(pages) == 1005
        worker = engine.worker()
        await worker.run_until_idle()
        await worker.drain()
    assert done == set(range(1006))
    first = next(one for one in wire.requests if one.verb == "list" and one.key.startswith("wf/queues/default/ready/"))
    assert first.outcome == "Page"


async def test_a_timer_behind_a_full_page_of_others_is_fired_in_one_pass(fleet: Any) -> None:
    """K08: a thousand and five that are due, and one whose key sorts last."""

    @fleet.registry.workflow
    async def nap(ctx: Context) -> str:
        await ctx.sleep(60)
        return "woken"

    worker = fleet.process("w", poll_s=5.0).work(sweep=False)
    eid = await fleet.engine.start(nap)
    await fleet.until_status(eid, "suspended")
    (napping,) = await fleet.ports.timers.pending()
    for n in range(1005):
        await fleet.ports.timers.set(Timer(fleet.clock.now(), UUID(int=n), "root/nap#1", "elsewhere"))
    assert napping.due_at > fleet.clock.now()
    await fleet.clock.advance(60)
    report = await fleet.run(worker.engine.sweeper().sweep_once())
    assert report.timers == 1006
    assert await fleet.value(eid) == "woken"


async def test_a_full_first_page_starves_no_later_one(fleet: Any) -> None:
    """K08: every listing is cut after three keys."""
    calls = Calls()

    @fleet.registry.workflow
    async def one(ctx: Context, n: int) -> int:
        return await ctx.step(calls.once, n)

    @fleet.registry.workflow
    async def nap(ctx: Context, n: int) -> int:
        await ctx.sleep(60 + n / 100)
        return await ctx.step(calls.once, f"nap {n}")

    wire = Wire(Fault(CutListing(3), verb="list", times=1_000_000))
    worker = fleet.process("w", wrap=wire.wrap, poll_s=5.0)
    for n in range(40):
        await fleet.engine.start(nap, n)
    worker.work(sweep=False)
    await fleet.clock.advance(30)
    eids = [await fleet.engine.start(one, n) for n in range(105)]
    other = fleet.process("later")
    eids.append(await fleet.run(other.engine.start(one, 105)))
    await fleet.clock.advance(35)
    report = await fleet.run(worker.engine.sweeper().sweep_once())
    assert report.timers == 40, "the last timer is fired in one pass"
    await fleet.clock.advance(60)
    assert calls == {**dict.fromkeys(range(106), 1), **{f"nap {n}": 1 for n in range(40)}}
    assert max(one.outcome == "Page" for one in wire.requests if one.verb == "list")


LONG = ["k" * 255, "k" * 256, "k" * 1024]
ODD = [
    "A",
    "a",
    "é",
    "İ",
    "a.",
    "a..",
    "a/b",
    "a//b",
    ".",
    "..",
    "",
    "a b",
    "a\x00b",
    "a\nb",
    "%2e%2e",
    "con",
    "a" * 64,
]


@pytest.mark.parametrize("at", ["key", "channel", "queue"])
async def test_ids_are_kept_apart_or_refused_before_any_request(fleet: Any, at: str) -> None:
    """K10: one limit on all stores, and never an error that is worth trying again."""

    @fleet.registry.workflow
    async def wait(ctx: Context, name: str) -> Any:
        return await ctx.receive("go")

    wire = Wire()
    process = fleet.process("p", wrap=wire.wrap)
    eid = await fleet.run(process.engine.start(wait, "known"))
    taken: dict[str, Any] = {}
    for name in [*LONG, *ODD]:
        wire.clear()
        try:
            if at == "key":
                taken[name] = await fleet.run(process.engine.start(wait, name, key=name))
            elif at == "queue":
                taken[name] = await fleet.run(process.engine.start(wait, name, queue=name))
            else:
                taken[name] = await fleet.run(process.engine.signal(eid, name, name))
        except UsageError:
            assert wire.requests == [], name
    assert len(taken) >= 3
    assert not {"k" * 256, "k" * 1024, "", "..", "a\x00b"} & set(taken)
    if at == "key":
        assert len(set(taken.values())) == len(taken)
        for name, found in taken.items():
            assert await fleet.run(process.engine.start(wait, name, key=name)) == found
    elif at == "queue":
        for name, found in taken.items():
            assert [task.target for task in await fleet.tasks(name)] == [found]
    else:
        for name in taken:
            read = await fleet.ports.channel.read(f"{eid}.{name}")
            assert [message.payload for message in read.messages] == [name]
