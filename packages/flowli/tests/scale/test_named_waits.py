"""An execution that waits on many things names each once, and whoever reads the journal sees them all."""

from __future__ import annotations

from flowli import Context
from flowli.domain.entries import ExecutionSuspended
from flowli.domain.waits import OnChannel

from ..running.fleet import Fleet


async def test_all_channels_of_a_suspended_execution_are_known_and_their_markers_go_with_it(cairn: Fleet) -> None:
    """CHD-7."""

    @cairn.registry.workflow
    async def many(ctx: Context) -> int:
        heard = await ctx.gather(*(ctx.receive(f"c{n}") for n in range(25)))
        return sum(heard)

    cairn.process("w", warm_limit=0).work(sweep=False)
    eid = await cairn.engine.start(many)
    await cairn.until_status(eid, "suspended")
    names = [f"{eid}.c{n}" for n in range(25)]
    for n in range(24):
        await cairn.engine.signal(eid, f"c{n}", n)
        await cairn.clock.advance(5)
        fold = await cairn.fold(eid)
        waits = {on.channel for on in (await cairn.engine.status(eid)).waits_on if isinstance(on, OnChannel)}
        assert waits == set(names[n + 1 :]) == set(fold.markers())
        assert fold.suspended is not None
        assert len(fold.suspended.on) == min(10, 24 - n)
        assert len(fold.suspended.on) + fold.suspended.others == 24 - n
    first = next(entry.body for entry in await cairn.entries(eid) if isinstance(entry.body, ExecutionSuspended))
    assert {on.channel for on in first.on if isinstance(on, OnChannel)} == set(names)
    await cairn.engine.terminate(eid, reason="enough")
    for name in names:
        assert await cairn.ports.channel.marker(name, eid) is None
