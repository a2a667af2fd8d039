from dataclasses import replace

import orjson
import pytest

from flowli.cairn.document import TOMBSTONE
from flowli.cairn.errors import FormatTooNew, KeyRefused, NotStorable, OutcomeUnknown, StoreDamaged, StoreUnavailable
from flowli.cairn.objects import Changed, Created, Doc, Documents, Exists, Raw, Swapped
from flowli.cairn.store import Capabilities
from flowli.stores.memory import MemoryStore
from flowli.testing.clock import ManualClock, ManualWorld
from flowli.testing.stores import ApplyLater, CountingStore, Fault, FaultStore, Refuse


@pytest.fixture
def documents(store: CountingStore, world: ManualWorld) -> Documents:
    return Documents(store, world)


async def made(documents: Documents, key: str = "k", **body: int) -> Doc:
    outcome = await documents.create(key, dict(body))
    assert isinstance(outcome, Created)
    return outcome.doc


async def test_create_then_read_gives_the_body(documents: Documents) -> None:
    doc = await made(documents, a=1)
    found = await documents.read("k")
    assert found is not None
    assert (found.body, found.version, found.write_ids) == ({"a": 1}, doc.version, doc.write_ids)
    assert found.age_s == 0
    assert await documents.read("other") is None


async def test_second_create_learns_what_is_there(documents: Documents) -> None:
    await made(documents, a=1)
    outcome = await documents.create("k", {"a": 2})
    assert isinstance(outcome, Exists)
    assert outcome.doc.body == {"a": 1}


async def test_create_is_one_request_and_a_lost_one_two(documents: Documents, store: CountingStore) -> None:
    await made(documents)
    assert [one.verb for one in store.requests] == ["put"]
    await documents.create("k", {})
    assert [one.verb for one in store.requests] == ["put", "put", "get"]


async def test_swap_replaces_what_was_read(documents: Documents, store: CountingStore) -> None:
    doc = await made(documents, a=1)
    mark = store.snapshot()
    outcome = await documents.swap(doc, {"a": 2})
    assert isinstance(outcome, Swapped)
    assert store.since(mark).put_class == len(store.requests) - mark == 1
    stale = await documents.swap(doc, {"a": 3})
    assert isinstance(stale, Changed)
    assert stale.doc is not None
    assert stale.doc.body == {"a": 2}
    again = await documents.swap(stale.doc, {"a": 4})
    assert isinstance(again, Swapped)


async def test_swap_of_a_removed_document_is_changed_to_none(documents: Documents) -> None:
    doc = await made(documents)
    assert await documents.remove(doc)
    assert await documents.swap(doc, {}) == Changed(None)


async def test_remove_takes_only_what_was_read(documents: Documents) -> None:
    doc = await made(documents)
    newer = await documents.swap(doc, {"a": 1})
    assert isinstance(newer, Swapped)
    assert not await documents.remove(doc)
    assert await documents.remove(newer.doc)
    assert not await documents.remove(newer.doc)
    assert await documents.read("k") is None


async def test_stored_form_is_canonical_and_keeps_eight_write_ids(documents: Documents, store: CountingStore) -> None:
    doc = await made(documents, b=1, a=2)
    for n in range(10):
        outcome = await documents.swap(doc, {"b": n, "a": 2})
        assert isinstance(outcome, Swapped)
        doc = outcome.doc
    found = await store.get("k")
    assert found is not None
    stored = orjson.loads(found.data)
    assert list(stored) == sorted(stored) == ["a", "b", "v", "write_ids"]
    assert stored["v"] == 1
    assert len(stored["write_ids"]) == len(set(stored["write_ids"])) == 8
    assert tuple(stored["write_ids"]) == doc.write_ids


async def test_equal_bodies_are_never_equal_bytes(documents: Documents, store: CountingStore) -> None:
    """STO-11."""
    doc = await made(documents, a=1)
    first = await store.get("k")
    await documents.swap(doc, {"a": 1})
    second = await store.get("k")
    assert first is not None
    assert second is not None
    assert first.data != second.data


@pytest.mark.parametrize("body", [{"v": 1}, {"write_ids": []}, {"a": object()}, {"a": 2**64}, {"a": {1: 2}}])
async def test_bodies_without_stored_form_reach_no_store(
    documents: Documents, store: CountingStore, body: dict[str, int]
) -> None:
    with pytest.raises(NotStorable):
        await documents.create("k", body)
    assert store.requests == []


@pytest.mark.parametrize("data", [b"", b"x", b"[]", b"{}", b'{"v":"1","write_ids":[]}', b'{"v":1}'])
async def test_what_is_no_document_is_damage(documents: Documents, store: CountingStore, data: bytes) -> None:
    await store.put("k", data)
    with pytest.raises(StoreDamaged, match="'k'"):
        await documents.read("k")


async def test_newer_format_is_refused_by_name(documents: Documents, store: CountingStore) -> None:
    await store.put("k", b'{"v":2,"write_ids":[]}')
    with pytest.raises(FormatTooNew, match="format 2 and this release reads 1"):
        await documents.read("k")


