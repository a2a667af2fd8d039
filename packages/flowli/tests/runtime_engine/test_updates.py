from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from flowli.domain.errors import (
    DispatchConflict,
    InvalidName,
    NotAllowed,
    PayloadTooLarge,
    ResultTimeout,
    UnknownExecution,
    UpdateRejected,
)
from flowli.runtime.config import EngineConfig
from flowli.runtime.context import Context
from flowli.runtime.engine import Engine
from flowli.runtime.registry import Registry

if TYPE_CHECKING:
    from .conftest import Bench


@dataclass(frozen=True)
class Address:
    street: str
    number: int


registry = Registry()


@registry.workflow
async def basket(ctx: Context, size: int) -> list[str]:
    items: list[str] = []

    def check(item: Any) -> None:
        if item in items:
            raise ValueError(f"{item} is in the basket already")

    async for update in ctx.updates("add", validator=check):
        items.append(update.value)
        await update.reply(len(items))
        if len(items) == size:
            return items
    raise AssertionError("an endless iterator has ended")


@registry.workflow
async def deliver_to(ctx: Context) -> str:
    update = await ctx.next_update("address", as_type=Address, timeout=60)
    if update is None:
        return "nowhere"
    address: Address = update.value
    await update.reply({"noted": address.street})
    return f"{address.street} {address.number}"


@registry.workflow
async def deaf(ctx: Context) -> None:
    await ctx.receive("end")


async def started(bench: Bench, workflow: str, *args: Any) -> Any:
    eid = await bench.engine.start(workflow, *args, version="1")
    await bench.work(registry=registry)
    return eid


async def asked(bench: Bench, *updates: Any) -> list[Any]:
    """Make the updates at once while a worker runs; the answers, or what they raised."""
    waiting = asyncio.gather(*updates, return_exceptions=True)
    await bench.clock.settle()
    await bench.work(registry=registry)
    return await bench.clock.run(_await(waiting))


async def _await(future: Any) -> Any:
    return await future


async def test_an_update_is_answered(bench: Bench) -> None:
    """WAI-18."""
    eid = await started(bench, "basket", 2)
    assert await asked(bench, bench.engine.update(eid, "add", "lamp")) == [1]
    assert await asked(bench, bench.engine.update(eid, "add", "chair")) == [2]
    assert await bench.engine.result(eid) == ["lamp", "chair"]
    assert not (await bench.engine.frames(eid)).anomalies


async def test_an_update_made_before_the_workflow_asks_for_one_is_kept(bench: Bench) -> None:
    eid = await bench.engine.start("basket", 1, version="1")
    assert await asked(bench, bench.engine.update(eid, "add", "lamp")) == [1]


async def test_what_the_validator_refuses_does_not_count_and_is_told(bench: Bench) -> None:
    """WAI-18."""
    eid = await started(bench, "basket", 2)
    await asked(bench, bench.engine.update(eid, "add", "lamp"))
    (refused,) = await asked(bench, bench.engine.update(eid, "add", "lamp"))
    assert isinstance(refused, UpdateRejected)
    assert "lamp is in the basket already" in str(refused)
    assert await asked(bench, bench.engine.update(eid, "add", "chair")) == [2]
    assert await bench.engine.result(eid) == ["lamp", "chair"]


async def test_news_that_are_no_end_leave_an_update_waiting(bench: Bench) -> None:
    """WAI-18: such as the outcome of a detached step in this process."""
    eid = await started(bench, "basket", 1)
    waiting = asyncio.ensure_future(bench.engine.update(eid, "add", "lamp"))
    await bench.clock.settle()
    for _ in range(3):
        bench.engine.hub.changed(eid)
        await bench.clock.settle()
    assert not waiting.done()
    await bench.work(registry=registry)
    assert await bench.clock.run(waiting) == 1


async def test_updates_at_once_each_get_their_own_answer(bench: Bench) -> None:
    eid = await started(bench, "basket", 5)
    engines = [bench.new_engine(name=f"client-{n}") for n in range(5)]
    answers = await asked(bench, *(engine.update(eid, "add", f"item{n}") for n, engine in enumerate(engines)))
    items = await bench.engine.result(eid)
    assert sorted(items) == [f"item{n}" for n in range(5)]
    assert answers == [items.index(f"item{n}") + 1 for n in range(5)]


