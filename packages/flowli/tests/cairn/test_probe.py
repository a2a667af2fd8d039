import pytest

from flowli.cairn.errors import StoreUnavailable, StoreUnsuitable
from flowli.cairn.probe import probe
from flowli.cairn.store import Page
from flowli.cairn.write import Gone, Lost, Unknown, Won
from flowli.stores.memory import MemoryStore
from flowli.testing.clock import ManualWorld
from flowli.testing.stores import CountingStore, Fault, FaultStore, LoseRequest

Result = Won | Lost | Gone | Unknown


class DropsIfAbsent(CountingStore):
    async def put(self, key: str, data: bytes, *, if_absent: bool = False, if_version: str | None = None) -> Result:
        return await super().put(key, data, if_version=if_version)


class DropsIfVersion(CountingStore):
    async def put(self, key: str, data: bytes, *, if_absent: bool = False, if_version: str | None = None) -> Result:
        return await super().put(key, data, if_absent=if_absent)


class CreatesUnderIfVersion(CountingStore):
    async def put(self, key: str, data: bytes, *, if_absent: bool = False, if_version: str | None = None) -> Result:
        result = await super().put(key, data, if_absent=if_absent, if_version=if_version)
        return await super().put(key, data) if isinstance(result, Gone) else result


class DropsConditionOfDelete(CountingStore):
    async def delete(self, key: str, *, if_version: str | None = None) -> Result:
        return await super().delete(key)


class ListsFromACache(CountingStore):
    async def list(
        self, prefix: str, *, after: str | None = None, limit: int | None = None, versions: bool = False
    ) -> Page:
        return Page(())


class ListsInOtherOrder(CountingStore):
    async def list(
        self, prefix: str, *, after: str | None = None, limit: int | None = None, versions: bool = False
    ) -> Page:
        page = await super().list(prefix, after=after, limit=limit)
        return Page(tuple(sorted(page.items, key=lambda one: one.key.lower() + one.key.swapcase())), page.more)


@pytest.mark.parametrize(
    ("kind", "check"),
    [
        (DropsIfAbsent, "put-if-absent"),
        (DropsIfVersion, "stale compare-and-swap"),
        (CreatesUnderIfVersion, "absent compare-and-swap"),
        (DropsConditionOfDelete, "stale delete"),
        (ListsFromACache, "list-after-write"),
        (ListsInOtherOrder, "order"),
    ],
)
async def test_store_that_ignores_a_condition_is_refused_by_name(
    world: ManualWorld, kind: type[CountingStore], check: str
) -> None:
    """STO-10."""
    inner = MemoryStore(world=world)
    with pytest.raises(StoreUnsuitable, match=f"fails the check '{check}'"):
        await probe(kind(inner), world)
    assert (await inner.list("")).items == ()


async def test_good_store_passes_and_keeps_nothing(world: ManualWorld, store: CountingStore) -> None:
    assert {"put-if-absent", "stale compare-and-swap", "stale delete", "order", "race"} <= {*await probe(store, world)}
    assert (await store.list("")).items == ()
    assert len(store.requests) < 24


class LetsTwoSwapsWin(CountingStore):
    """Compares and stores in two steps, as some emulators do."""

    async def put(self, key: str, data: bytes, *, if_absent: bool = False, if_version: str | None = None) -> Result:
        racing = data.startswith(b"swap")
        return await super().put(key, data, if_absent=if_absent, if_version=None if racing else if_version)


class LetsTwoDeletesWin(CountingStore):
    async def delete(self, key: str, *, if_version: str | None = None) -> Result:
        return await super().delete(key, if_version=None if key.endswith("/race") else if_version)


class RefusesLongKeys(CountingStore):
    async def put(self, key: str, data: bytes, *, if_absent: bool = False, if_version: str | None = None) -> Result:
        if len(key) > 500:
            return Lost()
        return await super().put(key, data, if_absent=if_absent, if_version=if_version)


@pytest.mark.parametrize(
    ("kind", "check"),
    [
        (LetsTwoSwapsWin, "race of swaps"),
        (LetsTwoDeletesWin, "race of deletes"),
        (RefusesLongKeys, "long key"),
    ],
)
async def test_a_thorough_trial_finds_what_a_quick_one_does_not(
    world: ManualWorld, kind: type[CountingStore], check: str
) -> None:
    store, passed = kind(MemoryStore(world=world)), []
    await probe(store, world)
    with pytest.raises(StoreUnsuitable, match=f"fails the check '{check}'"):
        await probe(store, world, thorough=True, passed=passed)
    assert "stale delete" in passed
    assert check not in passed


async def test_a_good_store_passes_a_thorough_trial(world: ManualWorld, store: CountingStore) -> None:
    found = await probe(store, world, racers=8, thorough=True)
    assert found[-3:] == ("long key", "race of swaps", "race of deletes")
    assert (await store.list("")).items == ()


async def test_answer_without_result_is_no_verdict_on_the_store(world: ManualWorld) -> None:
    store = FaultStore(MemoryStore(world=world), [Fault(LoseRequest())])
    with pytest.raises(StoreUnavailable):
        await probe(store, world)
