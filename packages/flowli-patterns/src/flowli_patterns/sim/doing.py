"""Work: fan-outs, sagas, delegates, ticks."""

from __future__ import annotations

from flowli import Consumer, Context, NonRetryableError, Registry
from flowli.domain.delegate import Delegate
from flowli.testing.sim import Client, Cluster, Expected, Workload
from flowli_patterns.delegate import delegate
from flowli_patterns.errors import CompensationFailed, DelegateTimeout
from flowli_patterns.fan_out import Done, fan_out
from flowli_patterns.on_tick import Tick, on_tick
from flowli_patterns.saga import saga

__all__ = ["DOING"]


async def _start(client: Client, expected: Expected) -> None:
    eid = await client.again(lambda: client.engine.start("main", key="k1"))
    client.expect(eid, expected)


def _fan_out(cluster: Cluster) -> Registry:
    registry = Registry()

    async def double(n: int) -> int:
        cluster.effect(f"double {n}")
        if n == 3:
            raise NonRetryableError("three")
        return 2 * n

    @registry.workflow
    async def kid(ctx: Context, n: int) -> int:
        return await ctx.step(double, n)

    @registry.workflow
    async def main(ctx: Context) -> list[int]:
        async def both(n: int) -> int:
            first = await ctx.step(double, n)
            await ctx.sleep(3 - n % 3)
            return first + await ctx.child(kid, n)

        found = await fan_out(ctx, both, range(1, 6), max_in_flight=2, on_error="partial")
        return [one.value if isinstance(one, Done) else -1 for one in found]

    return registry


async def _drive_fan_out(client: Client) -> None:
    await _start(client, Expected(([4, 8, -1, 16, 20],)))


def _saga(cluster: Cluster) -> Registry:
    registry = Registry()

    async def book(what: str) -> str:
        cluster.effect(f"book {what}")
        if what == "car":
            raise NonRetryableError("no car left")
        return what

    async def release(what: str) -> None:
        cluster.effect(f"release {what}")

    async def hopeless(what: str) -> None:
        cluster.effect(f"keep {what}")
        raise NonRetryableError(f"{what} cannot be released")

    @registry.workflow
    async def main(ctx: Context) -> None:
        async with saga(ctx) as trip:
            await trip.step(book, "seat", undo=release)
            await ctx.sleep(2)
            await trip.step(book, "room", undo=release)
            await trip.step(book, "car", undo=release)

    @registry.workflow
    async def stuck(ctx: Context) -> str:
        try:
            async with saga(ctx, collect_all=True) as trip:
                await trip.step(book, "boat", undo=release)
                await trip.step(book, "tent", undo=hopeless)
                await trip.step(book, "car", undo=release)
        except CompensationFailed as failed:
            return f"failed {sorted(failed.failed)} undone {list(failed.undone)}"
        return "?"

    return registry


async def _drive_saga(client: Client) -> None:
    await _start(client, Expected(statuses=("failed",)))
    other = await client.again(lambda: client.engine.start("stuck", key="k2"))
    client.expect(other, Expected(("failed ['book'] undone ['book']",)))


def _check_saga(cluster: Cluster) -> list[str]:
    """K32: what was booked is released in the end, but for what a failed compensation names."""
    last: dict[str, str] = {}
    for effect in cluster.ledger.effects:
        what, _, thing = effect.note.partition(" ")
        last[thing] = what
    kept = sorted(thing for thing, what in last.items() if what != "release" and thing != "car")
    return [] if kept == ["tent"] else [f"K32: still booked are {kept}, and it should be the tent alone"]


def _delegate(cluster: Cluster) -> Registry:
    registry = Registry()

    @registry.workflow
    async def main(ctx: Context) -> list[str]:
        done = [await delegate(ctx, "agents", word, as_type=str) for word in ("a", "b")]
        try:
            done.append(await delegate(ctx, "nobody", "c", timeout=15))
        except DelegateTimeout as late:
            done.append(f"withdrawn {late.withdrawn}")
        return done

    return registry


async def _drive_delegate(client: Client) -> None:
    # a worker that died between withdrawing and its entry leaves it open whether the task was withdrawn in time
    await _start(client, Expected((["A", "B", "withdrawn True"], ["A", "B", "withdrawn False"])))


async def _consume(client: Client) -> None:
    async def shout(delegate: Delegate) -> str:
        return str(delegate.payload).upper()

    engine = client.engine
    await Consumer(engine.ports, "agents", shout, site=engine.site, world=engine.world, ttl_s=6.0).run()


def _on_tick(cluster: Cluster) -> Registry:
    registry = Registry()

    async def measure(number: int) -> int:
        cluster.effect(f"measure {number}")
        return number

    @registry.workflow
    async def main(ctx: Context) -> int:
        numbers: list[int] = []

        async def work(tick: Tick) -> None:
            numbers.append(await ctx.step(measure, tick.number))

        await on_tick(ctx, work, every=4, times=4)
        return numbers[-1]

    return registry


async def _drive_on_tick(client: Client) -> None:
    # a fleet that stood still for long leaves ticks out, the last one too
    await _start(client, Expected((1, 2, 3, 4)))


DOING = (
    Workload("fan_out", _fan_out, _drive_fan_out),
    Workload("saga", _saga, _drive_saga, _check_saga),
    Workload("delegate", _delegate, _drive_delegate, roles={"consumer": _consume}),
    Workload("on_tick", _on_tick, _drive_on_tick),
)
"""Work: fan-outs, sagas, delegates, ticks."""
