import asyncio
from dataclasses import asdict, replace

import pytest

from flowli.cairn.database import Cairn
from flowli.cairn.errors import LeaseGone, StoreDamaged
from flowli.cairn.lease import Held, LeaseDoc
from flowli.cairn.lease_doc import Observations, StateChange
from flowli.cairn.objects import Created
from flowli.cairn.store import Object
from flowli.stores.memory import MemoryStore
from flowli.testing.clock import ManualClock, ManualWorld
from flowli.testing.stores import CountingStore, Fault, FaultStore, Hold
from flowli.world import ProcessIdentity

KEY = "wf/exec/1/lease"
A, B = {"worker": "a"}, {"worker": "b"}


class WithoutClock(CountingStore):
    """A store that tells no ages, as a folder does not."""

    async def get(self, key: str) -> Object | None:
        found = await super().get(key)
        return None if found is None else replace(found, age_s=None)


async def take(cairn: Cairn, holder: dict[str, str], ttl_s: float = 30, **options: object) -> LeaseDoc:
    lease = await cairn.leases.acquire(KEY, dict(holder), ttl_s, **options)  # type: ignore[arg-type]
    assert isinstance(lease, LeaseDoc)
    return lease


async def read(cairn: Cairn) -> LeaseDoc:
    lease = await cairn.leases.read(KEY)
    assert lease is not None
    return lease


async def test_first_acquire_has_epoch_one_and_the_next_is_held(cairn: Cairn) -> None:
    lease = await take(cairn, A)
    assert (lease.epoch, lease.holder, lease.ttl_s, lease.deaths) == (1, A, 30, 0)
    held = await cairn.leases.acquire(KEY, dict(B), 30)
    assert isinstance(held, Held)
    assert held.doc is not None
    assert held.doc.holder == A


async def test_stored_fields_are_those_of_the_design(cairn: Cairn) -> None:
    await take(cairn, A, state={"n": 1})
    doc = await cairn.documents.read(KEY)
    assert doc is not None
    assert doc.body == {"epoch": 1, "holder": A, "ttl_s": 30, "requests": [], "state": {"n": 1}, "deaths": 0}


async def test_requests_of_each_call_are_few(cairn: Cairn, store: CountingStore) -> None:
    lease = await take(cairn, A, expect_absent=True)
    assert [one.verb for one in store.requests] == ["put"]
    mark = store.snapshot()
    lease = await cairn.leases.renew(lease)
    lease = await cairn.leases.release(lease)
    assert [one.verb for one in store.requests[mark:]] == ["put", "put"]
    mark = store.snapshot()
    await take(cairn, B, seen=lease)
    assert [one.verb for one in store.requests[mark:]] == ["put"]


async def test_released_lease_is_taken_at_once_and_is_no_death(cairn: Cairn) -> None:
    lease = await cairn.leases.release(await take(cairn, A))
    assert (lease.holder, lease.epoch) == (None, 1)
    taken = await take(cairn, B)
    assert (taken.epoch, taken.deaths) == (2, 0)


async def test_epoch_known_to_have_ended_is_taken_at_once_and_is_no_death(cairn: Cairn) -> None:
    await take(cairn, A)
    assert isinstance(await cairn.leases.acquire(KEY, dict(B), 30, free_epoch=2), Held)
    taken = await take(cairn, B, free_epoch=1)
    assert (taken.epoch, taken.deaths) == (2, 0)


async def test_expiry_is_by_the_ttl_of_the_lease_and_the_clock_of_the_store(cairn: Cairn, clock: ManualClock) -> None:
    await take(cairn, A, ttl_s=30)
    await clock.advance(29.9)
    assert isinstance(await cairn.leases.acquire(KEY, dict(B), 1), Held)
    await clock.advance(0.2)
    taken = await take(cairn, B, ttl_s=1)
    assert (taken.epoch, taken.deaths) == (2, 1)