async def test_bytes_are_created_once_and_replaced_conditionally(documents: Documents) -> None:
    first = await documents.create_bytes("k", b"one")
    assert isinstance(first, Created)
    second = await documents.create_bytes("k", b"two")
    assert isinstance(second, Exists)
    assert second.doc.data == b"one"
    assert isinstance(await documents.swap_bytes(first.doc, b"two"), Swapped)
    stale = await documents.swap_bytes(first.doc, b"three")
    assert isinstance(stale, Changed)
    assert stale.doc is not None
    assert stale.doc.data == b"two"
    with pytest.raises(NotStorable):
        await documents.swap_bytes(stale.doc, b"two")
    assert await documents.remove(stale.doc)
    assert await documents.read_bytes("k") is None


class NoConditionalDelete(CountingStore):
    @property
    def capabilities(self) -> Capabilities:
        return replace(self.store.capabilities, conditional_delete=False)


async def test_without_conditional_delete_a_tombstone_reads_as_absent(world: ManualWorld) -> None:
    store = NoConditionalDelete(MemoryStore(world=world))
    documents = Documents(store, world)
    doc = await made(documents, a=1)
    newer = await documents.swap(doc, {"a": 2})
    assert isinstance(newer, Swapped)
    assert not await documents.remove(doc)
    assert await documents.remove(newer.doc)
    assert not await documents.remove(newer.doc)
    found = await store.get("k")
    assert found is not None
    assert found.data.startswith(TOMBSTONE)
    assert await documents.read("k") is None
    assert await documents.read_bytes("k") is None
    assert await documents.swap(newer.doc, {"a": 3}) == Changed(None)
    again = await made(documents, a=4)
    assert isinstance(await documents.create("k", {"a": 5}), Exists)
    assert await documents.remove(again)
    raw = await documents.create_bytes("k", b"x")
    assert isinstance(raw, Created)
    assert isinstance(raw.doc, Raw)
    assert store.since().delete == 0


async def test_writes_applied_and_overwritten_since_give_no_version_to_swap(world: ManualWorld) -> None:
    inner = MemoryStore(world=world)
    store = FaultStore(inner, [Fault(ApplyLater(), nth=2)])
    documents, other = Documents(store, world), Documents(inner, world)
    doc = await made(documents, a=1)

    async def meddle(key: str) -> object:
        # Before the first read-back the late write lands, and another one overwrites it.
        store.get = original  # type: ignore[method-assign]
        await store.land()
        now = await other.read(key)
        assert now is not None
        assert now.body == {"a": 2}
        await other.swap(now, {"a": 3})
        return await original(key)

    original = store.get
    store.get = meddle  # type: ignore[method-assign, assignment]
    outcome = await documents.swap(doc, {"a": 2})
    assert isinstance(outcome, Swapped)
    stale = await documents.swap(outcome.doc, {"a": 4})
    assert isinstance(stale, Changed)
    assert stale.doc is not None
    assert stale.doc.body == {"a": 3}
    assert not await documents.remove(outcome.doc)


async def test_history_that_does_not_reach_back_is_outcome_unknown(world: ManualWorld) -> None:
    inner = MemoryStore(world=world)
    store = FaultStore(inner, [Fault(ApplyLater(), nth=2)])
    documents, other = Documents(store, world), Documents(inner, world)
    doc = await made(documents, a=1)

    async def many(key: str) -> object:
        for n in range(9):
            now = await other.read(key)
            assert now is not None
            await other.swap(now, {"a": n})
        return await inner.get(key)

    store.get = many  # type: ignore[method-assign, assignment]
    with pytest.raises(OutcomeUnknown, match="'k'"):
        await documents.swap(doc, {"a": 2})


async def test_keys_are_listed_and_deleted_in_as_few_requests_as_the_store_allows(world: ManualWorld) -> None:
    class Small(CountingStore):
        @property
        def capabilities(self) -> Capabilities:
            return replace(self.store.capabilities, delete_many_size=4)

    store = Small(MemoryStore(world=world))
    documents = Documents(store, world)
    for n in range(10):
        await documents.create_bytes(f"a/{n}", b"x")
    assert [one.key for one in (await documents.list("a/", after="a/7")).items] == ["a/8", "a/9"]
    await documents.delete_many(f"a/{n}" for n in range(9))
    assert store.since().delete_many == 3
    assert [one.key for one in (await documents.list("")).items] == ["a/9"]
    with pytest.raises(KeyRefused):
        await documents.delete_many(["a", "../b"])
    with pytest.raises(KeyRefused):
        await documents.list("../")


async def test_unreachable_store_is_given_up_after_about_ten_seconds(clock: ManualClock, world: ManualWorld) -> None:
    refused = StoreUnavailable("The store is away", "Wait")
    store = FaultStore(MemoryStore(world=world), [Fault(Refuse(refused), verb="*", times=10_000)])
    documents = Documents(store, world)
    for call in (documents.read("k"), documents.create("k", {})):
        began_s = world.monotonic_s()
        with pytest.raises(StoreUnavailable, match="is away"):
            await clock.run(call)
        assert 8 <= world.monotonic_s() - began_s <= 13
