"""Moving an installation: every key arrives, a copy that was cut off goes on, and nobody works on two buckets."""

import hashlib
import json
from collections.abc import Iterator

import pytest

from flowli.cairn.copying import Move
from flowli.cairn.copying.manifest import PREFIX
from flowli.cairn.database import Cairn
from flowli.cairn.document import TOMBSTONE
from flowli.cairn.errors import CopyRefused, StoreUnavailable, StoreUnsuitable
from flowli.cairn.layout import LAYOUT_KEY
from flowli.cairn.lease import Held
from flowli.cairn.store import ObjectStore
from flowli.cairn.write import Gone, Lost, Unknown, Won
from flowli.stores.memory import MemoryStore
from flowli.testing.clock import ManualClock, ManualWorld
from flowli.testing.stores import CountingStore, DropReply, Fault, FaultStore, Refuse

LEASE = "wf/exec/e1/lease"
HOLDER = {"id": "w-1", "process": {"host": "far", "pid": 7}}


class Ageless(MemoryStore):
    """A store without a clock of its own."""

    async def get(self, key):
        found = await super().get(key)
        return found and type(found)(found.data, found.version)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def world(clock) -> ManualWorld:
    return ManualWorld(clock)


@pytest.fixture
async def source(world) -> MemoryStore:
    """An installation with a log and some documents."""
    store = MemoryStore("", world=world, page_size=4)
    cairn = Cairn(store, world)
    await cairn.ensure_layout()
    for number in range(3):
        await cairn.log("wf").append_next([{"n": number}], "w")
        await cairn.documents.create(f"wf/exec/e{number}/meta", {"n": number})
    return store


@pytest.fixture
def target(world) -> MemoryStore:
    return MemoryStore(world=world, page_size=4)


async def contents(store: ObjectStore) -> dict[str, str]:
    """Digest of every object of the installation."""
    found: dict[str, str] = {}
    for key in keys_of(store):
        one = await store.get(key)
        if one is not None and not key.startswith((PREFIX, "wf/probe/")) and key != LAYOUT_KEY:
            found[key] = hashlib.sha256(one.data).hexdigest()
    return found


def keys_of(store: ObjectStore) -> Iterator[str]:
    inner = getattr(store, "store", store)
    yield from list(inner._shelf.keys)


async def opens(store: ObjectStore, world: ManualWorld) -> None:
    await Cairn(store, world).ensure_layout()


async def test_a_copy_is_the_same_and_stays_closed_until_the_cut_over(source, target, world):
    moved = await Move(source, target, world).run()
    assert (moved.keys, moved.copied, moved.verified, moved.mended, moved.done) == (6, 6, 6, 0, False)
    assert await contents(target) == await contents(source)
    with pytest.raises(StoreUnsuitable, match="still being copied to here from memory:"):
        await opens(target, world)
    await opens(source, world)


async def test_after_the_cut_over_the_target_is_the_installation(source, target, world):
    """STO-14."""
    target.name = "new"
    moved = await Move(source, target, world).run(cut_over=True)
    assert moved.done
    assert await contents(target) == await contents(source)
    await opens(target, world)
    with pytest.raises(StoreUnsuitable, match="was moved to memory:new"):
        await opens(source, world)
    assert not [key for key in keys_of(target) if key.startswith(PREFIX)]
    again = await Move(source, target, world).run(cut_over=True)
    assert (again.done, again.copied) == (True, 0)


async def test_the_next_run_copies_only_what_changed(source, target, world):
    await Move(source, target, world).run()
    cairn = Cairn(source, world)
    doc = await cairn.documents.read("wf/exec/e0/meta")
    await cairn.documents.swap(doc, {"n": 10})
    await cairn.documents.create("wf/exec/e9/meta", {"n": 9})
    await cairn.documents.remove(await cairn.documents.read("wf/exec/e1/meta"))
    counted = CountingStore(source)
    moved = await Move(counted, target, world).run()
    assert (moved.copied, moved.removed, moved.passes) == (2, 1, 2)
    assert counted.since(key="wf/exec/*").get == 2
    assert await contents(target) == await contents(source)


