"""Effects of an execution whose owner died before it could record that they were done."""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import UUID

import pytest

from flowli import Context
from flowli.domain.entries import Announced, AttributesSet, ExecutionResumed, FrameStarted

from .fleet import Fleet

TTL = {"exec_ttl_s": 6.0, "task_ttl_s": 6.0}


@pytest.mark.parametrize("begun", [False, True], ids=["nothing was journaled", "their start was journaled"])
async def test_what_was_done_and_not_recorded_is_not_there_twice(fleet: Fleet, begun: bool) -> None:
    """STP-24: a task, messages, a published value, a decision; what was announced may be told again."""

    async def quick() -> None:
        pass

    @fleet.registry.workflow
    async def all_at_once(ctx: Context, receiver: str) -> list[Any]:
        if begun:
            await ctx.step(quick)
        return await asyncio.gather(
            ctx.enqueue("agents", {"n": 1}),
            ctx.send(UUID(receiver), "inbox", "hello"),
            ctx.broadcast("news", "hello all"),
            ctx.publish("state", "half"),
            ctx.claim("chair", "mine"),
            ctx.announce("shipped", {"parcels": 2}),
            ctx.set_attributes(city="Oulu"),
        )

    @fleet.registry.workflow
    async def hears(ctx: Context) -> list[Any]:
        return [await ctx.receive("inbox", timeout=600), await ctx.receive("inbox", timeout=10)]

    receiver = await fleet.engine.start(hears)
    fleet.process("w-0", **TTL).work()
    await fleet.until_status(receiver, "suspended")
    first = fleet.process("w-1", **TTL)

    async def die() -> None:
        if first.calls.count("journal.append") > begun:
            first.kill()

    first.trouble["journal.append"] = die
    eid = await fleet.engine.start(all_at_once, str(receiver), queue="work")
    first.work(queues=("work",), sweep=False)
    await fleet.clock.advance(3)
    assert first.dead
    started = [entry for entry in await fleet.entries(eid) if isinstance(entry.body, FrameStarted)]
    assert len(started) == (8 if begun else 0)
    assert {"queue.enqueue", "channel.send", "dispatch.claim", "control.append"} <= set(first.calls)
    fleet.process("w-2", **TTL).work(queues=("work",))
    result = await fleet.value(eid)
    assert any(isinstance(entry.body, ExecutionResumed) for entry in await fleet.entries(eid)), "it was taken over"
    assert result[4] == "mine"
    assert [task.task_id for task in await fleet.tasks("agents")] == [result[0]]
    assert await fleet.value(receiver) == ["hello", None]
    assert [message.payload for message in (await fleet.ports.channel.read("news")).messages] == ["hello all"]
    shown = await fleet.engine.published(eid, "state")
    assert shown is not None
    assert (shown.value, shown.number) == ("half", 1)
    bodies = [entry.body for entry in (await fleet.ports.control.read()).entries]
    assert 1 <= sum(isinstance(body, Announced) and body.eid == eid for body in bodies) <= 2
    assert {str(body.attributes) for body in bodies if isinstance(body, AttributesSet)} == {"{'city': 'Oulu'}"}
