"""Offloaded values in the life of an execution after its end: forked, archived, erased, expired."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from flowli.adapters.cairndb import CairnBackend
from flowli.adapters.coded import ValueCodec
from flowli.runtime import Context, EngineConfig, Registry
from flowli.stores.memory import MemoryStore
from flowli.testing.env import TestEnvironment

registry = Registry()


def enlarge(text: str) -> str:
    return text * 50


@registry.workflow
async def grow(ctx: Context, text: str) -> str:
    larger = await ctx.step(enlarge, text)
    note = await ctx.receive("note")
    await ctx.step(len, larger, name="count")
    return f"{larger}{note}"


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


@pytest.fixture
async def env(store: MemoryStore) -> AsyncIterator[TestEnvironment]:
    config = EngineConfig(hold_s=0.0, retire_grace_s=0.0, archive_ttl_s=100)
    codec = ValueCodec([], inline_bytes=300)
    async with TestEnvironment(
        registry, ports=lambda world: CairnBackend(store, world=world).ports, codec=codec, config=config
    ) as opened:
        yield opened


async def bodies(store: MemoryStore) -> list[str]:
    return [item.key for item in (await store.list("wf/evidence/")).items]


async def grown(env: TestEnvironment) -> str:
    eid = await env.start(grow, "secret " * 100)
    await env.signal(eid, "note", "a note " * 100)
    await env.run_until_idle()
    return str(eid)


async def test_a_fork_has_bodies_of_its_own(env: TestEnvironment, store: MemoryStore) -> None:
    eid = await grown(env)
    again = await env.clock.drive(env.engine.fork(eid, "root/count#1"))
    await env.run_until_idle()
    await env.clock.drive(env.engine.erase(eid))
    assert await env.result(again) == "secret " * 5000 + "a note " * 100
    assert all(str(again) in key for key in await bodies(store))


async def test_an_archive_keeps_its_values_until_it_expires(env: TestEnvironment, store: MemoryStore) -> None:
    eid = await grown(env)
    for _ in range(2):
        await env.clock.drive(env.engine.retention(0).run_once())
        await env.advance(10)
    assert await store.get(f"wf/exec/{eid}/meta") is None
    value = await env.clock.drive(env.engine.result(eid))
    assert value == "secret " * 5000 + "a note " * 100
    assert await bodies(store) != []
    await env.advance(200)
    await env.clock.drive(env.engine.retention(0).run_once())
    assert await env.clock.drive(env.engine.archive(eid)) is None
    assert await bodies(store) == []


@pytest.mark.parametrize("archived", [False, True])
async def test_nothing_of_an_erased_execution_is_left(env: TestEnvironment, store: MemoryStore, archived: bool) -> None:
    """COD-7."""
    eid = await grown(env)
    if archived:
        await env.clock.drive(env.engine.retention(0).run_once())
    await env.clock.drive(env.engine.erase(eid, "asked for"))
    assert await bodies(store) == []
    assert (await env.clock.drive(env.engine.status(eid))).archived_at is not None
    for item in (await store.list("")).items:
        found = await store.get(item.key)
        assert found is not None
        assert b"secret" not in found.data, item.key
