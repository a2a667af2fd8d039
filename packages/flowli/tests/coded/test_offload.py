"""Large values become bodies of their own."""

from __future__ import annotations

import asyncio
from dataclasses import fields, replace
from typing import Any

import pytest

from flowli.adapters.coded import ValueCodec
from flowli.adapters.coded.places import archive_home
from flowli.adapters.memory import MemoryBackend
from flowli.domain.channels import Message, scoped_channel
from flowli.domain.data import Data
from flowli.domain.entries import START, ExecutionCompleted, ExecutionStarted, FrameCompleted, JournalEntry, Position
from flowli.domain.errors import PayloadTooLarge, ValueUnreadable
from flowli.domain.ids import Eid
from flowli.domain.ports import ArchivedExecution, Ports
from flowli.domain.tasks import Task, TaskKind
from flowli.runtime.protocols.start import start_task
from flowli.testing.clock import ManualWorld
from flowli.testing.suites.port_suite import T0, by, new_eid, record

LARGE = [f"line {n} of a long text" for n in range(200)]


def offloading(world: ManualWorld, **options: Any) -> tuple[Ports, Ports]:
    plain = MemoryBackend(world).ports
    return plain, ValueCodec((), **{"inline_bytes": 1000, **options}).wrap(plain, world=world)


def entry(value: Data) -> JournalEntry:
    return JournalEntry(FrameCompleted("root/charge#1", 1, value), by(), 1)


async def bodies(plain: Ports, eid: Eid) -> list[str]:
    return list(await plain.evidence.list(eid))


async def test_a_large_value_leaves_a_small_reference(world: ManualWorld) -> None:
    """COD-6."""
    plain, ports = offloading(world)
    eid = new_eid()
    await ports.journal.append(eid, [entry(LARGE), entry("small")], after=START, epoch=1, writer="w")
    first, second = (await plain.journal.read(eid)).entries
    assert len(str(first.body)) < 400
    assert second.body == entry("small").body
    assert [one.body for one in (await ports.journal.read(eid)).entries] == [entry(LARGE).body, entry("small").body]
    assert len(await bodies(plain, eid)) == 1
    assert list(await ports.evidence.list(eid)) == []


async def test_the_arguments_of_a_start_are_put_once(world: ManualWorld) -> None:
    plain, ports = offloading(world)
    execution = replace(record(), args={"args": [LARGE], "kwargs": {}})
    eid = execution.eid
    await ports.queue.enqueue(start_task(execution, by()))
    await ports.executions.put(execution)
    (lease,) = await ports.queue.dequeue(execution.queue, "w", 30)
    assert lease.task == start_task(execution, by())
    assert await ports.executions.get(eid) == execution
    started = JournalEntry(ExecutionStarted(execution), by(), 1)
    await ports.journal.append(eid, [started], after=START, epoch=1, writer="w")
    assert (await ports.journal.read(eid)).entries == (started,)
    assert len(await bodies(plain, eid)) == 1


async def test_what_was_deleted_is_put_again(world: ManualWorld) -> None:
    plain, ports = offloading(world)
    execution = replace(record(), args={"args": [LARGE], "kwargs": {}})
    for _ in range(2):
        assert await ports.executions.put(execution)
        assert await ports.executions.get(execution.eid) == execution
        await ports.executions.delete(execution.eid)
        await ports.evidence.delete(execution.eid)
    assert await bodies(plain, execution.eid) == []


async def test_an_archive_outlives_the_evidence_of_its_execution(world: ManualWorld) -> None:
    plain, ports = offloading(world)
    execution = replace(record(), args={"args": [LARGE], "kwargs": {}})
    entries = (
        JournalEntry(ExecutionStarted(execution), by(), 1),
        JournalEntry(ExecutionCompleted(LARGE), by(), 2),
    )
    archived = ArchivedExecution(execution, entries, Position(1, 2), T0)
    assert await ports.archive.put(archived)
    await ports.evidence.delete(execution.eid)
    assert await ports.archive.get(execution.eid) == archived
    home = archive_home(execution.eid)
    assert await bodies(plain, home)
    scrubbed = replace(archived, entries=entries[:1], execution=replace(execution, args={}))
    await ports.archive.replace(scrubbed)
    assert await ports.archive.get(execution.eid) == scrubbed
    assert await bodies(plain, home) == []
    await ports.archive.delete(execution.eid)
    assert await ports.archive.get(execution.eid) is None


async def test_the_body_of_a_message_goes_with_its_execution(world: ManualWorld) -> None:
    plain, ports = offloading(world)
    eid = new_eid()
    channel = scoped_channel(eid, "news")
    sent = await ports.channel.send(Message("m-1", channel, LARGE, by()))
    assert sent.payload == LARGE
    assert (await ports.channel.read(channel)).messages == (sent,)
    assert len(await bodies(plain, eid)) == 1


