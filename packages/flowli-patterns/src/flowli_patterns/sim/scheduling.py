"""Schedules: two sweepers, and a backfill of the same slots; each slot leads to one execution, none is forgotten."""

from __future__ import annotations

from datetime import timedelta

from flowli import Context, Registry
from flowli.domain.control_entries import Announced
from flowli.domain.errors import NotAllowed
from flowli.testing.sim import Client, Cluster, Expected, Workload
from flowli.timestamp import Timestamp
from flowli_patterns.schedule.book import DEFINED
from flowli_patterns.schedule.model import CatchUp, Overlap
from flowli_patterns.schedule.verbs import Schedules
from flowli_patterns.schedule.when import At

__all__ = ["SCHEDULING"]

_SLOTS = 3
_NAME = "grid"


def _registry(cluster: Cluster) -> Registry:
    registry = Registry()

    async def note(slot: str) -> str:
        cluster.effect(f"slot {slot}")
        return slot

    @registry.workflow
    async def main(ctx: Context, slot: str) -> str:
        return await ctx.step(note, slot)

    return registry


async def _drive(client: Client) -> None:
    memory = client.cluster.memory
    now: Timestamp = memory.setdefault("now", client.world.now())
    slots = [now + timedelta(seconds=6 + 3 * n) for n in range(_SLOTS)]
    memory["slots"] = [str(slot) for slot in slots]
    schedules = Schedules(client.engine)

    async def define() -> None:
        try:
            await schedules.add(
                _NAME,
                "main",
                At(tuple(slot.to_datetime() for slot in slots)),
                slot_argument="slot",
                overlap=Overlap.ALLOW,
                catch_up=CatchUp.ALL,
                jitter_s=1.0,
            )
        except NotAllowed:  # a client before this one has, and died before it was told
            pass

    await client.again(define)
    while (await client.again(lambda: schedules.get(_NAME))).decided_upto < slots[-1]:
        await client.world.sleep(4.0)
    while client.world.now() < slots[-1]:  # its clock may be late, and a backfill is for what is past
        await client.world.sleep(1.0)
    view = await client.again(lambda: schedules.get(_NAME))
    memory["started"] = {str(run.slot): run.eid for run in view.runs}
    memory["defined"] = await client.again(lambda: _last_defined(client))
    first, last = slots[0].to_datetime(), slots[-1].to_datetime()
    filled = await client.again(lambda: schedules.backfill(_NAME, first, last))
    memory["filled"] = {str(one.slot): one.eid for one in filled}
    for one in filled:
        assert one.eid is not None
        client.expect(one.eid, Expected((str(one.slot),)))


async def _last_defined(client: Client) -> Timestamp:
    entries = (await client.engine.ports.control.read()).entries
    return max(one.at for one in entries if isinstance(one.body, Announced) and one.body.topic == DEFINED)


def _check(cluster: Cluster) -> list[str]:
    """Each slot that lay ahead of the definition was started, and everybody who asks for a slot finds one execution."""
    memory = cluster.memory
    if "filled" not in memory:
        return []  # the client's own failure is told elsewhere
    started, filled = memory["started"], memory["filled"]
    wrong = [
        f"slot {slot} was never started"
        for slot in memory["slots"]
        if Timestamp.parse(slot) > memory["defined"] and slot not in started
    ]
    wrong += [
        f"slot {slot} led to {started[slot]} and {filled.get(slot)}"
        for slot in started
        if started[slot] != filled.get(slot)
    ]
    ran: dict[str, set[str]] = {}
    for effect in cluster.ledger.effects:
        ran.setdefault(effect.note, set()).add(str(effect.eid))
    return wrong + [f"{note} ran in {len(eids)} executions" for note, eids in ran.items() if len(eids) > 1]


SCHEDULING = (Workload("schedules", _registry, _drive, _check, sweepers=2),)
"""Schedules: two sweepers, and a backfill of the same slots."""
