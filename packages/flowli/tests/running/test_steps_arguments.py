"""What a step does to its arguments stays in the step: the live run and its replay see the same values."""

from __future__ import annotations

from flowli import Context, Engine, MemoryBackend, Registry, Site


async def test_a_step_that_changes_its_argument_changes_a_copy() -> None:
    """STP-9."""
    registry = Registry()

    async def fill(items: list[int]) -> int:
        items.append(len(items))
        return len(items)

    @registry.workflow
    async def main(ctx: Context) -> list[int]:
        items = [7]
        await ctx.step(fill, items)
        await ctx.step(fill, items)
        return items

    engine = Engine(MemoryBackend().ports, Site.local("w"), registry=registry)
    eid = await engine.start(main)
    async with engine.worker() as worker:
        await worker.run_until_idle()
    assert await engine.result(eid, timeout=5) == [7]
