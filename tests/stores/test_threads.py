"""Requests overlap, are let finish when a store is closed, and their ages owe nothing to the clock of this host."""

import asyncio
import threading
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from flowli.cairn.errors import StoreError, StoreUnavailable
from flowli.cairn.write import Won
from flowli.stores import open_store

from .conftest import Gate
from .emulators.proxy import Answer, Asked, Forward, passing


async def test_as_many_requests_are_under_way_as_there_are_connections(gate: Gate):
    store = open_store(gate.url(connections=8))
    await store.get("a")
    together = threading.Barrier(8, timeout=120)

    def rule(asked: Asked, forward: Forward) -> Answer:
        together.wait()
        return forward(asked)

    gate.proxy.rule = rule
    assert await asyncio.gather(*(store.get(f"k{number}") for number in range(8))) == [None] * 8
    await store.close()


class Held:
    """Requests wait at the proxy until the test lets them go."""

    def __init__(self) -> None:
        self.reached, self.gate = threading.Event(), threading.Event()

    def rule(self, asked: Asked, forward: Forward) -> Answer:
        self.reached.set()
        self.gate.wait(120)
        return forward(asked)


async def test_closing_lets_a_write_under_way_come_to_its_end(gate: Gate):
    store, held = open_store(gate.url()), Held()
    await store.get("a")
    gate.proxy.rule = held.rule
    write = asyncio.ensure_future(store.put("a", b"one", if_absent=True))
    await asyncio.to_thread(held.reached.wait, 120)
    closing = asyncio.ensure_future(store.close())
    await asyncio.sleep(0)
    assert not closing.done()
    held.gate.set()
    await closing
    assert isinstance(await write, Won)
    with pytest.raises(StoreUnavailable, match="is closed"):
        await store.get("a")
    await store.close()


async def test_closing_waits_for_a_write_whose_caller_gave_up(gate: Gate):
    store, held = open_store(gate.url()), Held()
    await store.get("a")
    gate.proxy.rule = held.rule
    write = asyncio.ensure_future(store.put("a", b"one", if_absent=True))
    await asyncio.to_thread(held.reached.wait, 120)
    write.cancel()
    held.gate.set()
    await store.close()
    gate.proxy.rule = passing
    other = open_store(gate.url())
    assert (await other.get("a")).data == b"one"
    await other.close()


async def test_an_age_is_the_difference_of_two_instants_of_the_service(gate: Gate):
    def an_hour_later(asked: Asked, forward: Forward) -> Answer:
        answer = forward(asked)
        later = format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True)
        kept = tuple(one for one in answer.headers if one[0].lower() != "date")
        return replace(answer, headers=(*kept, ("Date", later)))

    store = open_store(gate.url())
    await store.put("a", b"one")
    assert 0 <= (await store.get("a")).age_s < 1200
    gate.proxy.rule = an_hour_later
    assert 3590 <= (await store.get("a")).age_s < 4800
    (line,) = (await store.list("")).items
    assert 3590 <= line.age_s < 4800
    await store.close()


async def test_closing_waits_for_no_read_of_a_service_that_never_answered(gate: Gate):
    held = Held()
    store = open_store(f"{gate.url()}&first_timeout_s=0.5&read_timeout_s=900")
    gate.proxy.rule = held.rule
    with pytest.raises(StoreError, match="gave no answer in time"):
        await store.get("a")
    await asyncio.wait_for(store.close(), 300)
    held.gate.set()
