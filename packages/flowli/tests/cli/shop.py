"""The application that the tests of the command line run."""

import asyncio
import time
from dataclasses import dataclass
from datetime import timedelta

from flowli import Context, Engine, MemoryBackend, Registry, RetryPolicy, Site

registry = Registry()


@dataclass
class Order:
    id: str
    cents: int


def charge(order: Order) -> str:
    return f"receipt-{order.id}"


tries = []


def flaky() -> int:
    tries.append(1)
    if len(tries) % 2:
        raise ValueError("not yet")
    return len(tries)


@registry.workflow
async def purchase(ctx: Context, order: Order) -> str:
    """Charge, then wait for the parcel."""
    receipt = await ctx.step(charge, order)
    parcel = await ctx.receive("parcels")
    return f"{receipt}: {parcel['number']}"


@registry.workflow
async def echo(ctx: Context, text: str, times: int = 1) -> list[str]:
    return [text] * times


def linger(seconds: float) -> None:
    time.sleep(seconds)


@registry.workflow
async def slow(ctx: Context) -> None:
    await ctx.step(linger, 30.0)


@registry.workflow(name="echo", version="2")
async def echo_again(ctx: Context, text: str, times: int = 1) -> list[str]:
    return [text.upper()] * times


@registry.workflow
async def stumble(ctx: Context) -> int:
    return await ctx.step(flaky, retry=RetryPolicy(max_attempts=2, backoff=timedelta(0)))


@registry.workflow
async def fail(ctx: Context) -> None:
    raise RuntimeError("it broke")


@registry.workflow
async def nap(ctx: Context, seconds: float) -> str:
    await asyncio.sleep(seconds)
    return "rested"


def make() -> Registry:
    return registry


async def make_later() -> Registry:
    return registry


def engine() -> Engine:
    return Engine(MemoryBackend().ports, Site.local("shop"), registry=registry)


def needs(name: str) -> Registry:
    return registry


number = 7
