"""Values that are too large, and work that is too much at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from flowli import Context
from flowli.domain.entries import FrameFailed
from flowli.domain.errors import ExecutionFailed, PayloadTooLarge

from .rig import Wire

LIMIT = 1000


def text(size: int) -> str:
    """A value whose stored form has that many bytes: two quotes and the rest."""
    return "x" * (size - 2)


def attempts(bodies: list[Any]) -> list[tuple[int, bool]]:
    return [(body.attempt, body.retryable) for body in bodies if isinstance(body, FrameFailed)]


@pytest.mark.parametrize("what", ["result of a step", "payload", "argument"])
async def test_a_value_over_the_limit_is_refused_once_and_for_all(fleet: Any, what: str) -> None:
    """K22: at the limit it passes, one byte above it is refused, naming value, size and limit, before any append."""
    runs: list[int] = []

    def give(size: int) -> str:
        runs.append(size)
        return text(size)

    @fleet.registry.workflow
    async def flow(ctx: Context, start: str = "", size: int = 10) -> int:
        found = await ctx.step(give, size)
        return len(found) + len(await ctx.receive("go"))

    wire = Wire()
    process = fleet.process("w", wrap=wire.wrap, max_value_bytes=LIMIT)

    async def refused(act: Callable[[], Awaitable[Any]]) -> str:
        wire.clear()
        with pytest.raises(PayloadTooLarge) as caught:
            await fleet.run(act())
        assert not [one for one in wire.requests if one.verb == "put"], "nothing was stored"
        return str(caught.value)

    if what == "argument":
        assert await fleet.run(process.engine.start(flow, text(LIMIT - 100)))
        said = await refused(lambda: process.engine.start(flow, text(LIMIT + 1)))
        assert "the limit is 1,000" in said
        return
    process.work()
    eid = await fleet.run(process.engine.start(flow, size=LIMIT))
    if what == "payload":
        said = await refused(lambda: process.engine.signal(eid, "go", text(LIMIT + 1)))
        assert "payload" in said
        assert "the limit is 1,000" in said
    await fleet.run(process.engine.signal(eid, "go", text(LIMIT)))
    assert await fleet.value(eid) == 2 * (LIMIT - 2)
    if what == "result of a step":
        runs.clear()
        eid = await fleet.run(process.engine.start(flow, size=LIMIT + 1))
        with pytest.raises(ExecutionFailed, match="1,001 bytes and the limit is 1,000"):
            await fleet.value(eid)
        assert runs == [LIMIT + 1]
        assert attempts([entry.body for entry in await fleet.entries(eid)]) == [(1, False)]


@pytest.mark.parametrize(("items", "settings", "bound"), [(1000, {}, 100), (200, {"max_in_flight": 8}, 8)])
async def test_a_fan_out_without_a_bound_has_one(fleet: Any, items: int, settings: dict[str, int], bound: int) -> None:
    """K31: it holds after a crash in the middle, the order of the results is that of the items, requests stay few."""
    running: set[int] = set()
    peaks = [0, 0]
    ran: list[int] = []

    async def work(n: int) -> int:
        process = fleet.current
        running.add(n)
        peaks[process] = max(peaks[process], len(running))
        await fleet.clock.sleep(5)
        running.discard(n)
        ran.append(n)
        return n

    @fleet.registry.workflow
    async def fan_out(ctx: Context, count: int) -> list[int]:
        return await ctx.gather(*(ctx.step(work, n) for n in range(count)))

    fleet.current = 0
    wire = Wire()
    more = {"exec_ttl_s": 6.0, "task_ttl_s": 6.0, **settings}
    first = fleet.process("w-1", wrap=wire.wrap, **more).work(sweep=False)
    eid = await fleet.engine.start(fan_out, items)
    await fleet.clock.advance(items / bound * 5 / 2)
    first.kill()
    assert 0 < len(ran) < items
    running.clear()
    fleet.current = 1
    fleet.process("w-2", wrap=wire.wrap, **more).work()
    assert await fleet.value(eid) == list(range(items))
    assert peaks == [bound, bound]
    assert len(ran) <= items + bound, "only what was under way ran again"
    commits = [one for one in wire.requests if one.verb == "put" and one.key.startswith(f"logs/wf.exec.{eid}/log/")]
    assert len(commits) <= 4 * items / bound + 10, "outcomes that come together share a commit"


async def test_five_thousand_items_are_bounded_by_default(fleet: Any) -> None:
    """K31: the size of the case, with default settings, and a crash half-way."""
    counts = [Counter[str](), Counter[str]()]
    fleet.current = 0

    async def work(n: int) -> int:
        count = counts[fleet.current]
        count["ran"] += 1
        count["running"] += 1
        count["peak"] = max(count["peak"], count["running"])
        await fleet.clock.sleep(1)
        count["running"] -= 1
        return n

    @fleet.registry.workflow
    async def fan_out(ctx: Context) -> int:
        return sum(await ctx.gather(*(ctx.step(work, n) for n in range(5000))))

    first = fleet.process("w").work(sweep=False)
    eid = await fleet.engine.start(fan_out)
    await fleet.clock.advance(25)
    first.kill()
    assert 0 < counts[0]["ran"] < 5000
    fleet.current = 1
    fleet.process("w-2").work()
    assert await fleet.value(eid, limit_s=300) == sum(range(5000))
    assert [count["peak"] for count in counts] == [100, 100]
    assert counts[0]["ran"] + counts[1]["ran"] <= 5000 + 100, "only what was under way ran again"
