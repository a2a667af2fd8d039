"""``TimersSuite``: the contract of ``flowli.domain.ports.Timers`` as tests."""

from __future__ import annotations

import asyncio

from flowli.domain.ports import Ports
from flowli.domain.timers import Timer
from flowli.testing.suites.port_suite import PortSuite, after_s, new_eid
from flowli.timestamp import Timestamp

__all__ = ["TimersSuite"]


def _timer(seconds: float, fid: str = "root/sleep#1") -> Timer:
    return Timer(after_s(seconds), new_eid(), fid, "finance", 7)


class TimersSuite(PortSuite):
    """A set in the order of time."""

    async def test_nothing_is_due_where_nothing_is_set(self, ports: Ports) -> None:
        assert list(await ports.timers.due(after_s(0))) == []
        assert list(await ports.timers.pending()) == []

    async def test_due_timers_come_earliest_first(self, ports: Ports) -> None:
        timers = [_timer(n) for n in (5, 1, 3600, -7, 3, 86_400 * 400)]
        await asyncio.gather(*(ports.timers.set(timer) for timer in timers))
        in_order = sorted(timers, key=lambda timer: timer.due_at)
        assert list(await ports.timers.due(after_s(4))) == in_order[:3]
        assert list(await ports.timers.due(after_s(3600))) == in_order[:5]
        assert list(await ports.timers.pending()) == in_order

    async def test_a_timer_is_due_at_its_very_instant_and_not_before(self, ports: Ports) -> None:
        """WAI-8."""
        timer = _timer(10)
        await ports.timers.set(timer)
        assert list(await ports.timers.due(Timestamp(timer.due_at.us - 1))) == []
        assert list(await ports.timers.due(timer.due_at)) == [timer]

    async def test_looking_does_not_remove(self, ports: Ports) -> None:
        timer = _timer(0)
        await ports.timers.set(timer)
        assert list(await ports.timers.due(after_s(1))) == list(await ports.timers.due(after_s(1))) == [timer]

    async def test_setting_twice_is_one_timer(self, ports: Ports) -> None:
        timer = _timer(0)
        await asyncio.gather(*(ports.timers.set(timer) for _ in range(5)))
        await ports.timers.set(timer)
        assert list(await ports.timers.due(after_s(1))) == [timer]

    async def test_frames_and_instants_are_told_apart(self, ports: Ports) -> None:
        eid = new_eid()
        timers = [Timer(after_s(n), eid, fid) for n in (1, 2) for fid in ("root/a#1", "root/a#11", "root/é:k")]
        for timer in timers:
            await ports.timers.set(timer)
        assert set(await ports.timers.due(after_s(2))) == set(timers)
        assert await ports.timers.cancel(timers[0])
        assert set(await ports.timers.due(after_s(2))) == set(timers[1:])

    async def test_cancel_removes_once(self, ports: Ports) -> None:
        timer, other = _timer(0), _timer(0)
        await ports.timers.set(timer)
        await ports.timers.set(other)
        assert await ports.timers.cancel(timer)
        assert not await ports.timers.cancel(timer)
        assert list(await ports.timers.due(after_s(1))) == [other]

    async def test_of_many_cancels_one_removes(self, ports: Ports) -> None:
        timer = _timer(0)
        await ports.timers.set(timer)
        done = await asyncio.gather(*(ports.timers.cancel(timer) for _ in range(8)))
        assert done.count(True) == 1

    async def test_a_timer_can_be_set_again_after_it_was_removed(self, ports: Ports) -> None:
        timer = _timer(0)
        await ports.timers.set(timer)
        await ports.timers.cancel(timer)
        await ports.timers.set(timer)
        assert list(await ports.timers.due(after_s(1))) == [timer]

    async def test_limits(self, ports: Ports) -> None:
        timers = [_timer(n) for n in range(10)]
        for timer in reversed(timers):
            await ports.timers.set(timer)
        assert list(await ports.timers.due(after_s(20), limit=3)) == timers[:3]
        assert list(await ports.timers.pending(limit=4)) == timers[:4]

    async def test_many_timers_in_one_second(self, ports: Ports) -> None:
        timers = [_timer(n / 1000) for n in range(300)]
        await asyncio.gather(*(ports.timers.set(timer) for timer in timers))
        assert list(await ports.timers.due(after_s(1))) == timers
