"""What stores make of answers that are late, lost, or no answer to the question: K01, K02, K03, K05, K06."""

import asyncio
import threading

import pytest

from flowli.adapters.cairndb import CairnBackend
from flowli.cairn.database import Cairn
from flowli.cairn.document import Created, Swapped
from flowli.cairn.errors import StorePermission, StoreThrottled, StoreUnavailable
from flowli.cairn.write import Gone, Lost, Unknown, Won
from flowli.domain.errors import BackendRefused
from flowli.stores import open_store
from flowli.testing.clock import ManualWorld
from flowli.world import SYSTEM

from .conftest import Gate
from .emulators.answers import (
    always,
    answer,
    drop_answer,
    for_some,
    ignoring_conditions,
    never_answers,
    writes,
)
from .emulators.azurite import sas_token
from .emulators.proxy import Asked, passing


@pytest.fixture
async def store(gate: Gate):
    opened = open_store(gate.url())
    yield opened
    gate.proxy.rule = passing
    await opened.close()


async def test_a_create_whose_answer_is_lost_is_unknown_and_was_sent_once(gate, store):
    gate.proxy.rule = drop_answer
    assert isinstance(await store.put("a", b"one", if_absent=True), Unknown)
    assert len(gate.proxy.asked) == 1
    gate.proxy.rule = passing
    assert (await store.get("a")).data == b"one"


async def test_a_swap_whose_answer_is_lost_is_unknown_and_was_sent_once(gate, store):
    version = (await store.put("a", b"one")).version
    sent = len(gate.proxy.asked)
    gate.proxy.rule = drop_answer
    assert isinstance(await store.put("a", b"two", if_version=version), Unknown)
    assert len(gate.proxy.asked) == sent + 1
    gate.proxy.rule = passing
    assert (await store.get("a")).data == b"two"


async def test_a_delete_whose_answer_is_lost_is_unknown_and_was_sent_once(gate, store):
    version = (await store.put("a", b"one")).version
    sent = len(gate.proxy.asked)
    gate.proxy.rule = drop_answer
    assert isinstance(await store.delete("a", if_version=version), Unknown)
    assert len(gate.proxy.asked) == sent + 1
    gate.proxy.rule = passing
    assert await store.get("a") is None


async def test_a_write_that_is_not_answered_in_time_is_unknown(gate):
    late = threading.Event()
    store = open_store(gate.url(read_timeout_s=0.7))
    store.contact.reached = True
    gate.proxy.rule = never_answers(late)
    try:
        assert isinstance(await store.put("a", b"one", if_absent=True), Unknown)
        with pytest.raises(StoreUnavailable):
            await store.get("a")
    finally:
        late.set()
        gate.proxy.rule = passing
        await store.close()


async def test_a_read_whose_answer_is_lost_may_be_repeated(gate, store):
    await store.put("a", b"one")
    gate.proxy.rule = for_some(lambda asked: not asked.writes, drop_answer, times=1)
    with pytest.raises(StoreUnavailable):
        await store.get("a")
    assert (await store.get("a")).data == b"one"
    gate.proxy.rule = for_some(lambda asked: not asked.writes, drop_answer, times=1)
    with pytest.raises(StoreUnavailable):
        await store.list("")


@pytest.mark.parametrize("kind", ["conflict", "fault"])
async def test_an_answer_that_decides_nothing_is_unknown(gate, store, kind):
    gate.proxy.rule = for_some(writes, always(answer(gate.service.scheme, kind)))
    assert isinstance(await store.put("a", b"one", if_absent=True), Unknown)
    assert isinstance(await store.put("a", b"one", if_version="1"), Unknown)
    assert isinstance(await store.delete("a", if_version="1"), Unknown)
    assert len(gate.proxy.asked) == 3


async def test_a_read_that_fails_may_be_repeated(gate, store):
    gate.proxy.rule = always(answer(gate.service.scheme, "fault"))
    with pytest.raises(StoreUnavailable):
        await store.get("a")
    with pytest.raises(StoreUnavailable):
        await store.list("")


