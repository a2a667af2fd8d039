"""What no other test looks at: the first entry, the instants of all, and the conditions of all writes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flowli import Context, Registry
from flowli.adapters.cairndb import CairnBackend
from flowli.adapters.memory import MemoryBackend
from flowli.domain.entries import ExecutionStarted
from flowli.domain.ports import Ports
from flowli.domain.provenance import Site
from flowli.runtime import Engine
from flowli.stores.memory import MemoryStore
from flowli.testing.clock import ManualClock, ManualWorld
from flowli.testing.env import TestEnvironment
from flowli.testing.stores import CountingStore
from flowli.world import World

registry = Registry()


def double(n: int) -> int:
    return 2 * n


@registry.workflow
async def leaf(ctx: Context, n: int) -> int:
    return await ctx.step(double, n)


@registry.workflow
async def everything(ctx: Context) -> list[Any]:
    found: list[Any] = [await ctx.step(double, 1), await ctx.child(leaf, 2)]
    found.append(await ctx.receive("go", timeout=60))
    found.append(await ctx.claim("chair", "mine"))
    await ctx.sleep(30)
    async with ctx.lease("door"):
        await ctx.publish("state", "inside")
    await ctx.announce("done", {"n": 1})
    await ctx.set_attributes(stage="end")
    return found


def counted(stores: list[CountingStore]) -> Callable[[World], Ports]:
    def ports(world: World) -> Ports:
        stores.append(CountingStore(MemoryStore(world=world)))
        return CairnBackend(stores[-1], world=world).ports

    return ports


async def test_what_a_run_writes_is_conditional() -> None:
    """JRN-18: of everything that workers, clients and sweepers write and delete, nothing is taken for granted."""
    stores: list[CountingStore] = []
    async with TestEnvironment(registry, ports=counted(stores)) as env:
        eid = await env.start(everything, key="order-1")
        await env.settle()
        await env.signal(eid, "go", "on", key="once")
        await env.run_until_idle()
        assert await env.result(eid) == [2, 4, "on", "mine"]
        other = await env.start(everything)
        await env.settle()
        await env.clock.drive(env.engine.cancel(other, reason="enough"))
        await env.run_until_idle()
    requests = [one for store in stores for one in store.requests if not one.key.startswith("wf/probe/")]
    writes = [one for one in requests if one.verb == "put"]
    assert len(writes) > 30
    assert [one.key for one in writes if not one.condition] == []
    assert [one.key for one in requests if one.verb == "delete" and not one.condition] == []
    assert [one.key for one in requests if one.verb == "delete_many"] == []


async def test_the_first_entry_is_the_record() -> None:
    """JRN-16."""
    async with TestEnvironment(registry) as env:
        eid = await env.start(leaf, 3, priority=7, key="leaf:3")
        await env.run_until_idle()
        record = await env.engine.ports.executions.get(eid)
        first = (await env.journal(eid))[0]
    assert record is not None
    assert isinstance(first.body, ExecutionStarted)
    assert first.body.execution == record
    assert first.at == record.created_at


async def test_instants_never_go_back_whatever_the_clocks_say() -> None:
    """JRN-17: each owner of one execution is slower than the last by an hour."""
    clock = ManualClock()
    ports = MemoryBackend(ManualWorld(clock)).ports

    def engine(name: str, skew_s: float) -> Engine:
        return Engine(ports, Site(name), registry=registry, world=ManualWorld(clock, name=name, skew_s=skew_s))

    source = engine("source", 7200.0)
    eid = await clock.run(source.start(everything))
    for n, skew_s in enumerate((7200.0, 3600.0, 0.0)):
        worker = engine(f"w-{n}", skew_s).worker()
        await clock.run(worker.run_until_idle())
        if n == 1:
            await clock.run(source.signal(eid, "go", "on"))
        await clock.run(worker.drain())
        await clock.run(source.announcer.drain())
        await clock.advance(1)
        if n == 0:
            child = engine("children", skew_s).worker()
            await clock.run(child.run_until_idle())
            await clock.run(child.drain())
    entries = await clock.run(source.journal(eid))
    assert len({entry.by.site.worker_id for entry in entries}) >= 2
    instants = [entry.at for entry in entries]
    assert instants == sorted(instants)
