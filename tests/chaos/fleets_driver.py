"""Two fleets on one bucket: each knows another version of the workflow, and loses a worker on the way.

``python fleets_driver.py FOLDER`` prints one line of JSON: what was wrong.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import chaos_driver
from chaos_driver import process, wait

from flowli import CairnBackend, Context, Engine, EngineConfig, Registry, Site
from flowli.domain.memo import JournalFold

EACH = 4


def registry(version: str) -> Registry:
    """What one fleet knows."""
    found = Registry()

    @found.workflow(name="main", version=version)
    async def main(ctx: Context, n: int) -> str:
        first = await ctx.step(chaos_driver.note, f"{version}-{n}-first-{os.environ['FLEET']}")
        return str(await ctx.receive("go")) + first.partition("-")[0]

    return found


def engine(opened: CairnBackend, version: str) -> Engine:
    config = EngineConfig(exec_ttl_s=chaos_driver.TTL_S, task_ttl_s=chaos_driver.TTL_S, hold_s=0.05, grace_s=0.5)
    return Engine(opened.ports, Site.local(f"{version}-{os.getpid()}"), registry=registry(version), config=config)


async def ask(opened: CairnBackend) -> None:
    for version in ("blue", "green"):
        asking = engine(opened, version)
        for n in range(EACH):
            eid = await asking.start("main", n, key=f"{version}-{n}")
            await asking.signal(eid, "go", "went ", key="g")
        await asking.announcer.drain()


def fleet(version: str) -> Any:
    async def work(opened: CairnBackend) -> None:
        os.environ["FLEET"] = version
        worker = engine(opened, version).worker(sweeper=True)
        running = asyncio.ensure_future(worker.run())
        await until_ended(opened, version)
        worker.stop()
        await running

    return work


async def until_ended(opened: CairnBackend, version: str) -> None:
    left = set(range(EACH))
    while left:
        for n in tuple(left):
            claim = await opened.ports.dispatch.read_start(f"{version}-{n}")
            if claim and JournalFold((await opened.ports.journal.read(claim.eid)).entries).end is not None:
                left.remove(n)
        await asyncio.sleep(0.05)


async def judge(opened: CairnBackend) -> None:
    problems = []
    for version in ("blue", "green"):
        for n in range(EACH):
            claim = await opened.ports.dispatch.read_start(f"{version}-{n}")
            assert claim is not None
            fold = JournalFold((await opened.ports.journal.read(claim.eid)).entries)
            if getattr(fold.end, "value", None) != f"went {version}" or fold.anomalies:
                problems.append(f"S3: {version} {n} ended with {fold.end}: {fold.anomalies}")
    print(json.dumps(problems))


if __name__ == "__main__":
    os.environ["FLEET"] = ""
    folder = Path(sys.argv[1])
    (folder / "bucket").mkdir()
    (folder / "ledger").touch()
    found = [] if wait(process(folder, ask)) == 0 else ["the client failed"]
    doomed = [process(folder, fleet(version), "kill-after", at) for version, at in (("blue", 40), ("green", 55))]
    for pid in doomed:
        wait(pid)
    for pid in [process(folder, fleet(version)) for version in ("blue", "green")]:
        if wait(pid) != 0:
            found.append("L2: a fleet did not come to an end")
    if wait(process(folder, judge)) != 0:
        found.append("the judge failed")
    else:
        found += json.loads((folder / "log").read_text().splitlines()[-1])
    ran = [line.split()[1] for line in (folder / "ledger").read_text().splitlines()]
    found += [f"S10: {what}" for what in ran if what.split("-")[0] != what.split("-")[-1]]
    print(json.dumps({"problems": found, "log": (folder / "log").read_text()[-2000:] if found else ""}))
