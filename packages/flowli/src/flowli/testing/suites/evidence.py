"""``EvidenceSuite``: the contract of ``flowli.domain.ports.Evidence`` as tests."""

from __future__ import annotations

import asyncio

from flowli.domain.ports import Ports
from flowli.testing.suites.port_suite import PortSuite, new_eid

__all__ = ["EvidenceSuite"]


class EvidenceSuite(PortSuite):
    """Bodies that are written once."""

    async def test_a_body_that_is_not_there(self, ports: Ports) -> None:
        eid = new_eid()
        assert await ports.evidence.get(eid, "root.1.1/log") is None
        assert list(await ports.evidence.list(eid)) == []

    async def test_bodies_come_back_byte_for_byte(self, ports: Ports) -> None:
        eid = new_eid()
        bodies = {"a.1.1/empty": b"", "a.1.1/bytes": bytes(range(256)), "a.1.1/large": b"\0\xff\r\n" * 300_000}
        for name, body in bodies.items():
            assert await ports.evidence.put(eid, name, body)
        for name, body in bodies.items():
            assert await ports.evidence.get(eid, name) == body

    async def test_a_body_is_put_once(self, ports: Ports) -> None:
        eid = new_eid()
        assert await ports.evidence.put(eid, "a.1.1/outcome", b"first")
        assert not await ports.evidence.put(eid, "a.1.1/outcome", b"second")
        assert not await ports.evidence.put(eid, "a.1.1/outcome", b"first")
        assert await ports.evidence.get(eid, "a.1.1/outcome") == b"first"

    async def test_of_many_puts_one_wins(self, ports: Ports) -> None:
        eid = new_eid()
        bodies = [str(n).encode() for n in range(12)]
        won = await asyncio.gather(*(ports.evidence.put(eid, "a.1.1/outcome", body) for body in bodies))
        assert won.count(True) == 1
        assert await ports.evidence.get(eid, "a.1.1/outcome") == bodies[won.index(True)]

    async def test_names_are_listed_in_order_by_prefix(self, ports: Ports) -> None:
        eid = new_eid()
        names = ["b.1.1/log", "a.1.10/log", "a.1.1/outcome", "a.1.1/log", "a.2.1/log", "a.1.2/log"]
        for name in names:
            await ports.evidence.put(eid, name, b"x")
        assert list(await ports.evidence.list(eid)) == sorted(names)
        assert list(await ports.evidence.list(eid, prefix="a.1.1")) == ["a.1.1/log", "a.1.1/outcome", "a.1.10/log"]
        assert list(await ports.evidence.list(eid, prefix="a.1.1/")) == ["a.1.1/log", "a.1.1/outcome"]
        assert list(await ports.evidence.list(eid, prefix="c")) == []

    async def test_more_names_than_a_page_holds_are_all_listed(self, ports: Ports) -> None:
        eid = new_eid()
        names = [f"a.1.1/part-{n:04d}" for n in range(1100)]
        await asyncio.gather(*(ports.evidence.put(eid, name, b"x") for name in names))
        assert list(await ports.evidence.list(eid)) == names

    async def test_executions_do_not_touch_each_other(self, ports: Ports) -> None:
        one, other = new_eid(), new_eid()
        await ports.evidence.put(one, "a.1.1/log", b"one")
        await ports.evidence.put(other, "a.1.1/log", b"other")
        await ports.evidence.delete(one)
        await ports.evidence.delete(one)
        assert list(await ports.evidence.list(one)) == []
        assert await ports.evidence.get(one, "a.1.1/log") is None
        assert await ports.evidence.get(other, "a.1.1/log") == b"other"
