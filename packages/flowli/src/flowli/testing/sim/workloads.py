"""The scenarios that the simulator runs: small programs that together touch every protocol."""

from __future__ import annotations

import asyncio
import contextlib
import functools
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import TYPE_CHECKING

from flowli.domain.errors import NotAllowed, StepFailed
from flowli.domain.retry import RetryPolicy
from flowli.runtime import Context, Registry, step_info
from flowli.testing.sim.workload import Expected, Workload

if TYPE_CHECKING:
    from flowli.testing.sim.cluster import Client, Cluster

__all__ = ["WORKLOADS"]


def _steps(cluster: Cluster) -> Registry:
    registry = Registry()

    async def work(n: int) -> int:
        cluster.effect(f"work {n}")
        await asyncio.sleep(0.05)
        cluster.effect(f"worked {n}", starts=False)
        return n + 1

    @registry.workflow
    async def main(ctx: Context) -> int:
        total = 0
        for _ in range(3):
            total = await ctx.step(work, total)
        return total

    return registry


async def _drive_one(client: Client, expected: Expected, key: str = "k1") -> None:
    eid = await client.again(lambda: client.engine.start("main", key=key))
    client.expect(eid, expected)


async def _drive_steps(client: Client) -> None:
    await _drive_one(client, Expected((3,)))


def _retry(cluster: Cluster) -> Registry:
    registry = Registry()
    policy = RetryPolicy(4, backoff=timedelta(seconds=1), jitter=0.0)

    async def flaky() -> str:
        cluster.effect("try")
        if step_info().attempt < 3:
            raise ValueError("not yet")
        return "done"

    async def hopeless() -> str:
        raise KeyError("never")

    @registry.workflow
    async def main(ctx: Context) -> str:
        first = await ctx.step(flaky, retry=policy)
        try:
            await ctx.step(hopeless)
        except StepFailed as failed:
            return f"{first} {failed.error.type}"
        return "?"

    return registry


async def _drive_retry(client: Client) -> None:
    await _drive_one(client, Expected(("done builtins.KeyError",)))


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


def _timeouts(cluster: Cluster) -> Registry:
    registry = Registry()

    @registry.workflow
    async def main(ctx: Context) -> list[str]:
        got = []
        try:
            async with asyncio.timeout(5):
                await ctx.receive("never")
        except TimeoutError:
            got.append("timeout")
        got.append(str(await ctx.receive("never", timeout=6)))
        await ctx.sleep(7)
        done, pending = await asyncio.wait(
            [asyncio.ensure_future(ctx.sleep(3)), asyncio.ensure_future(ctx.sleep(8))],
            return_when=asyncio.FIRST_COMPLETED,
        )
        for task in pending:
            task.cancel()
        got.append(str(len(done)))
        return got

    return registry


async def _drive_timeouts(client: Client) -> None:
    await _drive_one(client, Expected((["timeout", "None", "1"],)))


def _children(cluster: Cluster) -> Registry:
    registry = Registry()

    async def double(n: int) -> int:
        cluster.effect(f"double {n}")
        return 2 * n

    @registry.workflow
    async def kid(ctx: Context, n: int) -> int:
        if n == 3:
            raise ValueError("three")
        return await ctx.step(double, n)

    @registry.workflow
    async def main(ctx: Context) -> list[str]:
        found = await asyncio.gather(*(ctx.child(kid, n) for n in range(1, 4)), return_exceptions=True)
        return [type(one).__name__ if isinstance(one, Exception) else str(one) for one in found]

    return registry


async def _drive_children(client: Client) -> None:
    await _drive_one(client, Expected((["2", "4", "ChildFailed"],)))


def _parallel(cluster: Cluster) -> Registry:
    registry = Registry()

    async def slow(n: int) -> int:
        cluster.effect(f"slow {n}")
        await asyncio.sleep(0.1 * n)
        return n

    @registry.workflow
    async def main(ctx: Context) -> int:
        async def branch(n: int) -> int:
            first = await ctx.step(slow, n)
            await ctx.sleep(1)
            return first + await ctx.step(slow, 4 - n)

        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(branch(n)) for n in range(1, 4)]
        return sum(task.result() for task in tasks)

    return registry


async def _drive_parallel(client: Client) -> None:
    await _drive_one(client, Expected((12,)))


def _cancel(cluster: Cluster) -> Registry:
    registry = Registry()

    async def clean() -> str:
        cluster.effect("clean")
        return "clean"

    @registry.workflow
    async def main(ctx: Context) -> str:
        try:
            await ctx.receive("never")
        finally:
            await ctx.step(clean)
        return "?"

    return registry


async def _drive_cancel(client: Client) -> None:
    eid = await client.again(lambda: client.engine.start("main", key="k1"))
    client.expect(eid, Expected(statuses=("cancelled",)))
    await client.world.sleep(2.0)

    async def cancel() -> None:
        with contextlib.suppress(NotAllowed):
            await client.engine.cancel(eid, "enough", key="c1")

    await client.again(cancel)


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


def _keyed(cluster: Cluster) -> Registry:
    return _steps(cluster)


async def _drive_keyed(client: Client) -> None:
    found = await asyncio.gather(*(client.again(lambda: client.engine.start("main", key="same")) for _ in range(3)))
    for eid in found:
        client.expect(eid, Expected((3,)))
    client.cluster.memory.setdefault("keyed", set()).update(found)


def _check_keyed(cluster: Cluster) -> list[str]:
    found = cluster.memory.get("keyed", set())
    return [f"S1: one key led to {len(found)} executions"] if len(found) > 1 else []


def _pause(cluster: Cluster) -> Registry:
    registry = Registry()

    async def work(n: int) -> int:
        cluster.effect(f"work {n}")
        await asyncio.sleep(0.3)
        return n

    @registry.workflow
    async def main(ctx: Context) -> int:
        total = 0
        for n in range(4):
            total += await ctx.step(work, n)
            await ctx.sleep(0.5)
        return total

    return registry


async def _drive_pause(client: Client) -> None:
    eid = await client.again(lambda: client.engine.start("main", key="k1"))
    client.expect(eid, Expected((6,)))
    await client.world.sleep(1.0)

    async def quietly(verb: Callable[..., Awaitable[None]], key: str) -> None:
        with contextlib.suppress(NotAllowed):
            await verb(eid, "just so", key=key)

    await client.again(lambda: quietly(client.engine.pause, "p1"))
    await client.world.sleep(5.0)
    await client.again(lambda: quietly(client.engine.resume, "p2"))


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


WORKLOADS: dict[str, Workload] = {
    workload.name: workload
    for workload in (
        Workload("steps", _steps, _drive_steps),
        Workload("retry", _retry, _drive_retry),
        Workload("receive", _receive, _drive_receive),
        Workload("timeouts", _timeouts, _drive_timeouts),
        Workload("children", _children, _drive_children),
        Workload("parallel", _parallel, _drive_parallel),
        Workload("cancel", _cancel, _drive_cancel),
        Workload("send", _send, _drive_send),
        Workload("keyed", _keyed, _drive_keyed, _check_keyed),
        Workload("pause", _pause, _drive_pause),
        Workload("chatter", _chatter, _drive_chatter),
    )
}
"""By name."""