async def test_without_clock_a_contender_waits_for_what_it_has_seen_itself(
    clock: ManualClock, store: CountingStore
) -> None:
    """OWN-7."""
    owner = Cairn(WithoutClock(store), ManualWorld(clock, name="owner", skew_s=-5000))
    contender = Cairn(WithoutClock(store), ManualWorld(clock, name="contender", skew_s=90_000))
    lease = await take(owner, A)
    await clock.advance(1000)
    assert isinstance(await contender.leases.acquire(KEY, dict(B), 30), Held)  # never seen before
    await clock.advance(29)
    lease = await owner.leases.renew(lease)
    await clock.advance(29)
    assert isinstance(await contender.leases.acquire(KEY, dict(B), 30), Held)  # another version since
    await clock.advance(29)
    assert isinstance(await contender.leases.acquire(KEY, dict(B), 30), Held)
    await clock.advance(1.1)
    assert (await take(contender, B)).epoch == 2


async def test_request_by_another_keeps_the_lease_of_a_live_owner(cairn: Cairn, clock: ManualClock) -> None:
    await take(cairn, A, ttl_s=30)
    await clock.advance(20)
    await cairn.leases.request(KEY, {"id": "r"})
    await clock.advance(20)
    assert (await read(cairn)).idle_s == pytest.approx(20)


async def test_lease_of_a_dead_process_is_taken_at_once(cairn: Cairn, world: ManualWorld) -> None:
    """OWN-8."""
    dead = ProcessIdentity("host", 7, "boot", "ns", "42")
    await take(cairn, {"worker": "a", "process": asdict(dead)})  # type: ignore[dict-item]
    assert isinstance(await cairn.leases.acquire(KEY, dict(B), 30), Held)
    world.dead.add(dead)
    taken = await take(cairn, B)
    assert (taken.epoch, taken.deaths) == (2, 1)


@pytest.mark.parametrize("process", [None, 7, {}, {"host": "h"}, {"host": "h", "pid": "x"}])
async def test_holder_without_usable_process_is_not_dead(cairn: Cairn, process: object) -> None:
    await take(cairn, {"process": process})  # type: ignore[dict-item]
    assert isinstance(await cairn.leases.acquire(KEY, dict(B), 30), Held)


async def test_loser_never_refreshes_its_version_and_writes_on(cairn: Cairn, clock: ManualClock) -> None:
    """A paused owner comes back after a steal: each of its writes ends, and the new owner's document is untouched."""
    stale = await take(cairn, A, ttl_s=10)
    await clock.advance(11)
    await take(cairn, B, ttl_s=1000)
    await cairn.leases.request(KEY, {"id": "r"})
    before = await cairn.documents.read(KEY)
    taken = "epoch 1 was taken under epoch 2"
    with pytest.raises(LeaseGone, match=taken):
        await cairn.leases.renew(stale, state={"by": "a"})
    with pytest.raises(LeaseGone, match=taken):
        await cairn.leases.set_state(stale, {"by": "a"})
    with pytest.raises(LeaseGone, match=taken):
        await cairn.leases.release(stale)
    assert not await cairn.leases.remove(stale)
    assert await cairn.documents.read(KEY) == before


async def test_loser_in_the_middle_of_a_renewal_ends_too(clock: ManualClock, world: ManualWorld) -> None:
    inner = MemoryStore(world=world)
    hold = Hold()
    slow = Cairn(FaultStore(inner, [Fault(hold, nth=2)]), world)
    quick = Cairn(inner, ManualWorld(clock, name="other"))
    lease = await take(slow, A, ttl_s=10)

    async def steal() -> None:
        await hold.reached.wait()
        await world.sleep(11)
        await take(quick, B, ttl_s=10)
        hold.gate.set()

    async def both() -> None:
        renewed, _ = await asyncio.gather(slow.leases.renew(lease), steal(), return_exceptions=True)
        assert isinstance(renewed, LeaseGone)

    await clock.run(both())
    now = await quick.leases.read(KEY)
    assert now is not None
    assert (now.epoch, now.holder) == (2, B)


async def test_renewal_keeps_requests_that_came_meanwhile(cairn: Cairn) -> None:
    lease = await take(cairn, A)
    await cairn.leases.request(KEY, {"id": "one"})
    await cairn.leases.request(KEY, {"id": "two", "x": 1})
    renewed = await cairn.leases.renew(lease, drop_requests=["one"])
    assert renewed.requests == ({"id": "two", "x": 1},)
    assert (await cairn.leases.renew(renewed, drop_requests={"two"})).requests == ()


