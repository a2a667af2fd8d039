"""Messages between executions, clients and consumers."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from flowli.domain.delegate import Delegate
from flowli.runtime import Context, Registry
from flowli.runtime.consumer import Consumer
from flowli.testing.sim.workload import Expected, Workload

if TYPE_CHECKING:
    from flowli.testing.sim.cluster import Cluster
    from flowli.testing.sim.fleet import Client

__all__ = ["WORKLOADS"]


def _receive(cluster: Cluster) -> Registry:
    registry = Registry()

    async def note(what: str) -> str:
        cluster.effect(what)
        return what

    @registry.workflow
    async def main(ctx: Context) -> list[str]:
        got = [await ctx.receive("orders")]
        got.append(await ctx.step(note, "between"))
        got.append(await ctx.receive("orders"))
        got.append(await ctx.receive("orders", timeout=300))
        return got

    return registry


async def _drive_receive(client: Client) -> None:
    eid = await client.again(lambda: client.engine.start("main", key="k1"))
    client.expect(eid, Expected((["a", "between", "b", "c"],)))
    for name in ("a", "b", "c"):
        await client.again(functools.partial(client.engine.signal, eid, "orders", name, key=f"m-{name}"))
        await client.world.sleep(4.0)


def _send(cluster: Cluster) -> Registry:
    registry = Registry()

    @registry.workflow
    async def main(ctx: Context) -> list[str]:
        return [await ctx.receive("in") for _ in range(3)]

    @registry.workflow
    async def sender(ctx: Context, to: str) -> int:
        from flowli.domain.ids import parse_eid

        target = parse_eid(to)
        for n in range(3):
            await ctx.send(target, "in", f"n{n}")
            await ctx.sleep(1)
        return 3

    return registry


async def _drive_send(client: Client) -> None:
    eid = await client.again(lambda: client.engine.start("main", key="k1"))
    client.expect(eid, Expected((["n0", "n1", "n2"],)))
    other = await client.again(lambda: client.engine.start("sender", str(eid), key="k2"))
    client.expect(other, Expected((3,)))


def _chatter(cluster: Cluster) -> Registry:
    registry = Registry()

    async def note(what: str) -> str:
        cluster.effect(what)
        return what

    @registry.workflow
    async def main(ctx: Context) -> list[str]:
        got: list[str] = []
        while len(got) < 10:
            message = await ctx.receive("talk", timeout=900)
            got.append(await ctx.step(note, message) if len(got) % 3 == 0 else message)
        return got

    return registry


async def _drive_chatter(client: Client) -> None:
    eid = await client.again(lambda: client.engine.start("main", key="k1"))
    words = [f"w{n}" for n in range(10)]
    client.expect(eid, Expected(([*words],)))
    for word in words:
        await client.again(functools.partial(client.engine.signal, eid, "talk", word, key=word))
        await client.world.sleep(client.world.random().uniform(0.0, 0.4))


def _turns(cluster: Cluster) -> Registry:
    registry = Registry()

    @registry.workflow
    async def main(ctx: Context) -> list[str]:
        return [await ctx.receive(channel) for channel in ("a", "b", "a", "b")]

    return registry


async def _drive_turns(client: Client) -> None:
    """On each channel nobody waits between two turns: its marker goes and comes again."""
    eid = await client.again(lambda: client.engine.start("main", key="k1"))
    client.expect(eid, Expected((["a0", "b1", "a2", "b3"],)))
    for name in ("a0", "b1", "a2", "b3"):
        await client.world.sleep(2.0)
        await client.again(functools.partial(client.engine.signal, eid, name[0], name, key=name))


def _updates(cluster: Cluster) -> Registry:
    registry = Registry()

    @registry.workflow
    async def main(ctx: Context) -> int:
        total = 0
        async for update in ctx.updates("add"):
            total += update.value
            await update.reply(total)
            if total >= 6:
                break
        return total

    return registry


async def _drive_updates(client: Client) -> None:
    eid = await client.again(lambda: client.engine.start("main", key="k1"))
    client.expect(eid, Expected((6,)))
    told = []
    for n in (1, 2, 3):

        async def ask(n: int = n) -> None:
            told.append(await client.engine.update(eid, "add", n, key=f"u{n}"))

        await client.again(ask)
    client.cluster.memory["told"] = told


def _check_updates(cluster: Cluster) -> list[str]:
    told = cluster.memory.get("told", [1, 3, 6])
    return [] if told == [1, 3, 6] else [f"S6: the updates were answered with {told}"]


def _delegate(cluster: Cluster) -> Registry:
    registry = Registry()

    @registry.workflow
    async def main(ctx: Context) -> list[str]:
        got = []
        for n in range(3):
            await ctx.enqueue("outside", n, reply_to="answers", correlation=f"c{n}")
            answer = await ctx.receive("answers", correlation=f"c{n}")
            got.append(answer.get("value", answer.get("error", {}).get("message")))
        return got

    return registry


async def _drive_delegate(client: Client) -> None:
    eid = await client.again(lambda: client.engine.start("main", key="k1"))
    client.expect(eid, Expected((["did 0", "no luck", "did 2"],)))


async def _consume(client: Client) -> None:
    engine, cluster = client.engine, client.cluster

    async def handle(delegate: Delegate) -> str:
        await engine.world.sleep(0.5)
        if delegate.payload == 1:
            raise ValueError("no luck")
        cluster.memory.setdefault("answered", []).append((delegate.task_id, cluster.loop.time()))
        return f"did {delegate.payload}"

    await Consumer(engine.ports, "outside", handle, site=engine.site, world=engine.world, ttl_s=6.0).run()


WORKLOADS = (
    Workload("receive", _receive, _drive_receive),
    Workload("send", _send, _drive_send),
    Workload("chatter", _chatter, _drive_chatter),
    Workload("turns", _turns, _drive_turns),
    Workload("updates", _updates, _drive_updates, _check_updates),
    Workload("delegate", _delegate, _drive_delegate, roles={"consumer-1": _consume, "consumer-2": _consume}),
)
"""Messages between executions, clients and consumers."""
