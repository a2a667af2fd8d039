"""Run as a script: a fan-out of six steps in every way that asyncio has, and what it issued, in order.

``fan_out.py write FILE`` runs it live and writes its history; ``fan_out.py FILE`` replays every prefix of that history,
and prints what the code issued and saw.
"""

from __future__ import annotations

import asyncio
import random
import sys
from pathlib import Path
from typing import Any

from flowli.runtime.context import Context
from flowli.testing.replay import read_history, replay, write_history


def work(n: int) -> int:
    return n * n


async def fan_out(ctx: Context) -> list[Any]:
    """Six at a time, and a step for each that is handed back, in the order in which it is."""
    said: list[Any] = []

    async def one(name: str, n: int) -> str:
        return f"{name}{await ctx.step(work, n)}"

    tasks = {asyncio.create_task(one("wait", n)) for n in range(6)}
    while tasks:
        done, tasks = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            said.append(await ctx.step(work, len(said), name=task.result()))
    gathers = {asyncio.gather(one("x", n), one("y", n)) for n in range(6)}
    done, _ = await asyncio.wait(gathers)
    for gathered in done:
        said.append(await ctx.step(work, len(said), name="-".join(gathered.result())))
    for first in asyncio.as_completed({asyncio.create_task(one("as", n)) for n in range(6)}):
        said.append(await ctx.step(work, len(said), name=await first))
    for frame in {ctx.step(work, n, name=f"set{n}") for n in range(6)}:
        said.append(await frame)
    said += await asyncio.gather(*(one("gather", n) for n in range(6)))
    said += await ctx.as_completed(*(one("ctx", n) for n in range(6)))
    try:
        async with asyncio.TaskGroup() as group:
            for n in range(6):
                group.create_task(ctx.step(work, n))
            await ctx.step(work, 7)
            raise ValueError("the group is cancelled, task by task")
    except* ValueError:
        said.append("cancelled")
    return said


def issued(bodies: list[Any]) -> list[str]:
    return [f"{body.tag} {body.fid} {getattr(body, 'name', '')}" for body in bodies if hasattr(body, "fid")]


def main(command: str, file: str = "") -> None:
    if command == "write":
        from .live import Live

        live = Live(fan_out, chance=random.Random(7), suspends=False, defers=0.0)
        write_history(Path(file), live.run())
        return
    journal = read_history(Path(command))
    for n in range(1, len(journal), 20):
        report = replay(fan_out, journal[:n])
        assert report.difference is None, f"prefix {n}: {report.difference}"
        print(n, *issued(list(report.commands)))
    whole = replay(fan_out, journal)
    print(whole.difference, whole.ending)


if __name__ == "__main__":
    main(*sys.argv[1:])