async def test_renewal_after_removal_or_release_ends(cairn: Cairn) -> None:
    lease = await take(cairn, A)
    await cairn.leases.release(lease)
    with pytest.raises(LeaseGone, match="was released"):
        await cairn.leases.renew(lease)
    assert await cairn.leases.remove(await read(cairn))
    with pytest.raises(LeaseGone, match="was removed"):
        await cairn.leases.renew(lease)


async def test_request_before_the_first_owner_makes_epoch_zero_and_survives(cairn: Cairn) -> None:
    made = await cairn.leases.request(KEY, {"id": "r", "verb": "cancel"})
    assert made is not None
    assert (made.epoch, made.holder) == (0, None)
    taken = await take(cairn, A)
    assert (taken.epoch, taken.deaths, taken.requests) == (1, 0, ({"id": "r", "verb": "cancel"},))


async def test_requests_survive_release_and_steal(cairn: Cairn, clock: ManualClock) -> None:
    lease = await take(cairn, A, ttl_s=10)
    await cairn.leases.request(KEY, {"id": "r"})
    lease = await cairn.leases.release(await cairn.leases.renew(lease))
    assert (await take(cairn, A, ttl_s=10)).requests == ({"id": "r"},)
    await clock.advance(11)
    assert (await take(cairn, B)).requests == ({"id": "r"},)


async def test_same_request_twice_is_one(cairn: Cairn, store: CountingStore) -> None:
    await cairn.leases.request(KEY, {"id": "r", "n": 1})
    mark = store.snapshot()
    lease = await cairn.leases.request(KEY, {"id": "r", "n": 2})
    assert lease is not None
    assert lease.requests == ({"id": "r", "n": 1},)
    assert store.since(mark).put == 0
    with pytest.raises(ValueError, match="id"):
        await cairn.leases.request(KEY, {"n": 1})


async def test_nothing_is_made_where_nothing_may_be_made(cairn: Cairn) -> None:
    assert await cairn.leases.acquire(KEY, dict(A), 30, create=False) == Held(None)
    assert await cairn.leases.request(KEY, {"id": "r"}, create=False) is None
    assert await cairn.leases.read(KEY) is None


@pytest.mark.parametrize("change", [{"n": 2}, lambda state: {**state, "n": 2}])
async def test_state_is_kept_unless_given(cairn: Cairn, change: StateChange) -> None:
    lease = await cairn.leases.renew(await take(cairn, A, state={"n": 1, "m": 1}))
    assert lease.state == {"n": 1, "m": 1}
    lease = await cairn.leases.set_state(lease, change)
    assert lease.state["n"] == 2
    assert (await take(cairn, B, free_epoch=1)).state["n"] == 2


async def test_change_of_state_starts_from_the_state_that_is_there(cairn: Cairn) -> None:
    lease = await take(cairn, A, state={"n": 1})
    await cairn.leases.set_state(lease, {"n": 5})
    assert (await cairn.leases.renew(lease, state=lambda now: {"n": int(str(now["n"])) + 1})).state == {"n": 6}


async def test_lease_on_a_document_that_holds_more_keeps_the_rest(cairn: Cairn) -> None:
    made = await cairn.documents.create(KEY, {"task": {"kind": "START"}})
    assert isinstance(made, Created)
    lease = await take(cairn, A, seen=cairn.leases.view(made.doc), create=False)
    lease = await cairn.leases.renew(lease, deaths=3)
    await cairn.leases.request(KEY, {"id": "r"})
    await cairn.leases.set_state(lease, {"x": 1})
    now = await read(cairn)
    assert (now.doc.body["task"], now.epoch, now.deaths) == ({"kind": "START"}, 1, 3)


@pytest.mark.parametrize("field", ["epoch", "holder", "ttl_s", "requests", "state", "deaths"])
async def test_field_of_wrong_type_is_damage(cairn: Cairn, field: str) -> None:
    await cairn.documents.create(KEY, {field: "x"})
    with pytest.raises(StoreDamaged, match="is not a lease"):
        await cairn.leases.read(KEY)


async def test_observations_are_bounded_and_forgetting_starts_anew(clock: ManualClock) -> None:
    seen = Observations(ManualWorld(clock), remembered=2)
    seen.observe("a", "1")
    await clock.advance(5)
    assert seen.observe("a", "1") == 5
    seen.observe("b", "1")
    seen.observe("c", "1")
    assert seen.observe("a", "1") == 0
    assert seen.observe("a", "1", age_s=77.0) == 77.0
