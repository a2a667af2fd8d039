"""What cannot be read here: each reader is told, and nothing is lost."""

from __future__ import annotations

from dataclasses import replace

import pytest
import structlog

from flowli.adapters.coded import ValueCodec
from flowli.adapters.coded.values import Sealed
from flowli.adapters.memory import MemoryBackend
from flowli.domain.channels import Message
from flowli.domain.entries import START, FrameCompleted, FrameFailed, JournalEntry
from flowli.domain.errors import BackendUnavailable, ErrorInfo, ValueUnreadable
from flowli.domain.ports import Ports
from flowli.domain.tasks import Task, TaskKind
from flowli.runtime.protocols.start import start_task
from flowli.testing.clock import ManualClock, ManualWorld
from flowli.testing.suites.port_suite import T0, by, new_eid, record

from .conftest import NEW, OLD, encryption


@pytest.fixture
def plain(world: ManualWorld) -> Ports:
    return MemoryBackend(world).ports


@pytest.fixture
def writer(plain: Ports, world: ManualWorld) -> Ports:
    return ValueCodec([encryption(world, k1=OLD)]).wrap(plain, world=world)


@pytest.fixture
def reader(plain: Ports, world: ManualWorld) -> Ports:
    """A process that has only another key."""
    return ValueCodec([encryption(world, k2=NEW)]).wrap(plain, world=world)


def delegate(kind: TaskKind = TaskKind.DELEGATE) -> Task:
    return Task("q", kind, new_eid(), T0, by(), key="k", payload={"payload": "secret"})


async def test_work_that_cannot_be_read_is_given_back_for_who_can(
    reader: Ports, writer: Ports, clock: ManualClock
) -> None:
    task = delegate()
    await writer.queue.enqueue(task)
    assert list(await reader.queue.dequeue("q", "w", 30)) == []
    assert list(await writer.queue.dequeue("q", "w", 30)) == []
    await clock.advance(31)
    (lease,) = await writer.queue.dequeue("q", "w", 30)
    assert (lease.task, lease.deaths) == (task, 0)


async def test_one_unreadable_task_holds_nobody_up(reader: Ports, writer: Ports) -> None:
    """QUE-11."""
    await writer.queue.enqueue(delegate())
    mine = delegate()
    await reader.queue.enqueue(mine)
    assert [lease.task for lease in await reader.queue.dequeue("q", "w", 30, limit=5)] == [mine]


async def test_a_wake_up_comes_through_sealed(reader: Ports, writer: Ports) -> None:
    await writer.queue.enqueue(delegate(TaskKind.RESUME))
    (lease,) = await reader.queue.dequeue("q", "w", 30)
    assert isinstance(lease.task.payload, Sealed)
    renewed = await reader.queue.renew(lease)
    await reader.queue.nack(renewed)
    (again,) = await writer.queue.dequeue("q", "w", 30)
    assert again.task.payload == {"payload": "secret"}


async def test_the_record_of_a_start_that_cannot_be_read_is_not_written(reader: Ports, writer: Ports) -> None:
    execution = record()
    await writer.queue.enqueue(start_task(execution, by()))
    (lease,) = await reader.queue.dequeue(execution.queue, "w", 30)
    assert isinstance(lease.task.payload, dict)
    sealed = lease.task.payload["args"]
    assert isinstance(sealed, Sealed)
    assert lease.task.payload["workflow"] == execution.workflow
    with pytest.raises(ValueUnreadable, match="cannot be written anew"):
        await reader.executions.put(replace(execution, args=sealed))
    assert await writer.executions.get(execution.eid) is None


