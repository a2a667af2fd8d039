"""Singleton, throttle and debounce: who goes on without, who waits for a place, and who goes for all."""

from __future__ import annotations

from functools import partial

from flowli import Context, Registry
from flowli.domain.errors import NotAllowed
from flowli.testing.sim import Client, Cluster, Expected, Workload
from flowli_patterns.coordinate.leases import singleton
from flowli_patterns.coordinate.rates import debounce, throttle

__all__ = ["LIMITING"]

_LIMIT, _PER_S = 2, 3.0
_QUIET_S = 2.5


def _singleton(cluster: Cluster) -> Registry:
    registry = Registry()

    async def work(epoch: int) -> int:
        cluster.effect(f"import {epoch}")
        return epoch

    @registry.workflow
    async def main(ctx: Context) -> str:
        async with singleton(ctx, "import", patience=1.0) as mine:
            if mine is None:
                return "under way"
            await ctx.step(work, mine.epoch)
            await ctx.sleep(4)
            await ctx.step(work, mine.epoch)
        return "done"

    return registry


async def _drive_singleton(client: Client) -> None:
    eids = [await client.again(partial(client.engine.start, "main", key=f"k{n}")) for n in range(1, 3)]
    for eid in eids[1:]:
        client.expect(eid, Expected(("done", "under way")))
    client.expect(eids[0], Expected(("done", "under way"), ("completed", "cancelled")))

    async def end() -> None:
        try:
            await client.engine.terminate(eids[0], "enough")
        except NotAllowed:  # it has ended
            pass

    await client.world.sleep(client.world.random().uniform(0.5, 6.0))
    await client.again(end)
    last = await client.again(partial(client.engine.start, "main", key="k3"))
    client.expect(last, Expected(("done", "under way")))


def _one_an_epoch(cluster: Cluster) -> list[str]:
    return [f"{note} was done by {len(eids)} executions" for note, eids in _by_note(cluster).items() if len(eids) > 1]


def _throttle(cluster: Cluster) -> Registry:
    registry = Registry()

    async def send(window: str) -> None:
        cluster.effect(window)

    @registry.workflow
    async def main(ctx: Context) -> bool:
        begins = await throttle(ctx, "gateway", _LIMIT, _PER_S)
        in_time = ctx.now >= begins
        await ctx.step(send, begins.isoformat())
        return in_time

    return registry


async def _drive_throttle(client: Client) -> None:
    for n in range(1, 5):
        eid = await client.again(partial(client.engine.start, "main", key=f"k{n}"))
        client.expect(eid, Expected((True,)))


def _check_throttle(cluster: Cluster) -> list[str]:
    """So many in a window."""
    return [
        f"in the window {window} {len(eids)} went on"
        for window, eids in _by_note(cluster).items()
        if len(eids) > _LIMIT
    ]


def _debounce(cluster: Cluster) -> Registry:
    registry = Registry()

    async def note(what: str) -> None:
        cluster.effect(what)

    @registry.workflow
    async def main(ctx: Context) -> bool:
        await ctx.step(note, "change")
        mine = await debounce(ctx, "index", _QUIET_S)
        if mine:
            await ctx.step(note, "build")
        return mine

    return registry


async def _drive_debounce(client: Client) -> None:
    for n in range(1, 5):
        eid = await client.again(partial(client.engine.start, "main", key=f"k{n}"))
        client.expect(eid, Expected((True, False)))
        await client.world.sleep(0.5 if n != 3 else 8.0)


def _check_debounce(cluster: Cluster) -> list[str]:
    """No change is left without a build after it; where nothing struck, each of the two rows has one."""
    changed: dict[str, int] = {}
    built: dict[str, int] = {}
    for number, effect in enumerate(cluster.ledger.effects):
        (built if effect.note == "build" else changed).setdefault(str(effect.eid), number)
    last = max(built.values(), default=-1)
    wrong = [f"the change of {eid} was never built" for eid, number in changed.items() if number > last]
    if not cluster.struck and len(built) != 2:
        wrong.append(f"{len(built)} builds of two rows of changes")
    return wrong


def _by_note(cluster: Cluster) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for effect in cluster.ledger.effects:
        found.setdefault(effect.note, set()).add(str(effect.eid))
    return found


LIMITING = (
    Workload("singleton", _singleton, _drive_singleton, _one_an_epoch),
    Workload("throttle", _throttle, _drive_throttle, _check_throttle),
    Workload("debounce", _debounce, _drive_debounce, _check_debounce),
)
"""Singleton, throttle and debounce."""
