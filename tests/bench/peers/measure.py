"""One scenario of one program in a process of its own: ``python measure.py PROGRAM SCENARIO FOLDER`` prints JSON."""

from __future__ import annotations

import asyncio
import json
import statistics
import sys
import threading
import time
from collections.abc import Awaitable, Callable
from itertools import pairwise
from pathlib import Path

from programs import PROGRAMS, Program

__all__ = ["SCENARIOS"]

EXECUTIONS = 300
CHILDREN = 200
SLEEPERS = 1000
REPEATS = 20


async def throughput(program: Program) -> dict[str, float]:
    """Executions of five steps a second, started and run by one process, and what each costs of the processor."""
    await program.run_many(20)
    began_s, cpu_s = time.perf_counter(), time.process_time()
    await program.run_many(EXECUTIONS)
    took_s, used_s = time.perf_counter() - began_s, time.process_time() - cpu_s
    return {"executions/s": EXECUTIONS / took_s, "CPU ms each": 1000 * used_s / EXECUTIONS}


async def step(program: Program) -> dict[str, float]:
    """From one step to the next."""
    await program.run(5)
    program.marks.clear()
    await program.run(100)
    at_s = program.marks.at_s
    return {"step ms": 1000 * statistics.median(b - a for a, b in pairwise(at_s))}


async def latency(program: Program) -> dict[str, float]:
    """From the start of an execution of one step to its result; from the queue to user code; from a signal to it."""
    await program.run(1)
    results, queued, signalled = [], [], []
    for _ in range(REPEATS):
        began_s = time.perf_counter()
        await program.run(1)
        results.append(time.perf_counter() - began_s)
    for _ in range(REPEATS):
        program.marks.clear()
        began_s = time.perf_counter()
        await program.enqueue()
        queued.append(await program.marks.reached(1) - began_s)
        await asyncio.sleep(0.13)
    for _ in range(REPEATS // 2):
        signal = await program.waiting()
        program.marks.clear()
        began_s = time.perf_counter()
        await signal()
        signalled.append(await program.marks.reached(1) - began_s)
    return {
        "start to result ms": 1000 * statistics.median(results),
        "enqueue to code ms": 1000 * statistics.median(queued),
        "signal to code ms": 1000 * statistics.median(signalled),
    }


async def fan_out(program: Program) -> dict[str, float]:
    """Children a second, from the start of their parent to what it returns."""
    await program.fan_out(5)
    began_s = time.perf_counter()
    assert await program.fan_out(CHILDREN) == CHILDREN * (CHILDREN - 1) // 2
    return {"children/s": CHILDREN / (time.perf_counter() - began_s)}


async def sleepers(program: Program) -> dict[str, float]:
    """What a thousand sleeping executions hold of memory and threads."""
    await program.run(1)
    program.marks.clear()
    memory, threads = _resident_mb(), threading.active_count()
    await program.asleep(SLEEPERS)
    return {"sleepers MB": _resident_mb() - memory, "sleepers threads": threading.active_count() - threads}


SCENARIOS: dict[str, Callable[[Program], Awaitable[dict[str, float]]]] = {
    "throughput": throughput,
    "step": step,
    "latency": latency,
    "fan_out": fan_out,
    "sleepers": sleepers,
}


def _resident_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 1e6


async def main(name: str, scenario: str, folder: str) -> None:
    program = PROGRAMS[name]()
    await program.open(Path(folder))
    try:
        print(json.dumps(await SCENARIOS[scenario](program)))
    finally:
        await program.close()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
