"""What a person reads who has written a workflow that cannot work."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from flowli import Context, Registry, RetryPolicy
from flowli.domain.errors import ExecutionFailed, UsageError


def give(n: int) -> int:
    return n


def large(n: int) -> str:
    return "x" * n


def peek() -> str:
    return Path("somewhere").read_text()


def careless(n: int) -> Any:
    return forgets(n)


async def forgets(n: int) -> int:
    return n


async def over_the_limit(ctx: Context) -> None:
    await ctx.step(large, 300_000)


async def unknown_scope(ctx: Context) -> None:
    await ctx.receive("go", scope="galaxy")


async def duplicate_keys(ctx: Context) -> None:
    await ctx.step(give, 1, key="same")
    await ctx.step(give, 2, key="same")


async def reads_a_file(ctx: Context) -> None:
    peek()


async def opens_a_socket(ctx: Context) -> None:
    socket.create_connection(("localhost", 1))


async def never_awaited(ctx: Context) -> None:
    ctx.step(give, 1)


async def returns_a_coroutine(ctx: Context) -> None:
    await ctx.step(careless, 1)


async def leaves_a_frame(ctx: Context) -> None:
    import asyncio

    left.append(asyncio.ensure_future(ctx.receive("never")))
    await ctx.sleep(1)


left: list[Any] = []


SENTENCES: dict[Callable[..., Any], str] = {
    over_the_limit: r"the result has 300,002 bytes and the limit is 262,144 \(EngineConfig.max_value_bytes\); store",
    unknown_scope: r"scope .*galaxy.*execution.*global",
    duplicate_keys: r"key .*same|same.*twice|root/give:same",
    reads_a_file: r"open.* in a workflow|workflow.*open",
    opens_a_socket: r"socket",
    never_awaited: r"step 'give' as root/give#1 .*never awaited",
    returns_a_coroutine: r"step 'careless' returned a coroutine",
    leaves_a_frame: r"the workflow returned while receive 'never' as root/never#1 was still under way",
}


@pytest.mark.parametrize("workflow", SENTENCES, ids=lambda fn: fn.__name__)
async def test_a_workflow_that_cannot_work_fails_with_a_sentence(fleet: Any, workflow: Callable[..., Any]) -> None:
    """STP-6, STP-7, RPL-3, RPL-10, RPL-21."""
    left.clear()
    fleet.registry.workflow(workflow)
    fleet.process("w").work()
    eid = await fleet.engine.start(workflow)
    with pytest.raises(ExecutionFailed, match=SENTENCES[workflow]):
        await fleet.value(eid, limit_s=600)


async def test_sleeping_into_the_past_ends_at_once(fleet: Any) -> None:
    """WAI-13."""

    @fleet.registry.workflow
    async def past(ctx: Context) -> str:
        before = ctx.now
        await ctx.sleep_until(datetime(2001, 1, 1, tzinfo=UTC))
        return "at once" if (ctx.now - before).total_seconds() < 1 else "later"

    fleet.process("w").work()
    assert await fleet.value(await fleet.engine.start(past), limit_s=60) == "at once"


def test_a_retry_policy_that_cannot_work_is_refused_where_it_is_made() -> None:
    """STP-3."""
    with pytest.raises(UsageError, match="max_attempts"):
        RetryPolicy(0)


def test_a_generator_is_no_workflow() -> None:
    """RPL-21."""

    async def yields(ctx: Context) -> AsyncIterator[int]:
        yield 1

    with pytest.raises(UsageError, match="'yields' yields"):
        Registry().add(yields)