async def test_dead_letters_are_listed_and_revived_by_who_cannot_read_them(reader: Ports, writer: Ports) -> None:
    task = delegate()
    await writer.queue.enqueue(task)
    (view,) = await reader.queue.list("q")
    assert isinstance(view.task.payload, Sealed)
    (lease,) = await writer.queue.dequeue("q", "w", 30)
    await writer.queue.bury(lease, "because", T0)
    (dead,) = await reader.queue.dead("q")
    assert isinstance(dead.task.payload, Sealed)
    assert await reader.queue.revive(dead)
    (lease,) = await writer.queue.dequeue("q", "w", 30)
    assert lease.task == task
    await writer.queue.bury(lease, "because", T0)
    (dead,) = await reader.queue.dead("q")
    assert await reader.queue.discard(dead)


async def test_a_backend_that_fails_in_the_middle_costs_no_death(
    plain: Ports, world: ManualWorld, clock: ManualClock
) -> None:
    ports = ValueCodec((), inline_bytes=100).wrap(plain, world=world)
    task = replace(delegate(), payload="x" * 200)
    await ports.queue.enqueue(task)

    class Down:
        async def get(self, eid: object, name: str) -> bytes:
            raise BackendUnavailable("down")

    down = ValueCodec((), inline_bytes=100).wrap(replace(plain, evidence=Down()), world=world)  # type: ignore[arg-type]
    assert list(await down.queue.dequeue("q", "w", 30)) == []
    await clock.advance(31)
    (lease,) = await ports.queue.dequeue("q", "w", 30)
    assert (lease.task, lease.deaths) == (task, 0)


async def test_journals_messages_and_claims_tell_which_key(reader: Ports, writer: Ports) -> None:
    eid = new_eid()
    failed = FrameFailed("root/a#1", 1, ErrorInfo("ValueError", "secret", "trace"), retryable=False)
    entries = [JournalEntry(body, by()) for body in (FrameCompleted("root/a#1", 1, None), failed)]
    await writer.journal.append(eid, entries, after=START, epoch=1, writer="w")
    await writer.channel.send(Message("m", "news", "secret", by()))
    await writer.dispatch.claim("slot", "secret")
    await writer.executions.put(record(eid))
    await writer.evidence.put(eid, "root.1.1/log", b"secret")
    for read in (
        reader.journal.read(eid),
        reader.channel.read("news"),
        reader.dispatch.claim("slot", "other"),
        reader.executions.get(eid),
        reader.evidence.get(eid, "root.1.1/log"),
    ):
        with pytest.raises(ValueUnreadable, match=r"key 'k1'.*Nothing is lost"):
            await read
    assert [entry.body for entry in (await writer.journal.read(eid)).entries] == [entry.body for entry in entries]


async def test_who_is_overtaken_by_what_it_cannot_read_is_told(reader: Ports, writer: Ports) -> None:
    eid = new_eid()
    entry = JournalEntry(FrameCompleted("root/a#1", 1, "v"), by())
    await writer.journal.append(eid, [entry], after=START, epoch=1, writer="w")
    with pytest.raises(ValueUnreadable):
        await reader.journal.append(eid, [entry], after=START, epoch=2, writer="r")


async def test_the_log_says_it_once_for_each_key(reader: Ports, writer: Ports) -> None:
    eids = [new_eid() for _ in range(3)]
    for eid in eids:
        await writer.executions.put(record(eid))
    with structlog.testing.capture_logs() as logged:
        for eid in eids:
            with pytest.raises(ValueUnreadable, match=str(eid)):
                await reader.executions.get(eid)
    assert len(logged) == 1
    assert "key 'k1'" in logged[0]["error"]


async def test_errors_that_only_look_coded_come_back_as_they_were(plain: Ports, world: ManualWorld) -> None:
    ports = ValueCodec().wrap(plain, world=world)
    eid = new_eid()
    messages = ["$coded:", '$coded:{"$coded": {"v": 1, "value": ["a", "b"]}}', "plain"]
    entries = [
        JournalEntry(FrameFailed("root/a#1", n, ErrorInfo("E", text, "trace"), retryable=True), by(), n)
        for n, text in enumerate(messages, 1)
    ]
    await ports.journal.append(eid, entries, after=START, epoch=1, writer="w")
    assert list((await ports.journal.read(eid)).entries) == entries