async def test_what_changes_during_the_first_pass_is_in_the_second(source, target, world):
    class Busy(CountingStore):
        async def get(self, key):
            found = await super().get(key)
            if key == "wf/exec/e2/meta" and len(self.requests) < 100:
                await self.store.put("wf/exec/late/meta", b"{}", if_absent=True)
            return found

    moved = await Move(Busy(source), target, world).run()
    assert (moved.keys, moved.copied, moved.passes) == (7, 7, 2)
    assert await contents(target) == await contents(source)


@pytest.mark.parametrize("cut_over", [False, True])
async def test_a_copy_that_fails_at_any_request_goes_on_and_ends_the_same(source, world, cut_over, clock):
    """STO-15."""
    wanted = await contents(source)
    whole = FaultStore(MemoryStore(world=world))
    await Move(FaultStore(source), whole, world).run(cut_over=cut_over)
    if cut_over:
        await unseal(source, world)
    total = len(whole.requests)
    refusal = Refuse(StoreUnsuitable("broken off"))
    for nth in range(1, total + 1):
        target = FaultStore(MemoryStore(world=world), [Fault(refusal, verb="*", nth=nth, times=10_000)])
        with pytest.raises(StoreUnsuitable, match="broken off"):
            await Move(source, target, world).run(cut_over=cut_over)
        target.script.clear()
        assert (await Move(source, target, world).run(cut_over=cut_over)).done is cut_over
        assert await contents(target) == wanted
        if cut_over:
            await opens(target, world)
            await unseal(source, world)
        else:
            await opens(source, world)


async def test_a_source_that_fails_in_the_cut_over_is_open_again_when_it_answers_again(source, world):
    """STO-14: at each request but the last ones, which come when the target is the installation already."""
    whole = FaultStore(source)
    await Move(whole, MemoryStore(world=world), world).run(cut_over=True)
    await unseal(source, world)
    for nth in range(1, len(whole.requests)):
        failing = FaultStore(source, [Fault(Refuse(StoreUnsuitable("gone")), verb="*", nth=nth)])
        target = MemoryStore(world=world)
        with pytest.raises(StoreUnsuitable, match="gone"):
            await Move(failing, target, world).run(cut_over=True)
        assert (await Move(source, target, world).run()).done is False
        await opens(source, world)
        assert (await Move(source, target, world).run(cut_over=True)).done
        await unseal(source, world)


async def unseal(source: ObjectStore, world: ManualWorld) -> None:
    documents = Cairn(source, world).documents
    doc = await documents.read(LAYOUT_KEY)
    await documents.swap(doc, {"layout": 1, "formats": doc.body["formats"]})


async def test_lost_answers_and_throttles_do_no_harm(source, world, clock):
    busy = StoreUnavailable("busy")
    script = [Fault(DropReply(), nth=2, times=3), Fault(Refuse(busy), verb="*", nth=9, times=2)]
    target = FaultStore(MemoryStore(world=world), script)
    moved = await clock.run(Move(source, target, world).run(cut_over=True))
    assert moved.done
    assert await contents(target) == await contents(source)


async def test_an_object_that_did_not_arrive_as_it_was_is_mended(source, target, world):
    await Move(source, target, world).run()
    await target.put("wf/exec/e1/meta", b"something else")
    await target.put("wf/exec/stray/meta", b"left by a copy that was killed")
    moved = await Move(source, target, world).run()
    assert (moved.copied, moved.mended) == (0, 2)
    assert await contents(target) == await contents(source)


async def test_a_target_that_keeps_nothing_is_refused_and_the_source_is_open_again(source, world):
    class Forgets(CountingStore):
        async def put(self, key, data, *, if_absent=False, if_version=None) -> Won | Lost | Gone | Unknown:
            if key.endswith("e1/meta"):
                return Won("1")
            return await super().put(key, data, if_absent=if_absent, if_version=if_version)

    with pytest.raises(CopyRefused, match="does not keep what was written"):
        await Move(source, Forgets(MemoryStore(world=world)), world).run(cut_over=True)
    await opens(source, world)


