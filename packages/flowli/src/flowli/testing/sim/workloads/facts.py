"""What executions tell the world: claims, attributes, announcements, streams, values, messages to everybody."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from flowli.domain.entries import Announced, AttributesSet, ControlEntry, StatusChanged
from flowli.domain.ids import Eid
from flowli.domain.ports import Ports
from flowli.runtime import Context, Registry
from flowli.runtime.own_channels import published_channel, stream_channel
from flowli.testing.sim.workload import Expected, Workload

if TYPE_CHECKING:
    from flowli.testing.sim.cluster import Cluster
    from flowli.testing.sim.fleet import Client

__all__ = ["WORKLOADS"]


def _facts(cluster: Cluster) -> Registry:
    registry = Registry()

    @registry.workflow
    async def main(ctx: Context, n: int) -> list[int]:
        first = await ctx.claim("first", n)
        await ctx.set_attributes(state="waits", n=n)
        lines = ctx.stream("lines")
        for line in range(3):
            await lines.write(10 * n + line)
        await ctx.publish("state", "half")
        news = await ctx.receive("news", scope="global")
        await ctx.announce("told", {"n": n})
        await lines.close()
        await ctx.publish("state", "all")
        await ctx.set_attributes(state="done")
        cluster.memory.setdefault("first", set()).add(first)
        return [n, news]

    return registry


async def _drive(client: Client) -> None:
    started = client.cluster.memory.setdefault("facts", {})
    for n in (1, 2):
        started[n] = await client.again(functools.partial(client.engine.start, "main", n, key=f"k{n}"))
        client.expect(started[n], Expected(([n, 5],)))
    await client.world.sleep(4.0)
    await client.again(lambda: client.engine.broadcast("news", 5, key="b1"))


def _check(cluster: Cluster) -> list[str]:
    """Both learnt of one decision; what was shown is whole, in order, and the last of it stands."""
    first = cluster.memory.get("first", set())
    problems = [f"S4: one claim was decided as {sorted(first)}"] if len(first) > 1 else []
    for n, eid in cluster.memory.get("facts", {}).items():
        problems += cluster.bucket.read(functools.partial(_shown, n, eid))
    return problems


async def _shown(n: int, eid: Eid, ports: Ports) -> list[str]:
    lines = [one.payload for one in (await ports.channel.read(stream_channel(eid, "lines"))).messages]
    values = list(dict.fromkeys(one["value"] for one in lines if isinstance(one, dict) and "value" in one))
    problems = []
    if values != [10 * n, 10 * n + 1, 10 * n + 2] or {"end": True, "n": 4} not in lines:
        problems.append(f"S6: the stream of {eid} is {lines}")
    states = [one.payload for one in (await ports.channel.read(published_channel(eid, "state"))).messages]
    if max((one["n"], one["value"]) for one in states if isinstance(one, dict)) != (2, "all"):
        problems.append(f"S6: {eid} published {states}")
    told = [entry for entry in (await ports.control.read()).entries if _about(entry, eid)]
    problems += _stands(eid, told)
    if not any(isinstance(entry.body, Announced) for entry in told):
        problems.append(f"S6: nothing was announced of {eid}")
    return problems


def _stands(eid: Eid, told: list[ControlEntry]) -> list[str]:
    """What a reader believes: an owner that was replaced may still write, but counts no more."""
    epoch, state = 0, None
    for entry in told:
        match entry.body:
            case StatusChanged() as changed:
                epoch = max(epoch, changed.epoch)
            case AttributesSet(_, attributes) if not entry.is_late(epoch):
                state = attributes.get("state", state)
    return [] if state == "done" else [f"S3: the control log leaves {eid} with the state {state}"]


def _about(entry: ControlEntry, eid: Eid) -> bool:
    return getattr(entry.body, "eid", None) == eid


WORKLOADS = (Workload("facts", _facts, _drive, _check),)
"""What executions tell the world."""