async def test_what_no_execution_owns_stays_inline_and_is_limited(world: ManualWorld) -> None:
    _, ports = offloading(world)
    with pytest.raises(PayloadTooLarge, match=r"channel 'news'.*no execution is 1,000 \(ValueCodec.inline_bytes\)"):
        await ports.channel.send(Message("m-1", "news", LARGE, by()))
    with pytest.raises(PayloadTooLarge, match="claim 'slot'"):
        await ports.dispatch.claim("slot", LARGE)
    assert (await ports.channel.read("news")).messages == ()
    assert (await ports.dispatch.claim("slot", "x" * 998)).won


async def test_a_value_over_the_hard_limit_is_refused_by_name(world: ManualWorld) -> None:
    """COD-6."""
    _, ports = offloading(world, max_value_bytes=2000)
    eid = new_eid()
    fits = "x" * (2000 - 2)
    said = rf"a value of execution {eid} has 2,001 bytes and the limit is 2,000 \(ValueCodec.max_value_bytes\)"
    with pytest.raises(PayloadTooLarge, match=said):
        await ports.journal.append(eid, [entry(fits + "x")], after=START, epoch=1, writer="w")
    assert (await ports.journal.read(eid)).entries == ()
    await ports.journal.append(eid, [entry(fits)], after=START, epoch=1, writer="w")
    assert (await ports.journal.read(eid)).entries == (entry(fits),)


def test_the_limits_are_256_kib_and_32_mib() -> None:
    """COD-6."""
    codec = ValueCodec()
    assert (codec.inline_bytes, codec.max_value_bytes) == (256 * 1024, 32 * 1024 * 1024)


async def test_many_large_values_are_fetched_at_once(world: ManualWorld) -> None:
    plain, ports = offloading(world)
    eid = new_eid()
    await ports.journal.append(eid, [entry([n, *LARGE]) for n in range(8)], after=START, epoch=1, writer="w")

    class Slow:
        under_way = most = 0

        async def get(self, eid: Eid, name: str) -> bytes | None:
            self.under_way += 1
            self.most = max(self.most, self.under_way)
            for _ in range(3):
                await asyncio.sleep(0)
            self.under_way -= 1
            return await plain.evidence.get(eid, name)

    slow: Any = Slow()
    again = ValueCodec((), inline_bytes=1000).wrap(replace(plain, evidence=slow), world=world)
    assert len((await again.journal.read(eid)).entries) == 8
    assert slow.most > 4


async def test_a_missing_or_changed_body_is_told_and_loses_nothing(world: ManualWorld) -> None:
    """COD-7."""
    plain, ports = offloading(world)
    eid = new_eid()
    await ports.journal.append(eid, [entry(LARGE)], after=START, epoch=1, writer="w")
    (name,) = await bodies(plain, eid)
    body = await plain.evidence.get(eid, name)
    await plain.evidence.delete(eid)
    with pytest.raises(ValueUnreadable, match=f"{name}.*not in the bucket"):
        await ports.journal.read(eid)
    await plain.evidence.put(eid, name, b"something else")
    with pytest.raises(ValueUnreadable, match="was changed"):
        await ports.journal.read(eid)
    await plain.evidence.delete(eid)
    assert body is not None
    await plain.evidence.put(eid, name, body)
    assert len((await ports.journal.read(eid)).entries) == 1


async def test_large_payloads_of_every_kind_of_task_come_back(world: ManualWorld) -> None:
    _, ports = offloading(world)
    for kind in (TaskKind.RESUME, TaskKind.DELEGATE, TaskKind.RUN_STEP):
        task = Task("q", kind, new_eid(), T0, by(), key="k", payload={"value": LARGE})
        await ports.queue.enqueue(task)
        (lease,) = await ports.queue.dequeue("q", "w", 30)
        assert lease.task == task
        assert (await ports.queue.renew(lease)).task == task
        await ports.queue.bury(lease, "because", T0)
        (dead,) = await ports.queue.dead("q")
        assert dead.task == task
        assert await ports.queue.revive(dead)
        (lease,) = await ports.queue.dequeue("q", "w", 30)
        assert lease.task == task
        await ports.queue.ack([lease])


def test_every_port_that_carries_values_is_wrapped(world: ManualWorld) -> None:
    plain, ports = offloading(world)
    same = {field.name for field in fields(plain) if getattr(plain, field.name) is getattr(ports, field.name)}
    assert same == {"ownership", "timers", "fork", "poll_hint_s"}
