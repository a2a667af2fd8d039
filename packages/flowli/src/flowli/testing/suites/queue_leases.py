"""Queues: the lease of a task."""

from __future__ import annotations

import pytest

from flowli.domain.errors import LeaseLost
from flowli.domain.ports import Ports
from flowli.testing.suites.port_suite import Elapse, after_s
from flowli.testing.suites.queue_base import QueueTests, task_for

__all__ = ["QueueLeases"]


class QueueLeases(QueueTests):
    """Holding, renewing, losing, giving back."""

    async def test_a_held_task_is_given_to_nobody(self, ports: Ports, elapse: Elapse) -> None:
        """QUE-2."""
        await ports.queue.enqueue(task_for())
        await self.take(ports, elapse)
        assert await self.nothing(ports, "w-2")
        assert await self.nothing(ports, "w-1")

    async def test_an_acked_task_is_gone(self, ports: Ports, elapse: Elapse) -> None:
        """QUE-3."""
        task = task_for()
        await ports.queue.enqueue(task)
        leases = await self.take(ports, elapse)
        await ports.queue.ack(leases)
        await ports.queue.ack(leases)
        assert list(await ports.queue.list("finance")) == []
        await elapse(self.ttl_s * 1.1)
        assert await self.nothing(ports)
        assert await ports.queue.enqueue(task), "what was done can be asked for again"

    async def test_many_acks_at_once(self, ports: Ports, elapse: Elapse) -> None:
        for n in range(12):
            await ports.queue.enqueue(task_for(str(n)))
        leases = await self.take(ports, elapse, 12)
        await ports.queue.ack(leases[:11])
        assert [view.task for view in await ports.queue.list("finance")] == [leases[11].task]

    async def test_a_nacked_task_comes_again(self, ports: Ports, elapse: Elapse) -> None:
        task = task_for()
        await ports.queue.enqueue(task)
        (lease,) = await self.take(ports, elapse)
        await ports.queue.nack(lease)
        (again,) = await self.take(ports, elapse, holder="w-2")
        assert (again.task, again.holder, again.deaths) == (task, "w-2", 0)
        assert again.epoch > lease.epoch

    async def test_a_nacked_task_waits_for_its_delay(self, ports: Ports, elapse: Elapse) -> None:
        """QUE-3."""
        await ports.queue.enqueue(task_for())
        (lease,) = await self.take(ports, elapse)
        await ports.queue.nack(lease, delay_s=self.ttl_s * 2)
        assert await self.nothing(ports)
        await elapse(self.ttl_s)
        assert await self.nothing(ports), "the delay counts, not the ttl"
        await elapse(self.ttl_s * 1.1)
        (again,) = await self.take(ports, elapse, holder="w-2")
        assert again.deaths == 0

    async def test_a_task_whose_holder_is_silent_is_taken_over_and_its_deaths_rise(
        self, ports: Ports, elapse: Elapse
    ) -> None:
        """QUE-3."""
        await ports.queue.enqueue(task_for())
        (old,) = await self.take(ports, elapse)
        assert await self.nothing(ports, "w-2")
        await elapse(self.ttl_s * 1.1)
        (new,) = await self.take(ports, elapse, holder="w-2")
        assert (new.task, new.holder, new.deaths) == (old.task, "w-2", 1)
        assert new.epoch > old.epoch

    async def test_its_own_ttl_counts_and_not_that_of_the_contender(self, ports: Ports, elapse: Elapse) -> None:
        await ports.queue.enqueue(task_for())
        assert len(await ports.queue.dequeue("finance", "w-1", self.ttl_s * 50)) == 1
        assert not await ports.queue.dequeue("finance", "w-2", self.ttl_s * 0.2)
        await elapse(self.ttl_s * 0.6)
        assert not await ports.queue.dequeue("finance", "w-2", self.ttl_s * 0.2)

    async def test_renewing_keeps_a_task(self, ports: Ports, elapse: Elapse) -> None:
        await ports.queue.enqueue(task_for())
        (lease,) = await self.take(ports, elapse)
        for _ in range(4):
            await elapse(self.ttl_s * 0.4)
            lease = await ports.queue.renew(lease)
            assert await self.nothing(ports)
        assert lease.deaths == 0
        await ports.queue.ack([lease])
        assert list(await ports.queue.list("finance")) == []

    async def test_who_was_fenced_can_do_nothing_more(self, ports: Ports, elapse: Elapse) -> None:
        await ports.queue.enqueue(task_for())
        (old,) = await self.take(ports, elapse)
        assert await self.nothing(ports, "w-2")
        await elapse(self.ttl_s * 1.1)
        (new,) = await self.take(ports, elapse, holder="w-2")
        with pytest.raises(LeaseLost):
            await ports.queue.renew(old)
        await ports.queue.ack([old])
        await ports.queue.nack(old)
        await ports.queue.bury(old, "late", after_s(1))
        assert list(await ports.queue.dead("finance")) == []
        assert await self.nothing(ports, "w-3")
        renewed = await ports.queue.renew(new)
        assert (renewed.holder, renewed.deaths) == ("w-2", 1)

    async def test_renewing_what_was_removed_is_lost(self, ports: Ports, elapse: Elapse) -> None:
        await ports.queue.enqueue(task_for())
        (lease,) = await self.take(ports, elapse)
        await ports.queue.ack([lease])
        with pytest.raises(LeaseLost):
            await ports.queue.renew(lease)

    @pytest.mark.parametrize(("alive", "deaths"), [(True, 0), (False, 1)])
    async def test_a_nack_says_whether_the_task_was_survived(
        self, ports: Ports, elapse: Elapse, alive: bool, deaths: int
    ) -> None:
        await ports.queue.enqueue(task_for())
        await self.take(ports, elapse)
        assert await self.nothing(ports)
        await elapse(self.ttl_s * 1.1)
        (second,) = await self.take(ports, elapse, holder="w-2")
        await ports.queue.nack(second, alive=alive)
        (third,) = await self.take(ports, elapse, holder="w-3")
        assert third.deaths == deaths

    async def test_a_holder_can_vouch_for_a_task_while_it_holds_it(self, ports: Ports, elapse: Elapse) -> None:
        await ports.queue.enqueue(task_for())
        await self.take(ports, elapse)
        await elapse(self.ttl_s * 1.1)
        (second,) = await self.take(ports, elapse, holder="w-2")
        assert second.deaths == 1
        vouched = await ports.queue.renew(second, alive=True)
        assert (vouched.holder, vouched.deaths) == ("w-2", 0)
        assert (await ports.queue.renew(vouched)).deaths == 0
        await elapse(self.ttl_s * 1.1)
        (third,) = await self.take(ports, elapse, holder="w-3")
        assert third.deaths == 1
