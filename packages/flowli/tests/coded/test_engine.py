"""Workflows on an encrypted bucket: nothing clear is in it, and a missing key loses nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from flowli.adapters.cairndb import CairnBackend
from flowli.adapters.coded import Encryption, KeyRing, ValueCodec
from flowli.domain.entries import ExecutionFailed as FailedEntry
from flowli.domain.entries import StatusChanged
from flowli.domain.errors import ExecutionFailed, PayloadTooLarge, StepFailed, ValueUnreadable
from flowli.domain.execution import ExecutionStatus
from flowli.domain.provenance import Site
from flowli.runtime import Context, Engine, EngineConfig, Registry
from flowli.stores.memory import MemoryStore
from flowli.world import SYSTEM

OLD, NEW = b"o" * 32, b"n" * 32
registry = Registry()


@dataclass
class Patient:
    name: str
    notes: list[str] = field(default_factory=list)


def examine(patient: Patient) -> Patient:
    return Patient(patient.name, [*patient.notes, "secret-finding"])


def refuse(name: str) -> None:
    raise ValueError(f"secret-refusal of {name}")


@registry.workflow
async def ask(ctx: Context, question: str) -> str:
    answer = await ctx.receive("answer")
    return f"{question}: {answer}"


@registry.workflow
async def treat(ctx: Context, patient: Patient) -> Patient:
    examined = await ctx.step(examine, patient)
    await ctx.claim(f"bed-{ctx.eid}", "secret-bed")
    answer = await ctx.child(ask, "secret-question")
    return Patient(examined.name, [*examined.notes, answer])


@registry.workflow
async def fail(ctx: Context, name: str) -> None:
    try:
        await ctx.step(refuse, name)
    except StepFailed as error:
        raise RuntimeError(f"secret-end {error}") from error


@registry.workflow
async def double(ctx: Context, text: str) -> int:
    doubled = await ctx.step(twice, text)
    return len(doubled)


def twice(text: str) -> str:
    return text * 2


CONFIG = EngineConfig(hold_s=0.0, exec_ttl_s=0.3, task_ttl_s=0.3)
Open = Callable[..., Engine]


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


@pytest.fixture
def open_engine(store: MemoryStore) -> Open:
    """Another process on the same bucket."""

    def make(codec: ValueCodec | None, name: str = "w", config: EngineConfig = CONFIG) -> Engine:
        ports = CairnBackend(store).ports
        return Engine(ports if codec is None else codec.wrap(ports), Site.local(name), registry=registry, config=config)

    return make


def encrypting(**keys: bytes) -> ValueCodec:
    return ValueCodec(["zlib", Encryption(KeyRing(keys))], inline_bytes=2000)


async def everything(store: MemoryStore) -> bytes:
    """All that stands in the bucket."""
    found: list[bytes] = []
    after: str | None = ""
    while after is not None:
        page = await store.list("", after=after or None)
        for item in page.items:
            body = await store.get(item.key)
            assert body is not None
            found += [item.key.encode(), body.data]
        after = page.items[-1].key if page.items else None
    return b"\n".join(found)


async def run(engine: Engine) -> None:
    async with engine.worker() as worker:
        await worker.run_until_idle()


async def treated(engine: Engine) -> Patient:
    eid = await engine.start(treat, Patient("secret-name", ["secret-note " * 300]))
    await run(engine)
    (child,) = [
        frame.metadata["eid"] for frame in (await engine.frames(eid)).frames.values() if "eid" in frame.metadata
    ]
    await engine.signal(str(child), "answer", "secret-answer")
    await run(engine)
    value: Patient = await engine.result(eid, timeout=5)
    return value


async def test_nothing_clear_is_in_the_bucket_and_everything_comes_back(open_engine: Open, store: MemoryStore) -> None:
    """COD-1."""
    engine = open_engine(encrypting(k1=OLD))
    patient = await treated(engine)
    assert patient.name == "secret-name"
    assert patient.notes[1:] == ["secret-finding", "secret-question: secret-answer"]
    failed = await engine.start(fail, "secret-name")
    await run(engine)
    with pytest.raises(ExecutionFailed, match=r"secret-end step root/refuse#1 failed.*secret-refusal of secret-name"):
        await engine.result(failed, timeout=5)
    end = (await engine.frames(failed)).end
    assert isinstance(end, FailedEntry)
    assert "secret-refusal" in end.error.traceback
    await engine.close()
    bucket = await everything(store)
    assert b"treat" in bucket
    assert b"secret" not in bucket


async def test_without_a_codec_all_of_it_would_be_there(open_engine: Open, store: MemoryStore) -> None:
    engine = open_engine(None)
    await treated(engine)
    assert b"secret-finding" in await everything(store)


async def test_observers_read_on_without_the_key(open_engine: Open) -> None:
    """COD-8."""
    engine, other, plain = open_engine(encrypting(k1=OLD)), open_engine(encrypting(k2=NEW)), open_engine(None)
    await engine.start(fail, "secret-name")
    await run(engine)
    await engine.close()
    told = []
    for observer in (engine, other, plain):
        entries = (await observer.ports.control.read()).entries
        (error,) = [e.body.error for e in entries if isinstance(e.body, StatusChanged) and e.body.error is not None]
        assert error.type == "builtins.RuntimeError"
        told.append(error.message)
    assert "secret-refusal" in told[0]
    assert told[1] == "(its message is encrypted, and the key is not here)"
    assert "secret" not in told[2]


async def test_a_worker_without_the_key_waits_and_one_with_it_finishes(open_engine: Open) -> None:
    """COD-3."""
    starter, ignorant = open_engine(encrypting(k1=OLD), "starter"), open_engine(encrypting(k2=NEW), "ignorant")
    eid = await starter.start(double, "secret " * 10)
    await starter.close()
    await run(ignorant)
    with pytest.raises(ValueUnreadable, match=f"execution {eid}.*key 'k1'.*'k2'.*Nothing is lost"):
        await ignorant.result(eid, timeout=5)
    assert (await starter.status(eid)).status is ExecutionStatus.PENDING
    informed = open_engine(encrypting(k1=OLD, k2=NEW), "informed")
    await SYSTEM.sleep(0.35)
    await run(informed)
    assert await informed.result(eid, timeout=5) == 140
    assert [e.body.tag for e in await informed.journal(eid)].count("frame.failed") == 0


async def test_a_worker_that_loses_the_key_in_the_middle_leaves_the_execution_waiting(open_engine: Open) -> None:
    first = open_engine(encrypting(k1=OLD), "first")
    eid = await first.start(ask, "secret-question")
    await run(first)
    await first.signal(eid, "answer", "secret-answer")
    await first.close()
    ignorant = open_engine(encrypting(k1=NEW), "ignorant")
    await run(ignorant)
    assert (await first.status(eid)).status is ExecutionStatus.SUSPENDED
    await SYSTEM.sleep(0.35)
    await run(open_engine(encrypting(k1=OLD), "second"))
    assert await first.result(eid, timeout=5) == "secret-question: secret-answer"


async def test_a_key_is_rotated_while_executions_wait(open_engine: Open, store: MemoryStore) -> None:
    """COD-2."""
    before = open_engine(encrypting(jan=OLD), "before")
    eid = await before.start(ask, "q")
    await run(before)
    await before.close()
    after = open_engine(encrypting(jan=OLD, jun=NEW), "after")
    await after.signal(eid, "answer", "a")
    await run(after)
    assert await after.result(eid, timeout=5) == "q: a"
    await after.close()
    assert b"aes-gcm:jun" in await everything(store)


async def test_a_codec_joins_a_bucket_that_had_none_and_leaves_it(open_engine: Open) -> None:
    """COD-9."""
    plain, coded = open_engine(None, "plain"), open_engine(ValueCodec(), "coded")
    eids = [await plain.start(ask, "one"), await coded.start(ask, "two")]
    await run(coded)
    for eid, text in zip(eids, ("small", {"$coded": 1}), strict=True):
        await coded.signal(eid, "answer", text)
    await run(plain)
    await run(coded)
    assert await coded.result(eids[0], timeout=5) == "one: small"
    assert await plain.result(eids[0], timeout=5) == "one: small"


@pytest.mark.parametrize("more", [-1, 0, 1])
async def test_signals_and_starts_at_the_limit(open_engine: Open, more: int) -> None:
    engine = open_engine(None, config=EngineConfig(max_value_bytes=1000))
    eid = await engine.start(ask, "q")
    argument, payload = "x" * (1000 - len('{"args":[""],"kwargs":{}}') + more), "x" * (1000 - 2 + more)
    if more <= 0:
        await engine.start(ask, argument)
        await engine.signal(eid, "answer", payload)
        return
    with pytest.raises(PayloadTooLarge, match=r"1,001 bytes and the limit is 1,000 \(EngineConfig.max_value_bytes\)"):
        await engine.start(ask, argument)
    with pytest.raises(PayloadTooLarge, match=r"1,001 bytes and the limit is 1,000 \(EngineConfig.max_value_bytes\)"):
        await engine.signal(eid, "answer", payload)
    assert (await engine.ports.channel.end(f"{eid}.answer")).seq == 0


@pytest.mark.parametrize("more", [-2, 0, 2])
async def test_a_result_over_the_limit_fails_its_step_at_once(open_engine: Open, more: int) -> None:
    engine = open_engine(None, config=EngineConfig(max_value_bytes=1000))
    eid = await engine.start(double, "x" * ((1000 - 2 + more) // 2))
    await run(engine)
    if more <= 0:
        assert await engine.result(eid, timeout=5) == 998 + more
        return
    with pytest.raises(ExecutionFailed, match=r"limit is 1,?000 \(.*max_value_bytes\)"):
        await engine.result(eid, timeout=5)
    assert [e.body.tag for e in await engine.journal(eid)].count("frame.failed") == 1