async def held(store: ObjectStore, world: ManualWorld, key: str = LEASE):
    got = await Cairn(store, world).leases.acquire(key, HOLDER, 30.0, create=True)
    assert not isinstance(got, Held)
    return got


async def test_the_cut_over_is_refused_while_a_lease_is_live(source, target, world, clock):
    """STO-14."""
    lease = await held(source, world)
    with pytest.raises(CopyRefused, match=r"wf/exec/e1/lease is held by w-1 \(far, process 7\)"):
        await Move(source, target, world).run(cut_over=True)
    await opens(source, world)
    await Cairn(source, world).leases.release(lease)
    assert (await Move(source, target, world).run(cut_over=True)).done


async def test_a_lease_that_expired_is_not_live(source, target, world, clock):
    await held(source, world, "wf/queues/default/ready/05/2026-11-30T00:00:00.000000Z/t-1")
    await clock.advance(31)
    assert (await Move(source, target, world).run(cut_over=True)).done


async def test_where_the_store_has_no_clock_a_lease_is_watched_for_its_ttl(world, clock):
    store = Ageless(world=world)
    await Cairn(store, world).ensure_layout()
    lease = await held(store, world)
    before = world.monotonic_s()
    moved = await clock.run(Move(store, MemoryStore(world=world), world).run(cut_over=True))
    assert moved.done
    assert world.monotonic_s() - before >= 30

    await unseal(store, world)
    target = MemoryStore(world=world)

    async def renew_and_move() -> None:
        cairn = Cairn(store, world)
        mine = lease
        move = Move(Renewing(store, cairn, mine), target, world)
        await move.run(cut_over=True)

    with pytest.raises(CopyRefused, match="is held by w-1"):
        await clock.run(renew_and_move())


class Renewing(CountingStore):
    """Whenever the lease is read its holder renews it."""

    def __init__(self, store, cairn, lease) -> None:
        super().__init__(store)
        self._cairn, self._lease = cairn, lease

    async def get(self, key):
        found = await super().get(key)
        if key == LEASE:
            self._lease = await self._cairn.leases.renew(self._lease)
        return found


async def test_who_takes_a_lease_between_the_look_and_the_seal_keeps_the_source(source, target, world):
    class Late(CountingStore):
        async def put(self, key, data, *, if_absent=False, if_version=None) -> Won | Lost | Gone | Unknown:
            done = await super().put(key, data, if_absent=if_absent, if_version=if_version)
            if key == LAYOUT_KEY and "moved_to" in json.loads(data):
                await held(self.store, world)
            return done

    with pytest.raises(CopyRefused, match="is held by w-1"):
        await Move(Late(source), target, world).run(cut_over=True)
    await opens(source, world)
    with pytest.raises(StoreUnsuitable, match="still being copied"):
        await opens(target, world)


async def test_a_source_or_target_that_is_something_else_is_refused(source, target, world):
    with pytest.raises(CopyRefused, match="holds no installation"):
        await Move(MemoryStore(world=world), target, world).run()
    other = MemoryStore(world=world)
    await opens(other, world)
    with pytest.raises(CopyRefused, match="holds an installation already"):
        await Move(source, other, world).run()
    strange = MemoryStore(world=world)
    await strange.put("holiday/photo.jpg", b"x")
    with pytest.raises(CopyRefused, match=r"is not empty: it holds 'holiday/photo\.jpg'"):
        await Move(source, strange, world).run()
    source.name = "one"
    await Move(source, target, world).run()
    elsewhere = MemoryStore(world=world)
    await opens(elsewhere, world)
    with pytest.raises(CopyRefused, match="is a copy of memory:one"):
        await Move(elsewhere, target, world).run()
    target.name = "two"
    await Move(source, target, world).run(cut_over=True)
    with pytest.raises(CopyRefused, match=r"was moved to memory:two\. Copy from there"):
        await Move(source, MemoryStore(world=world), world).run()


async def test_tombstones_are_not_taken_along(source, target, world):
    await source.put("wf/claims/gone", TOMBSTONE + b"1")
    moved = await Move(source, target, world).run()
    assert await target.get("wf/claims/gone") is None
    assert moved.verified == 6
    assert (await Move(source, target, world).run()).copied == 0
