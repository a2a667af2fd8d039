"""``ExecutionStoreSuite``: the contract of ``flowli.domain.ports.ExecutionStore`` as tests."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from flowli.domain.execution import Execution, ParentClose
from flowli.domain.ports import Ports
from flowli.testing.suites.port_suite import PortSuite, by, new_eid, record

__all__ = ["ExecutionStoreSuite"]


class ExecutionStoreSuite(PortSuite):
    """Written once, replaced by comparison."""

    async def test_a_record_that_is_not_there(self, ports: Ports) -> None:
        assert await ports.executions.get(new_eid()) is None

    async def test_records_come_back_equal(self, ports: Ports) -> None:
        small = Execution(new_eid(), "order", "1", {}, by())
        full = replace(record(), on_parent_close=ParentClose.ABANDON, parent_queue="other")
        for written in (small, full):
            assert await ports.executions.put(written)
            assert await ports.executions.get(written.eid) == written

    async def test_a_record_is_put_once(self, ports: Ports) -> None:
        first = record()
        assert await ports.executions.put(first)
        assert not await ports.executions.put(replace(first, version="2"))
        assert not await ports.executions.put(first)
        assert await ports.executions.get(first.eid) == first

    async def test_of_many_puts_one_wins(self, ports: Ports) -> None:
        first = record()
        rivals = [replace(first, version=str(n)) for n in range(12)]
        won = await asyncio.gather(*(ports.executions.put(rival) for rival in rivals))
        assert won.count(True) == 1
        assert await ports.executions.get(first.eid) == rivals[won.index(True)]

    async def test_replace_needs_the_record_that_stands(self, ports: Ports) -> None:
        first = record()
        second, third = replace(first, version="2"), replace(first, version="3")
        await ports.executions.put(first)
        assert await ports.executions.replace(first, second)
        assert not await ports.executions.replace(first, third)
        assert await ports.executions.get(first.eid) == second
        assert await ports.executions.replace(second, third)
        assert await ports.executions.get(first.eid) == third

    async def test_replace_makes_no_record(self, ports: Ports) -> None:
        first = record()
        assert not await ports.executions.replace(first, replace(first, version="2"))
        assert await ports.executions.get(first.eid) is None

    async def test_of_many_replacements_one_wins(self, ports: Ports) -> None:
        first = record()
        await ports.executions.put(first)
        rivals = [replace(first, version=str(n)) for n in range(2, 12)]
        won = await asyncio.gather(*(ports.executions.replace(first, rival) for rival in rivals))
        assert won.count(True) == 1
        assert await ports.executions.get(first.eid) == rivals[won.index(True)]

    async def test_delete(self, ports: Ports) -> None:
        first, other = record(), record()
        await ports.executions.put(first)
        await ports.executions.put(other)
        await ports.executions.delete(first.eid)
        await ports.executions.delete(first.eid)
        assert await ports.executions.get(first.eid) is None
        assert await ports.executions.get(other.eid) == other
