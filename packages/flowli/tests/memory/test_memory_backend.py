"""MemoryBackend beyond the suites: late promotions, removed journals, one set of ports."""

from __future__ import annotations

import pytest

from flowli.adapters.memory import MemoryBackend
from flowli.domain.entries import START, Position
from flowli.domain.ports import Appended, Overtaken
from flowli.testing.clock import ManualWorld
from flowli.testing.suites.port_suite import after_s, entry, new_eid
from flowli.testing.suites.queue_base import task_for


def test_the_ports_are_always_the_same_objects() -> None:
    backend = MemoryBackend()
    assert backend.ports is backend.ports
    assert backend.ports.journal is not MemoryBackend().ports.journal


async def test_a_late_promotion_leaves_nothing_that_runs() -> None:
    """Whoever promotes has read the delayed twin before the ack removed it, and puts the ready one after."""
    queue = MemoryBackend(ManualWorld()).ports.queue
    task = task_for(after=10)
    await queue.enqueue(task)
    await queue.promote("finance", after_s(10))
    (lease,) = await queue.dequeue("finance", "w-1", 30)
    late = queue.promote("finance", after_s(10))
    late.send(None)  # it waits for its listing
    late.send(None)  # it has listed and waits for its write
    await queue.ack([lease])
    with pytest.raises(StopIteration) as done:
        late.send(None)
    assert done.value.value == 1
    assert len(await queue.list("finance")) == 1
    assert await queue.dequeue("finance", "w-1", 30) == []
    assert await queue.list("finance") == []


async def test_a_removed_journal_takes_nothing_more() -> None:
    journal, eid = MemoryBackend(ManualWorld()).ports.journal, new_eid()
    end: Position = START
    for n in range(3):
        done = await journal.append(eid, [entry(n)], after=end, epoch=4, writer="w-1")
        assert isinstance(done, Appended)
        end = done.position
    await journal.delete(eid)
    for after in (START, end):
        late = await journal.append(eid, [entry("late")], after=after, epoch=4, writer="w-1")
        assert isinstance(late, Overtaken)
        assert late.epoch > 4
    assert (await journal.read(eid)).entries == ()