async def test_a_value_of_the_wrong_type_is_refused_and_the_next_one_is_taken(bench: Bench) -> None:
    eid = await started(bench, "deliver_to")
    (refused,) = await asked(bench, bench.engine.update(eid, "address", {"street": "Elm"}))
    assert isinstance(refused, UpdateRejected)
    answers = await asked(bench, bench.engine.update(eid, "address", {"street": "Elm", "number": 7}))
    assert answers == [{"noted": "Elm"}]
    assert await bench.engine.result(eid) == "Elm 7"


async def test_who_waits_for_an_update_can_give_up_at_an_instant(bench: Bench) -> None:
    eid = await started(bench, "deliver_to")
    await asked(bench, bench.engine.update(eid, "address", "no address"))
    await bench.clock.advance(61)
    await bench.engine.sweeper().sweep_once()
    await bench.work(registry=registry)
    assert await bench.engine.result(eid) == "nowhere"


async def test_one_key_is_one_update_and_other_content_is_refused(bench: Bench) -> None:
    """WAI-18."""
    eid = await started(bench, "basket", 2)
    assert await asked(bench, *(bench.engine.update(eid, "add", "lamp", key="k") for _ in range(3))) == [1, 1, 1]
    with pytest.raises(DispatchConflict, match="another key"):
        await bench.engine.update(eid, "add", "chair", key="k")
    await asked(bench, bench.engine.update(eid, "add", "chair"))
    assert await bench.engine.update(eid, "add", "lamp", key="k") == 1
    assert await bench.engine.result(eid) == ["lamp", "chair"]


async def test_an_answer_that_does_not_come_in_time_can_be_asked_for_again(bench: Bench) -> None:
    eid = await bench.engine.start("basket", 1, version="1")
    with pytest.raises(ResultTimeout, match="within 5 s"):
        await bench.clock.run(bench.engine.update(eid, "add", "lamp", key="k", timeout=5))
    assert await asked(bench, bench.engine.update(eid, "add", "lamp", key="k")) == [1]


async def test_an_execution_that_ends_without_answering_ends_the_wait(bench: Bench) -> None:
    eid = await started(bench, "deaf")
    waiting = asyncio.ensure_future(bench.new_engine(name="other").update(eid, "add", "lamp"))
    await bench.clock.settle()
    await bench.engine.signal(eid, "end")
    await bench.work(registry=registry)
    with pytest.raises(NotAllowed, match="ended before it answered"):
        await bench.clock.run(_await(waiting))
    with pytest.raises(NotAllowed, match="has ended"):
        await bench.engine.update(eid, "add", "lamp")


async def test_bad_input_stores_nothing(bench: Bench) -> None:
    eid = await started(bench, "deaf")
    with pytest.raises(InvalidName, match="update 'a b'"):
        await bench.engine.update(eid, "a b")
    with pytest.raises(UnknownExecution):
        await bench.engine.update("0197a1b2-0000-7000-8000-000000000000", "add")
    small = bench.new_engine(config=EngineConfig(max_value_bytes=10), name="small")
    with pytest.raises(PayloadTooLarge, match="limit is 10"):
        await small.update(eid, "add", "x" * 100)
    assert await bench.tasks() == []
    assert (await bench.ports.channel.read(f"{eid}._update-add")).messages == ()


@pytest.mark.parametrize("writes", range(6))
async def test_a_requester_that_dies_is_followed_by_the_same_call(bench: Bench, writes: int) -> None:
    eid = await started(bench, "basket", 1)

    async def add(engine: Engine) -> Any:
        return await engine.update(eid, "add", "lamp", key="k", timeout=3)

    try:
        await bench.dies_after(writes, add)
    except ResultTimeout:
        pass
    assert await asked(bench, bench.engine.update(eid, "add", "lamp", key="k")) == [1]
    assert await bench.engine.result(eid) == ["lamp"]