async def test_throttles_are_told_at_once_and_nothing_was_written(gate, store):
    gate.proxy.rule = always(answer(gate.service.scheme, "throttle"))
    for call in (store.put("a", b"1", if_absent=True), store.get("a"), store.list(""), store.delete("a")):
        with pytest.raises(StoreThrottled):
            await call
    assert len(gate.proxy.asked) == 4


async def test_a_forbidden_request_names_the_right_that_is_missing(gate, store):
    gate.proxy.rule = always(answer(gate.service.scheme, "denied"))
    for call in (store.put("a", b"1", if_absent=True), store.get("a"), store.list(""), store.delete("a")):
        with pytest.raises(StorePermission, match="Grant "):
            await call


async def both(calls):
    return await calls


@pytest.mark.parametrize("times", range(6))
async def test_creators_that_meet_conflicts_end_with_one_owner(gate, times):
    world = ManualWorld()
    store = open_store(gate.url(), world=world)
    gate.proxy.rule = for_some(writes, always(answer(gate.service.scheme, "conflict")), times)
    cairn = Cairn(store, world)
    creates = asyncio.gather(*(cairn.documents.create("owner", {"who": who}) for who in ("a", "b")))
    done = await world.clock.run(both(creates))
    assert sorted(type(one) for one in done if isinstance(one, Created)) == [Created]
    assert done[0].doc.body == done[1].doc.body
    await store.close()


@pytest.mark.parametrize("times", range(6))
async def test_swappers_that_meet_conflicts_end_with_one_owner(gate, times):
    world = ManualWorld()
    store = open_store(gate.url(), world=world)
    cairn = Cairn(store, world)
    doc = (await world.clock.run(cairn.documents.create("lease", {"who": ""}))).doc
    gate.proxy.rule = for_some(writes, always(answer(gate.service.scheme, "conflict")), times)
    done = await world.clock.run(both(asyncio.gather(*(cairn.documents.swap(doc, {"who": who}) for who in ("a", "b")))))
    assert [type(one) for one in done].count(Swapped) == 1
    assert done[0].doc.body == done[1].doc.body
    await store.close()


async def test_a_swap_of_a_key_that_was_deleted_never_creates(gate, store):
    version = (await store.put("a", b"one")).version
    assert isinstance(await store.delete("a"), Won)
    assert isinstance(await store.put("a", b"two", if_version=version), Gone)
    assert isinstance(await store.put("a", b"two", if_version="0x8DEADBEEF"), Gone)
    assert isinstance(await store.delete("a", if_version=version), Gone)
    assert await store.get("a") is None


async def test_a_version_of_another_store_is_lost(gate, store):
    await store.put("a", b"one")
    assert isinstance(await store.put("a", b"two", if_version="0x8DEADBEEF"), Lost)
    assert isinstance(await store.delete("a", if_version="0x8DEADBEEF"), Lost)


def is_put(asked: Asked) -> bool:
    return asked.method in ("PUT", "POST")


@pytest.mark.parametrize(
    ("which", "check"),
    [(is_put, "put-if-absent"), (lambda asked: asked.method == "DELETE", "stale delete")],
    ids=["put", "delete"],
)
async def test_a_store_that_ignores_conditions_is_refused_by_name(gate, which, check, monkeypatch):
    if gate.service.scheme == "az":
        monkeypatch.delenv("AZURE_STORAGE_KEY")
        monkeypatch.setenv("AZURE_STORAGE_SAS_TOKEN", sas_token())
    gate.proxy.rule = ignoring_conditions(which)
    backend = CairnBackend.open(gate.url())
    with pytest.raises(BackendRefused, match=f"fails the check '{check}'"):
        await backend.check()
    await backend.close()


async def test_the_emulator_of_google_ignores_conditions_of_deletes_by_itself(services):
    """If this fails the emulator has learnt it, and its front may go."""
    service = services("gs")
    backend = CairnBackend.open(service.url(SYSTEM.token(), origin=f"http://127.0.0.1:{service.bare_port}"))
    with pytest.raises(BackendRefused, match="fails the check 'stale delete'"):
        await backend.check()
    await backend.close()
