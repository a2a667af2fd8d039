"""The application that runs on every store. Each step leaves a line in a file outside of any bucket."""

import os
import time
from pathlib import Path

from flowli import Context, Registry

LEDGER = "FLOWLI_TEST_LEDGER"
STUCK = "FLOWLI_TEST_STUCK"

registry = Registry()


def work(order: str, number: int) -> str:
    if ledger := os.environ.get(LEDGER):
        with Path(ledger).open("a") as file:
            file.write(f"{order} {number} {os.getpid()}\n")
    if os.environ.get(STUCK) == str(number):
        time.sleep(600)  # until the process is killed
    return f"{order}-{number}"


@registry.workflow
async def fulfil(ctx: Context, order: str, steps: int = 5) -> list[str]:
    return [await ctx.step(work, order, number) for number in range(1, steps + 1)]


@registry.workflow
async def nap(ctx: Context, order: str, seconds: float) -> str:
    await ctx.sleep(seconds)
    return await ctx.step(work, order, 1)


@registry.workflow
async def parcel(ctx: Context, order: str) -> str:
    message = await ctx.receive("arrived")
    return f"{await ctx.step(work, order, 1)} {message}"
