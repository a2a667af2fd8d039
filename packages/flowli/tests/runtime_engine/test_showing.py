from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from flowli.domain.entries import START
from flowli.domain.errors import ExecutionFailed, InvalidName, UnknownExecution
from flowli.runtime.config import EngineConfig
from flowli.runtime.context import Context
from flowli.runtime.engine import Engine
from flowli.runtime.registry import Registry

if TYPE_CHECKING:
    from .conftest import Bench

registry = Registry()


@registry.workflow
async def build(ctx: Context, steps: int) -> str:
    for n in range(steps):
        await ctx.publish("progress", {"done": n + 1, "of": steps})
    await ctx.receive("go")
    return "built"


@registry.workflow
async def speak(ctx: Context, words: list[str]) -> int:
    stream = ctx.stream("words")
    for word in words[:-1]:
        await stream.write(word)
    await ctx.receive("go")
    await stream.write(words[-1])
    await stream.close()
    return len(words)


@registry.workflow
async def shout(ctx: Context, size: int) -> None:
    await ctx.publish("noise", "x" * size)


async def started(bench: Bench, workflow: str, *args: Any) -> Any:
    eid = await bench.engine.start(workflow, *args, version="1")
    await bench.work(registry=registry)
    return eid


async def test_the_value_published_last_is_shown_while_it_waits_and_after(bench: Bench) -> None:
    """WAI-19."""
    eid = await started(bench, "build", 3)
    shown = await bench.engine.published(eid, "progress")
    assert shown is not None
    assert (shown.value, shown.number) == ({"done": 3, "of": 3}, 3)
    assert await bench.engine.published(eid, "other") is None
    await bench.engine.signal(eid, "go")
    await bench.work(registry=registry)
    assert await bench.engine.published(eid, "progress") == shown


async def test_a_value_that_was_published_twice_by_a_late_owner_does_not_hide_a_newer_one(bench: Bench) -> None:
    eid = await started(bench, "build", 3)
    channel = f"{eid}._published-progress"
    first = (await bench.ports.channel.read(channel)).messages[0]
    await bench.ports.channel.send(replace(first, seq=0, commit=0))
    shown = await bench.engine.published(eid, "progress")
    assert shown is not None
    assert shown.number == 3


async def test_nothing_is_published_again_when_it_is_replayed(bench: Bench) -> None:
    """RPL-1."""
    eid = await started(bench, "build", 3)
    await bench.engine.signal(eid, "go")
    await bench.work(registry=registry)
    assert await bench.engine.result(eid) == "built"
    assert len((await bench.ports.channel.read(f"{eid}._published-progress")).messages) == 3


async def test_a_stream_is_read_page_by_page_to_its_end(bench: Bench) -> None:
    """WAI-19."""
    eid = await started(bench, "speak", ["a", "b", "c"])
    page = await bench.engine.read_stream(eid, "words", START, limit=1)
    rest = await bench.engine.read_stream(eid, "words", page.position)
    assert [item.value for item in (*page.items, *rest.items)] == ["a", "b"]
    assert [item.number for item in (*page.items, *rest.items)] == [1, 2]
    assert (await bench.engine.read_stream(eid, "words", rest.position)).items == ()
    assert not rest.closed
    await bench.engine.signal(eid, "go")
    await bench.work(registry=registry)
    last = await bench.engine.read_stream(eid, "words", rest.position)
    assert ([item.value for item in last.items], last.closed) == (["c"], True)


async def test_unknown_executions_and_names_are_refused(bench: Bench) -> None:
    unknown = "0197a1b2-0000-7000-8000-000000000000"
    for read in (bench.engine.published, bench.engine.read_stream):
        with pytest.raises(UnknownExecution):
            await read(unknown, "progress")
        with pytest.raises(InvalidName):
            await read(unknown, "a.b")


async def test_a_value_over_the_limit_fails_the_frame_and_names_the_limit(bench: Bench) -> None:
    eid = await bench.engine.start("shout", 1000, version="1")
    config = EngineConfig(max_value_bytes=500)
    worker = Engine(bench.ports, bench.engine.site, registry=registry, config=config, world=bench.world).worker()
    await bench.clock.run(worker.run_until_idle())
    await bench.clock.run(worker.drain())
    with pytest.raises(ExecutionFailed, match=r"root/publish#1 has 1,0\d\d bytes and the limit is 500"):
        await bench.engine.result(eid)


async def test_what_was_shown_goes_with_the_execution(bench: Bench) -> None:
    eid = await started(bench, "build", 1)
    await bench.engine.signal(eid, "go")
    await bench.work(registry=registry)
    await bench.new_engine(config=EngineConfig(retire_grace_s=0)).retention(0).run_once()
    assert await bench.engine.published(eid, "progress") is None
    assert (await bench.ports.channel.read(f"{eid}._published-progress")).messages == ()
