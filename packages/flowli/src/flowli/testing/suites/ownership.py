"""``OwnershipSuite``: the contract of ``flowli.domain.ports.Ownership`` as tests."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from flowli.domain.errors import LeaseLost
from flowli.domain.ids import Eid
from flowli.domain.ports import Acquired, Held, Holder, Lease, LeaseRequest, Ports
from flowli.domain.provenance import Site
from flowli.testing.suites.port_suite import Elapse, PortSuite, by, new_eid

__all__ = ["OwnershipSuite"]


def _holder(name: str = "w-1") -> Holder:
    return Holder(name, Site(name, "host", 4711, "i-1", "eu"))


def _request(name: str) -> LeaseRequest:
    return LeaseRequest(name, "cancel", by(), "asked to", {"n": [1, None]})


def _ids(lease: Lease) -> list[str]:
    return [request.id for request in lease.requests]


class OwnershipSuite(PortSuite):
    """Epochs, expiry, requests, state, races."""

    async def _take(self, ports: Ports, eid: Eid, name: str = "w-1", ttl_s: float | None = None) -> Lease:
        done = await ports.ownership.acquire(eid, _holder(name), ttl_s or self.ttl_s)
        assert isinstance(done, Acquired), done
        return done.lease

    async def _read(self, ports: Ports, eid: Eid) -> Lease:
        found = await ports.ownership.read(eid)
        assert found is not None
        return found

    async def test_there_is_no_lease_before_the_first(self, ports: Ports) -> None:
        assert await ports.ownership.read(new_eid()) is None

    async def test_the_first_acquire_is_epoch_1(self, ports: Ports) -> None:
        eid = new_eid()
        lease = await self._take(ports, eid)
        assert (lease.eid, lease.epoch, lease.holder, lease.ttl_s) == (eid, 1, _holder(), self.ttl_s)
        assert (lease.requests, lease.state, lease.deaths) == ((), None, 0)
        found = await self._read(ports, eid)
        assert (found.eid, found.epoch, found.holder, found.ttl_s) == (eid, 1, _holder(), self.ttl_s)

    @pytest.mark.parametrize("name", ["w-2", "w-1"])
    async def test_a_held_lease_is_not_taken_not_even_by_the_same_holder(self, ports: Ports, name: str) -> None:
        eid = new_eid()
        await self._take(ports, eid, "w-1")
        refused = await ports.ownership.acquire(eid, _holder(name), self.ttl_s)
        assert isinstance(refused, Held)
        assert (refused.lease.epoch, refused.lease.holder) == (1, _holder("w-1"))
        assert (await self._read(ports, eid)).epoch == 1

    async def test_of_many_acquires_exactly_one_gets_it(self, ports: Ports) -> None:
        eid = new_eid()
        done = await asyncio.gather(*(ports.ownership.acquire(eid, _holder(f"w-{n}"), self.ttl_s) for n in range(12)))
        winners = [one.lease for one in done if isinstance(one, Acquired)]
        assert [lease.epoch for lease in winners] == [1]
        assert (await self._read(ports, eid)).holder == winners[0].holder

    async def test_of_many_takeovers_exactly_one_gets_it(self, ports: Ports) -> None:
        """OWN-2."""
        eid = new_eid()
        await self._take(ports, eid)
        seen = await self._read(ports, eid)
        done = await asyncio.gather(
            *(
                ports.ownership.acquire(eid, _holder(f"w-{n}"), self.ttl_s, free_epoch=1, seen=seen if n % 2 else None)
                for n in range(12)
            )
        )
        winners = [one.lease for one in done if isinstance(one, Acquired)]
        assert [lease.epoch for lease in winners] == [2]
        assert (await self._read(ports, eid)).holder == winners[0].holder

    async def test_the_epoch_that_the_journal_released_is_free(self, ports: Ports) -> None:
        """OWN-5."""
        eid = new_eid()
        await self._take(ports, eid)
        refused = await ports.ownership.acquire(eid, _holder("w-2"), self.ttl_s, free_epoch=0)
        assert isinstance(refused, Held)
        taken = await ports.ownership.acquire(eid, _holder("w-2"), self.ttl_s, free_epoch=1)
        assert isinstance(taken, Acquired)
        assert (taken.lease.epoch, taken.lease.holder) == (2, _holder("w-2"))
        late = await ports.ownership.acquire(eid, _holder("w-3"), self.ttl_s, free_epoch=1)
        assert isinstance(late, Held)
        assert late.lease.epoch == 2

    async def test_a_released_lease_is_free_and_epochs_go_on(self, ports: Ports) -> None:
        eid = new_eid()
        for epoch in (1, 2, 3):
            lease = await self._take(ports, eid)
            assert lease.epoch == epoch
            await ports.ownership.release(lease)
            found = await self._read(ports, eid)
            assert (found.epoch, found.holder) == (epoch, None)

    async def test_a_released_lease_cannot_be_renewed(self, ports: Ports) -> None:
        lease = await self._take(ports, new_eid())
        await ports.ownership.release(lease)
        with pytest.raises(LeaseLost):
            await ports.ownership.renew(lease)

    async def test_releasing_what_was_lost_changes_nothing(self, ports: Ports) -> None:
        eid = new_eid()
        old = await self._take(ports, eid)
        await ports.ownership.acquire(eid, _holder("w-2"), self.ttl_s, free_epoch=1)
        await ports.ownership.release(old)
        found = await self._read(ports, eid)
        assert (found.epoch, found.holder) == (2, _holder("w-2"))

    async def test_a_silent_holder_loses_its_lease_after_its_ttl(self, ports: Ports, elapse: Elapse) -> None:
        eid = new_eid()
        old = await self._take(ports, eid)
        await self._read(ports, eid)
        await elapse(self.ttl_s * 0.4)
        assert isinstance(await ports.ownership.acquire(eid, _holder("w-2"), self.ttl_s), Held)
        await elapse(self.ttl_s * 0.7)
        taken = await ports.ownership.acquire(eid, _holder("w-2"), self.ttl_s)
        assert isinstance(taken, Acquired)
        assert (taken.lease.epoch, taken.lease.holder, taken.lease.deaths) == (2, _holder("w-2"), old.deaths + 1)
        with pytest.raises(LeaseLost):
            await ports.ownership.renew(old)

    async def test_its_own_ttl_counts_and_not_that_of_the_contender(self, ports: Ports, elapse: Elapse) -> None:
        eid = new_eid()
        await self._take(ports, eid, ttl_s=self.ttl_s * 100)
        await self._read(ports, eid)
        await elapse(self.ttl_s * 1.1)
        assert isinstance(await ports.ownership.acquire(eid, _holder("w-2"), self.ttl_s * 0.1), Held)

    async def test_renewing_keeps_it(self, ports: Ports, elapse: Elapse) -> None:
        eid = new_eid()
        lease = await self._take(ports, eid)
        for _ in range(4):
            await elapse(self.ttl_s * 0.4)
            lease = await ports.ownership.renew(lease)
            assert isinstance(await ports.ownership.acquire(eid, _holder("w-2"), self.ttl_s), Held)
        assert (lease.epoch, lease.holder) == (1, _holder())

    async def test_idle_time_is_what_certainly_passed(self, ports: Ports, elapse: Elapse) -> None:
        eid = new_eid()
        await self._take(ports, eid)
        first = (await self._read(ports, eid)).idle_s
        await elapse(self.ttl_s * 0.5)
        second = (await self._read(ports, eid)).idle_s
        assert 0.0 <= first < self.ttl_s * 0.5
        assert second >= self.ttl_s * 0.45

    async def test_force_takes_what_is_held_and_fences_its_holder(self, ports: Ports) -> None:
        eid = new_eid()
        old = await self._take(ports, eid)
        taken = await ports.ownership.acquire(eid, _holder("operator"), self.ttl_s, force=True)
        assert isinstance(taken, Acquired)
        assert taken.lease.epoch == 2
        with pytest.raises(LeaseLost):
            await ports.ownership.renew(old)

    async def test_a_fenced_renewal_writes_nothing(self, ports: Ports) -> None:
        eid = new_eid()
        old = await self._take(ports, eid)
        await ports.ownership.request(eid, _request("r-1"))
        await ports.ownership.acquire(eid, _holder("w-2"), self.ttl_s, force=True, state={"n": 2})
        with pytest.raises(LeaseLost):
            await ports.ownership.renew(old, applied=["r-1"], state={"n": 1})
        found = await self._read(ports, eid)
        assert (found.epoch, found.holder, found.state, _ids(found)) == (2, _holder("w-2"), {"n": 2}, ["r-1"])

    async def test_what_was_seen_saves_nothing_if_it_changed(self, ports: Ports) -> None:
        eid = new_eid()
        await ports.ownership.release(await self._take(ports, eid))
        seen = await self._read(ports, eid)
        await self._take(ports, eid, "w-2")
        late = await ports.ownership.acquire(eid, _holder("w-3"), self.ttl_s, seen=seen)
        assert isinstance(late, Held)
        assert (late.lease.epoch, late.lease.holder) == (2, _holder("w-2"))

    async def test_a_lease_is_taken_from_what_was_seen(self, ports: Ports) -> None:
        eid = new_eid()
        await ports.ownership.release(await self._take(ports, eid))
        taken = await ports.ownership.acquire(eid, _holder("w-2"), self.ttl_s, seen=await self._read(ports, eid))
        assert isinstance(taken, Acquired)
        assert taken.lease.epoch == 2

    async def test_a_request_makes_a_lease_of_epoch_0(self, ports: Ports) -> None:
        """OWN-17."""
        eid = new_eid()
        left = await ports.ownership.request(eid, _request("r-1"))
        assert (left.epoch, left.holder, left.requests) == (0, None, (_request("r-1"),))
        lease = await self._take(ports, eid)
        assert (lease.epoch, lease.requests, lease.deaths) == (1, (_request("r-1"),), 0)

    async def test_a_request_reaches_the_holder_and_fences_nobody(self, ports: Ports) -> None:
        eid = new_eid()
        lease = await self._take(ports, eid)
        left = await ports.ownership.request(eid, _request("r-1"))
        assert (left.epoch, left.holder) == (1, _holder())
        renewed = await ports.ownership.renew(lease)
        assert (renewed.epoch, renewed.requests) == (1, (_request("r-1"),))

    async def test_a_request_is_left_once(self, ports: Ports) -> None:
        eid = new_eid()
        await self._take(ports, eid)
        await asyncio.gather(*(ports.ownership.request(eid, _request("r-1")) for _ in range(6)))
        again = await ports.ownership.request(eid, replace(_request("r-1"), reason="another"))
        assert again.requests == (_request("r-1"),)

    async def test_requests_that_race_with_each_other_and_with_the_holder_are_all_kept(self, ports: Ports) -> None:
        eid = new_eid()
        lease = await self._take(ports, eid)

        async def renew() -> None:
            held = lease
            for _ in range(5):
                held = await ports.ownership.renew(held)

        names = [f"r-{n}" for n in range(10)]
        await asyncio.gather(renew(), *(ports.ownership.request(eid, _request(name)) for name in names))
        assert sorted(_ids(await self._read(ports, eid))) == sorted(names)

    async def test_requests_that_race_with_a_takeover_are_all_kept(self, ports: Ports) -> None:
        eid = new_eid()
        await self._take(ports, eid)

        async def take() -> None:
            for _ in range(40):
                if isinstance(await ports.ownership.acquire(eid, _holder("w-2"), self.ttl_s, free_epoch=1), Acquired):
                    return
            raise AssertionError("a free lease was not taken in 40 tries")

        names = [f"r-{n}" for n in range(6)]
        await asyncio.gather(take(), *(ports.ownership.request(eid, _request(name)) for name in names))
        found = await self._read(ports, eid)
        assert (found.epoch, sorted(_ids(found))) == (2, names)

    async def test_requests_survive_release_takeover_and_force(self, ports: Ports) -> None:
        """OWN-9."""
        eid = new_eid()
        lease = await self._take(ports, eid)
        await ports.ownership.request(eid, _request("r-1"))
        await ports.ownership.release(lease)
        lease = await self._take(ports, eid)
        await ports.ownership.request(eid, _request("r-2"))
        free = await ports.ownership.acquire(eid, _holder("w-2"), self.ttl_s, free_epoch=2)
        assert isinstance(free, Acquired)
        forced = await ports.ownership.acquire(eid, _holder("w-3"), self.ttl_s, force=True)
        assert isinstance(forced, Acquired)
        assert _ids(lease) == ["r-1"]
        assert _ids(free.lease) == _ids(forced.lease) == ["r-1", "r-2"]

    async def test_only_applied_requests_are_removed(self, ports: Ports) -> None:
        eid = new_eid()
        lease = await self._take(ports, eid)
        for name in ("r-1", "r-2"):
            await ports.ownership.request(eid, _request(name))
        renewed = await ports.ownership.renew(lease, applied=["r-1", "unheard of"])
        assert _ids(renewed) == ["r-2"]
        assert _ids(await self._read(ports, eid)) == ["r-2"]

    async def test_the_state_stays_until_it_is_replaced(self, ports: Ports) -> None:
        eid = new_eid()
        taken = await ports.ownership.acquire(eid, _holder(), self.ttl_s, state={"cursor": 1})
        assert isinstance(taken, Acquired)
        assert taken.lease.state == {"cursor": 1}
        assert (await ports.ownership.renew(taken.lease)).state == {"cursor": 1}
        renewed = await ports.ownership.renew(taken.lease, state={"cursor": 2})
        assert renewed.state == {"cursor": 2}
        await ports.ownership.release(renewed)
        assert (await self._read(ports, eid)).state == {"cursor": 2}
        assert (await self._take(ports, eid, "w-2")).state == {"cursor": 2}

    async def test_a_removed_lease_is_lost(self, ports: Ports) -> None:
        eid = new_eid()
        lease = await self._take(ports, eid)
        await ports.ownership.remove(eid)
        await ports.ownership.remove(eid)
        assert await ports.ownership.read(eid) is None
        with pytest.raises(LeaseLost):
            await ports.ownership.renew(lease)

    async def test_leases_do_not_touch_each_other(self, ports: Ports) -> None:
        one, other = new_eid(), new_eid()
        lease = await self._take(ports, one, "w-1")
        await self._take(ports, other, "w-2")
        await ports.ownership.release(lease)
        assert (await self._read(ports, other)).holder == _holder("w-2")
