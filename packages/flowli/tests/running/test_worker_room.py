"""How much a worker takes, and how soon."""

from __future__ import annotations

from flowli import Context

from .fleet import Fleet
from .ledger import Ledger


async def test_no_more_executions_run_at_once_than_a_worker_has_room_for(fleet: Fleet) -> None:
    """WRK-10."""
    running: list[int] = []
    peak = 0

    async def step(n: int) -> int:
        nonlocal peak
        running.append(n)
        peak = max(peak, len(running))
        await fleet.clock.sleep(10)
        running.remove(n)
        return n

    @fleet.registry.workflow
    async def one(ctx: Context, n: int) -> int:
        return await ctx.step(step, n)

    eids = [await fleet.engine.start(one, n) for n in range(7)]
    fleet.process("w").work(concurrency=3, sweep=False)
    assert [await fleet.value(eid) for eid in eids] == list(range(7))
    assert peak == 3


async def test_what_a_process_puts_for_itself_is_begun_at_once(fleet: Fleet, ledger: Ledger) -> None:
    """WRK-11: a start, a signal and a request wait for no poll."""

    @fleet.registry.workflow
    async def waits(ctx: Context) -> str:
        return str(await ctx.receive("go"))

    both = fleet.process("both", poll_s=500.0).work(sweep=False)
    await fleet.clock.advance(2000)
    began = fleet.clock.elapsed_us
    eid = await fleet.run(both.engine.start("steps", 3))
    assert await fleet.run(both.engine.result(eid)) == 3
    eid = await fleet.run(both.engine.start(waits))
    await fleet.until_status(eid, "suspended")
    await fleet.run(both.engine.signal(eid, "go", "on"))
    assert await fleet.run(both.engine.result(eid)) == "on"
    assert fleet.clock.elapsed_us - began < 10_000_000
