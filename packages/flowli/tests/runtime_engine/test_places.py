from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from flowli.domain.errors import ExecutionFailed
from flowli.domain.execution import ExecutionStatus
from flowli.runtime.context import Context
from flowli.runtime.registry import Registry

if TYPE_CHECKING:
    from .conftest import Bench

registry = Registry()


@registry.workflow
async def listen(ctx: Context, from_: str, count: int = 1) -> list[Any]:
    return [await ctx.receive("news", scope="global", from_=from_) for _ in range(count)]


@registry.workflow
async def both(ctx: Context) -> list[Any]:
    late = await ctx.receive("news", scope="global", from_="now")
    early = await ctx.receive("news", scope="global")
    return [late, early]


@registry.workflow
async def link(ctx: Context, place: str, total: int, left: int) -> int:
    """One of a chain: counts ten messages, then hands over."""
    for _ in range(min(10, left)):
        total += await ctx.receive("counter", scope="global", from_=place)
    rest = left - 10
    if rest <= 0:
        return total
    place = ctx.position("counter", scope="global")
    return await ctx.child(link, place, total, rest)


async def started(bench: Bench, workflow: str, *args: Any) -> Any:
    eid = await bench.engine.start(workflow, *args, version="1")
    await bench.work(registry=registry)
    return eid


async def test_from_now_on_earlier_messages_are_passed_over(bench: Bench) -> None:
    """WAI-14."""
    await bench.engine.broadcast("news", "old")
    eid = await started(bench, "listen", "now")
    assert (await bench.engine.status(eid)).status is ExecutionStatus.SUSPENDED
    await bench.engine.broadcast("news", "new")
    await bench.engine.broadcast("news", "newer")
    await bench.work(registry=registry)
    assert await bench.engine.result(eid) == ["new"]


async def test_now_is_recorded_once_and_for_all(bench: Bench) -> None:
    """WAI-14."""
    await bench.engine.broadcast("news", "old")
    eid = await started(bench, "listen", "now")
    starts = (await bench.engine.frames(eid)).frames.values()
    assert [frame.metadata.get("after") for frame in starts if frame.name == "news"] == ["1.1"]
    await bench.engine.broadcast("news", "new")
    await bench.work(registry=registry)  # another worker, which replays
    assert await bench.engine.result(eid) == ["new"]
    assert not (await bench.engine.frames(eid)).anomalies


async def test_a_receive_from_the_start_still_gets_what_one_from_now_on_passed_over(bench: Bench) -> None:
    await bench.engine.broadcast("news", "old")
    eid = await started(bench, "both")
    await bench.engine.broadcast("news", "new")
    await bench.work(registry=registry)
    assert await bench.engine.result(eid) == ["new", "old"]


async def test_a_place_that_another_execution_gave_is_gone_on_from(bench: Bench) -> None:
    """WAI-14."""
    for n in range(4):
        await bench.engine.broadcast("news", n)
    eid = await started(bench, "listen", "2.2", 2)
    assert await bench.engine.result(eid) == [2, 3]


@pytest.mark.parametrize("from_", ["yesterday", "1", "1.2.3", "-1.2", ""])
async def test_another_place_is_refused(bench: Bench, from_: str) -> None:
    eid = await started(bench, "listen", from_)
    with pytest.raises(ExecutionFailed, match="use 'start', 'now' or a place"):
        await bench.engine.result(eid)


async def test_a_chain_that_hands_over_its_place_counts_every_message_once(bench: Bench) -> None:
    clients = [bench.new_engine(name=f"client-{n}") for n in range(4)]
    eid = await bench.engine.start("link", "start", 0, 100, version="1")
    for burst in range(5):
        await asyncio.gather(
            *(
                client.broadcast("counter", 1, key=f"{n}-{burst}-{m}")
                for n, client in enumerate(clients)
                for m in range(5)
            )
        )
        await bench.work(registry=registry)
    assert await bench.engine.result(eid) == 100
