"""Steps, retries, timers and children."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING

from flowli.domain.errors import StepFailed
from flowli.domain.retry import RetryPolicy
from flowli.runtime import Context, Registry, step_info
from flowli.testing.sim.workload import Expected, Workload, drive_one

if TYPE_CHECKING:
    from flowli.testing.sim.cluster import Cluster
    from flowli.testing.sim.fleet import Client

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


async def _drive_steps(client: Client) -> None:
    await drive_one(client, Expected((3,)))


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
    await drive_one(client, Expected(("done builtins.KeyError",)))


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
    await drive_one(client, Expected((["timeout", "None", "1"],)))


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
    await drive_one(client, Expected((["2", "4", "ChildFailed"],)))


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
    await drive_one(client, Expected((12,)))


def _fan_out(cluster: Cluster) -> Registry:
    registry = Registry()

    async def square(n: int) -> int:
        cluster.effect(f"square {n}")
        return n * n

    @registry.workflow
    async def kid(ctx: Context, n: int) -> int:
        await ctx.sleep(0.1 * n)
        return await ctx.step(square, n)

    @registry.workflow
    async def main(ctx: Context) -> int:
        return sum(await ctx.as_completed(*(ctx.child(kid, n) for n in range(8))))

    return registry


async def _drive_fan_out(client: Client) -> None:
    await drive_one(client, Expected((140,)))


def _saga(cluster: Cluster) -> Registry:
    registry = Registry()
    policy = RetryPolicy(3, backoff=timedelta(seconds=1), jitter=0.0)

    async def book(what: str) -> str:
        cluster.effect(f"book {what}")
        if what == "hotel":
            raise ValueError("no room")
        return what

    async def undo(what: str) -> None:
        cluster.effect(f"undo {what}")

    @registry.workflow
    async def main(ctx: Context) -> str:
        undone: list[str] = []
        try:
            for what in ("flight", "car", "hotel"):
                undone.append(what)
                await ctx.step(book, what)
        except StepFailed as failed:
            for what in reversed(undone):
                await ctx.step(undo, what, retry=policy)
            return f"undone after {failed.error.type}"
        return "booked"

    return registry


async def _drive_saga(client: Client) -> None:
    await drive_one(client, Expected(("undone after builtins.ValueError",)))


def _check_saga(cluster: Cluster) -> list[str]:
    """What was booked is undone, in the reverse order, after the last booking."""
    did = [effect.note for effect in cluster.ledger.effects]
    last = {note: len(did) - 1 - did[::-1].index(note) for note in did}
    wanted = ["book flight", "book car", "book hotel", "undo hotel", "undo car", "undo flight"]
    order = sorted(last, key=last.__getitem__)
    return [] if order == wanted or not cluster.expected else [f"S8: the saga did {order}, not {wanted}"]


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


def _long(cluster: Cluster) -> Registry:
    registry = Registry()

    async def work(seconds: float) -> float:
        cluster.effect(f"work for {seconds:g} s")
        await asyncio.sleep(seconds)
        return seconds

    @registry.workflow
    async def main(ctx: Context) -> float:
        return await ctx.step(work, 0.5) + await ctx.step(work, 12.0)

    return registry


async def _drive_long(client: Client) -> None:
    """A step that takes longer than every lease lasts without renewal."""
    await drive_one(client, Expected((12.5,)))


def _detached(cluster: Cluster) -> Registry:
    registry = Registry()
    policy = RetryPolicy(2, backoff=timedelta(seconds=4), jitter=0.0)

    @registry.step
    async def train() -> str:
        cluster.effect("train")
        await asyncio.sleep(0.5)
        if step_info().attempt == 1:
            raise OSError("once")
        return "trained"

    @registry.step
    async def endless() -> None:
        cluster.effect("endless")
        await asyncio.sleep(100_000)

    @registry.workflow
    async def main(ctx: Context) -> list[str]:
        found = [await ctx.step(train, queue="gpu", retry=policy)]
        try:
            async with asyncio.timeout(5):
                await ctx.step(endless, queue="gpu")
        except TimeoutError:
            found.append("given up")
        return found

    return registry


async def _drive_detached(client: Client) -> None:
    await drive_one(client, Expected((["trained", "given up"],)))


def _check_detached(cluster: Cluster) -> list[str]:
    """Each step was tried, and after an attempt that was recorded as failed comes the next one, not the same again."""
    attempts = [effect.attempt for effect in cluster.ledger.effects if effect.note == "train"]
    return [] if attempts == sorted(attempts) and set(attempts) <= {1, 2} else [f"S7: attempts at training: {attempts}"]


WORKLOADS = (
    Workload("steps", _steps, _drive_steps),
    Workload("retry", _retry, _drive_retry),
    Workload("timeouts", _timeouts, _drive_timeouts),
    Workload("children", _children, _drive_children),
    Workload("parallel", _parallel, _drive_parallel),
    Workload("fan-out", _fan_out, _drive_fan_out),
    Workload("saga", _saga, _drive_saga, _check_saga),
    Workload("keyed", _keyed, _drive_keyed, _check_keyed),
    Workload("long", _long, _drive_long),
    Workload("detached", _detached, _drive_detached, _check_detached, queues=("default", "gpu")),
)
"""Steps, retries, timers and children."""
