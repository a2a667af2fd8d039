"""Workflows to test the testing kit with."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import datetime, timedelta

from flowli import Context, NonRetryableError, Registry, RetryPolicy

registry = Registry()


@dataclass(frozen=True)
class Money:
    cents: int


class Busy(Exception):
    pass


def charge(order: str) -> Money:
    raise AssertionError("no card is charged in a test")


async def mail(order: str) -> None:
    raise AssertionError("no mail is sent in a test")


async def slow() -> str:
    await asyncio.sleep(0.02)
    return "done"


async def hangs() -> None:
    await asyncio.Event().wait()


HOURLY = RetryPolicy(max_attempts=3, backoff=timedelta(hours=1), max_backoff=timedelta(hours=2))


@registry.workflow
async def subscribe(ctx: Context, order: str, months: int = 12) -> int:
    paid = 0
    for _ in range(months):
        money = await ctx.step(charge, order, retry=HOURLY)
        paid += money.cents
        await ctx.sleep(timedelta(days=30))
    await ctx.step(mail, order)
    return paid


@registry.workflow
async def approve(ctx: Context, order: str, patience: timedelta = timedelta(days=2)) -> str:
    answer = await ctx.receive("answer", timeout=patience)
    return "nobody answered" if answer is None else f"{order}: {answer}"


@registry.workflow(queue="slow")
async def on_another_queue(ctx: Context) -> datetime:
    return ctx.now


@registry.workflow
async def parent(ctx: Context) -> str:
    await ctx.child(on_another_queue)
    return await ctx.child(approve, "child", patience=timedelta(days=1))


@registry.workflow
async def real(ctx: Context, within: float) -> str:
    return await ctx.step(slow, timeout=within)


@registry.workflow
async def hanging(ctx: Context, within: float | None = None) -> None:
    if within is None:
        await ctx.step(hangs)
    else:
        await ctx.step(hangs, timeout=within)


@registry.workflow
async def for_ever(ctx: Context) -> None:
    while True:
        await ctx.sleep(timedelta(days=1))


flip = [True]


@registry.workflow
async def fickle(ctx: Context) -> None:
    flip[0] = not flip[0]
    if flip[0]:
        await ctx.step(charge, "one")
    else:
        await ctx.step(charge, "two")


@registry.workflow
async def declined(ctx: Context) -> None:
    await ctx.step(charge, "x")


def bank(money: Money) -> int:
    return money.cents


@registry.workflow
async def save(ctx: Context, money: Money) -> int:
    return await ctx.step(bank, money)


def decline(order: str) -> Money:
    raise NonRetryableError("declined")
