"""``ArchiveSuite``: the contract of ``flowli.domain.ports.Archive`` as tests."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from flowli.domain.entries import ExecutionCompleted, ExecutionErased, ExecutionStarted, JournalEntry, Position
from flowli.domain.ports import ArchivedExecution, Ports
from flowli.testing.suites.port_suite import PortSuite, after_s, by, entry, new_eid, record

__all__ = ["ArchiveSuite"]


def _archived(entries: int = 50) -> ArchivedExecution:
    execution = record()
    journal = [
        JournalEntry(ExecutionStarted(execution), execution.created_by),
        *(entry({"n": n}, at=after_s(n), fid=f"root/a#{n}") for n in range(entries)),
        JournalEntry(ExecutionCompleted("done"), by(after_s(entries), epoch=2)),
    ]
    numbered = tuple(replace(one, seq=seq) for seq, one in enumerate(journal, 1))
    return ArchivedExecution(execution, numbered, Position(7, len(numbered)), after_s(100))


class ArchiveSuite(PortSuite):
    """Written once, replaced by erasure."""

    async def test_an_archive_that_is_not_there(self, ports: Ports) -> None:
        assert await ports.archive.get(new_eid()) is None

    async def test_archives_come_back_equal(self, ports: Ports) -> None:
        for written in (_archived(0), _archived(300)):
            assert await ports.archive.put(written)
            assert await ports.archive.get(written.execution.eid) == written

    async def test_an_archive_is_put_once(self, ports: Ports) -> None:
        first = _archived()
        assert await ports.archive.put(first)
        assert not await ports.archive.put(replace(first, archived_at=after_s(200)))
        assert await ports.archive.get(first.execution.eid) == first

    async def test_of_many_puts_one_wins(self, ports: Ports) -> None:
        rivals = [replace(_archived(1), archived_at=after_s(0))]
        rivals += [replace(rivals[0], archived_at=after_s(n)) for n in range(1, 10)]
        won = await asyncio.gather(*(ports.archive.put(rival) for rival in rivals))
        assert won.count(True) == 1
        assert await ports.archive.get(rivals[0].execution.eid) == rivals[won.index(True)]

    async def test_replace_puts_a_scrubbed_archive_in_its_place(self, ports: Ports) -> None:
        first = _archived()
        await ports.archive.put(first)
        erased = JournalEntry(ExecutionErased("asked"), by(after_s(300)), len(first.entries) + 1)
        scrubbed = replace(first, execution=replace(first.execution, args={}), entries=(*first.entries, erased))
        await ports.archive.replace(scrubbed)
        assert await ports.archive.get(first.execution.eid) == scrubbed

    async def test_delete(self, ports: Ports) -> None:
        first, other = _archived(), _archived()
        await ports.archive.put(first)
        await ports.archive.put(other)
        await ports.archive.delete(first.execution.eid)
        await ports.archive.delete(first.execution.eid)
        assert await ports.archive.get(first.execution.eid) is None
        assert await ports.archive.get(other.execution.eid) == other
