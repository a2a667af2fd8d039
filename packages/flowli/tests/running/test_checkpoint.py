from __future__ import annotations

from flowli import Context
from flowli.domain.entries import FrameCompleted

from .fleet import Fleet


async def test_what_came_before_a_checkpoint_is_durable_after_it(fleet: Fleet) -> None:
    """JRN-19."""
    seen: list[list[str]] = []

    async def value(n: int) -> int:
        return n

    @fleet.registry.workflow
    async def careful(ctx: Context) -> int:
        found = await ctx.step(value, 1) + await ctx.step(value, 2)
        await ctx.checkpoint_and_yield()
        durable = await fleet_journal()
        seen.append(durable)
        ctx.log.info("half way", found=found)
        return found

    async def fleet_journal() -> list[str]:
        # read from the memory of the bucket: no request leaves the workflow
        return [body.fid for body in durable_bodies if isinstance(body, FrameCompleted)]

    durable_bodies: list[object] = []
    worker = fleet.process("w")
    append = worker.ports.journal.append

    async def noted(eid: object, entries: list[object], **options: object) -> object:
        done = await append(eid, entries, **options)  # type: ignore[arg-type]
        durable_bodies.extend(entry.body for entry in entries)  # type: ignore[attr-defined]
        return done

    worker.ports.journal.append = noted  # type: ignore[method-assign]
    worker.work()
    assert await fleet.result(careful) == 3
    assert seen[0][:2] == ["root/value#1", "root/value#2"]
