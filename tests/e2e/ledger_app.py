"""The application of the worker processes: each step writes a line to a file before it does anything else."""

from __future__ import annotations

import asyncio
import os
import time

from flowli import Context, Registry, step_info

registry = Registry()


def _write() -> None:
    info = step_info()
    line = f"{info.eid} {info.fid} {info.epoch} {os.getpid()} {time.monotonic():.6f}\n"
    fd = os.open(os.environ["LEDGER"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.write(fd, line.encode())
    finally:
        os.close(fd)


def _stall(seconds: float) -> None:
    time.sleep(seconds)


async def add(n: int) -> int:
    """A trivial step."""
    _write()
    return n + 1


async def block(seconds: float) -> str:
    """An async step that forgets that it must not block."""
    _write()
    _stall(seconds)
    return "blocked"


async def burn(seconds: float) -> str:
    """An async step that computes."""
    _write()
    until = time.monotonic() + seconds
    n = 0
    while time.monotonic() < until:
        n += 1
    return "burnt"


async def rest(seconds: float) -> str:
    """A step that takes its time."""
    _write()
    await asyncio.sleep(seconds)
    return "rested"


def die() -> None:
    """A step that brings its process down."""
    _write()
    os._exit(137)


@registry.workflow
async def five(ctx: Context, n: int) -> int:
    """Five steps."""
    for _ in range(5):
        n = await ctx.step(add, n)
    return n


@registry.workflow
async def blocking(ctx: Context, seconds: float) -> list[str]:
    """Blocks the loop of its worker."""
    return [await ctx.step(block, seconds), await ctx.step(burn, seconds)]


@registry.workflow
async def resting(ctx: Context, seconds: float) -> str:
    """One slow step."""
    return await ctx.step(rest, seconds)


@registry.workflow
async def waiting(ctx: Context) -> str:
    """Waits for a message."""
    await ctx.step(add, 0)
    return str(await ctx.receive("go"))


@registry.workflow
async def deadly(ctx: Context) -> None:
    """Kills whoever runs it."""
    await ctx.step(die)
