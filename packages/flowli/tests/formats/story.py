"""The workflows in the recorded buckets. They never change: what is recorded must go on with them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal

from flowli import Context, Registry, RetryPolicy

registry = Registry()


@dataclass(frozen=True)
class Order:
    number: str
    total: Decimal


def charge(order: Order) -> Decimal:
    if order.number == "busy":
        raise ConnectionError("the processor is busy")
    return order.total


async def pack(number: str) -> str:
    return f"parcel of {number}"


PATIENT = RetryPolicy(max_attempts=2, backoff=timedelta(days=20), max_backoff=timedelta(days=20))


@registry.workflow
async def approve(ctx: Context, order: Order) -> str:
    paid = await ctx.step(charge, order, retry=PATIENT)
    answer = await ctx.receive("answer", timeout=timedelta(days=60))
    if answer is None:
        return f"{order.number}: nobody answered"
    parcel = await ctx.child(ship, order.number)
    return f"{order.number}: {paid} {answer} {parcel}"


@registry.workflow
async def ship(ctx: Context, number: str) -> str:
    parcel = await ctx.step(pack, number)
    await ctx.sleep(timedelta(days=30))
    return parcel


@registry.workflow
async def listen(ctx: Context) -> object:
    first = await ctx.receive("news", scope="global")
    slot = await ctx.claim("slot", f"first heard {first}")
    return [slot, await ctx.receive("news", scope="global")]


@registry.workflow
async def reject(ctx: Context) -> None:
    raise ValueError("rejected")
