"""An engine with a codec: how large values may be, and sweepers that lack a key."""

from __future__ import annotations

import pytest

from flowli.adapters.cairndb import CairnBackend
from flowli.adapters.coded import Encryption, KeyRing, ValueCodec
from flowli.adapters.memory import MemoryBackend
from flowli.domain.errors import ExecutionFailed, PayloadTooLarge, ValueUnreadable
from flowli.domain.execution import ExecutionStatus
from flowli.domain.ports import Ports
from flowli.domain.provenance import Site
from flowli.runtime import Context, Engine, EngineConfig, Registry
from flowli.stores.memory import MemoryStore
from flowli.testing.clock import ManualClock, ManualWorld

KIB = 1024
registry = Registry()


def repeat(text: str, times: int) -> str:
    return text * times


@registry.workflow
async def grow(ctx: Context, text: str, times: int) -> str:
    larger = await ctx.step(repeat, text, times)
    message = await ctx.receive("more", timeout=1000)
    return f"{larger}{message}"


@registry.workflow
async def hurry(ctx: Context) -> None:
    await ctx.receive("never")


def engine_with(ports: Ports, codec: ValueCodec | None, config: EngineConfig | None = None) -> Engine:
    return Engine(ports, Site.local("w"), registry=registry, codec=codec, config=config)


@pytest.mark.parametrize("backend", ["memory", "cairn"])
async def test_with_a_codec_values_of_megabytes_pass(backend: str) -> None:
    ports = MemoryBackend().ports if backend == "memory" else CairnBackend(MemoryStore()).ports
    engine = engine_with(ports, ValueCodec([]), EngineConfig(hold_s=0))
    assert engine.config.max_value_bytes == 32 * KIB * KIB
    eid = await engine.start(grow, "é" * 300 * KIB, 3)
    async with engine.worker() as worker:
        await worker.run_until_idle()
        await engine.signal(eid, "more", "m" * 500 * KIB)
        await worker.run_until_idle()
    assert await engine.result(eid, timeout=5) == "é" * 900 * KIB + "m" * 500 * KIB
    longest = max(len(str(entry.body)) for entry in (await ports.journal.read(eid)).entries)
    assert longest < 1000


@pytest.mark.parametrize(("set_to", "limit"), [(None, 5000), (1000, 1000), (9000, 5000), (256 * KIB, 5000)])
async def test_the_limit_is_that_of_the_codec_or_a_smaller_one(set_to: int | None, limit: int) -> None:
    config = None if set_to is None else EngineConfig(max_value_bytes=set_to)
    engine = engine_with(MemoryBackend().ports, ValueCodec([], inline_bytes=100, max_value_bytes=5000), config)
    eid = await engine.start(hurry)
    await engine.signal(eid, "never", "x" * (limit - 2))
    with pytest.raises(PayloadTooLarge, match=f"{limit + 1:,} bytes and the limit is {limit:,}"):
        await engine.signal(eid, "never", "x" * (limit - 1))


async def test_a_step_over_the_codecs_limit_fails_once() -> None:
    codec = ValueCodec([], inline_bytes=100, max_value_bytes=1000)
    engine = engine_with(MemoryBackend().ports, codec)
    eid = await engine.start(grow, "x", 999)
    async with engine.worker() as worker:
        await worker.run_until_idle()
    with pytest.raises(ExecutionFailed, match=r"limit is 1,?000"):
        await engine.result(eid, timeout=5)
    assert [e.body.tag for e in await engine.journal(eid)].count("frame.failed") == 1


async def test_a_sweeper_without_the_key_does_what_it_can() -> None:
    """COD-8."""
    clock = ManualClock()
    ports = MemoryBackend(ManualWorld(clock)).ports

    def engine(name: str, *codecs: ValueCodec) -> Engine:
        world = ManualWorld(clock, name=name)
        return Engine(ports, Site.local(name), registry=registry, codec=next(iter(codecs), None), world=world)

    def encrypting(key: bytes) -> ValueCodec:
        return ValueCodec([Encryption(KeyRing({"k": key}))])

    mine, ignorant = engine("mine", encrypting(b"m" * 32)), engine("ignorant", encrypting(b"i" * 32))
    theirs = await mine.start(hurry, timeout=60)
    own = await ignorant.start(hurry, timeout=60)
    await clock.run(mine.close())
    await clock.run(ignorant.close())
    await clock.advance(61)
    sweeper = ignorant.sweeper()
    for _ in range(3):
        await clock.run(sweeper.sweep_once())
        await clock.advance(60)
    lease = await ports.ownership.read(own)
    assert lease is not None
    assert lease.requests[0].verb == "cancel"
    assert await ports.ownership.read(theirs) is None
    assert len(await ports.timers.pending()) >= 1
    await clock.run(mine.sweeper().sweep_once())
    lease = await ports.ownership.read(theirs)
    assert lease is not None
    assert lease.requests[0].verb == "cancel"
    with pytest.raises(ValueUnreadable):
        await ignorant.status(theirs)
    assert (await mine.status(theirs)).status is ExecutionStatus.PENDING
