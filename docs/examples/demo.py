"""``hatch run demo``: orders and invoices on a folder, a worker killed in the middle, and the proof of what ran.

It reads ``orders/orders.csv`` and ``invoices/invoices.json``, starts one execution for each row, lets a worker process
run them, kills it with SIGKILL, lets a second one finish, and compares the journals with the ledger of effects. It
exits with 1 if the comparison finds anything wrong. The folder stays for inspection; the next run replaces it.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import sys
import time
from datetime import timedelta
from pathlib import Path

from app import registry
from demo_people import People
from demo_proof import prove
from demo_snapshot import Snapshot
from demo_story import Story
from demo_worker import WorkerProcess
from invoices.model import read_invoices
from invoices.workflow import approve_invoice
from orders.model import read_orders
from orders.workflow import fulfil_order
from outside import LEDGER, read_ledger

from flowli import CairnBackend, Engine, Site

HERE = Path(__file__).parent
COOLING_OFF = timedelta(seconds=3)
KILL_AFTER = 3
"""Worker 1 is killed when the ledger holds so many lines for each order."""


async def demo(folder: Path, storage: str, orders: int, invoices: int, patience: timedelta, limit_s: float) -> bool:
    """Run everything; returns whether the proof holds."""
    ledger = folder / "ledger.jsonl"
    os.environ[LEDGER] = str(ledger.resolve())
    backend = CairnBackend.open(storage)
    engine = Engine(backend.ports, Site.local("demo"), registry=registry)
    story = Story(storage)
    deadline = time.monotonic() + limit_s

    the_orders = read_orders(HERE / "orders" / "orders.csv")[:orders]
    the_invoices = read_invoices(HERE / "invoices" / "invoices.json")[:invoices]
    eids = await asyncio.gather(
        *(engine.start(fulfil_order, one, COOLING_OFF, key=f"order:{one.id}") for one in the_orders),
        *(engine.start(approve_invoice, one, patience, key=f"invoice:{one.number}") for one in the_invoices),
    )
    story.started(len(the_orders), len(the_invoices))

    numbers = [one.number for one in the_invoices]
    people = People(engine, ledger, dict(zip(numbers, eids[len(the_orders) :], strict=True)))
    workers = [WorkerProcess(1, folder, storage)]
    try:
        story.worker(workers[0])
        while sum(1 for _ in read_ledger(ledger)) < KILL_AFTER * len(the_orders):
            workers[0].check(deadline)
            await asyncio.sleep(0.02)
        workers[0].kill()
        at_kill = await Snapshot.take(engine, eids, ledger)
        story.killed(workers[0], at_kill)
        story.answered_meanwhile(await people.answer_held_back())
        workers.append(WorkerProcess(2, folder, storage))
        story.worker(workers[1])
        now = at_kill
        while not now.all_ended:
            workers[1].check(deadline)
            people.check()
            await asyncio.sleep(0.5)
            now = await Snapshot.take(engine, eids, ledger, earlier=now)
        workers[1].stop()
    finally:
        people.leave()
        for worker in workers:
            worker.end()
    at_end = await Snapshot.take(engine, eids, ledger)
    story.ended(at_end)
    proof = prove(at_kill, at_end)
    story.results(at_end)
    story.proof(proof)
    story.look_closer(at_kill, at_end)
    await engine.close()
    return not proof.violations


def fresh(folder: Path) -> Path:
    """An empty folder. One that an earlier run left is replaced; one that holds anything else is refused."""
    if folder.exists() and any(folder.iterdir()):
        if not (folder / "ledger.jsonl").is_file():
            sys.exit(f"{folder} holds files that are not of this demo; name another folder with --folder.")
        shutil.rmtree(folder)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "ledger.jsonl").touch()
    return folder


def main() -> None:
    """Read the options and run."""
    parser = argparse.ArgumentParser(description="Run the demo.")
    parser.add_argument("--folder", type=Path, default=Path("bucket/demo"), help="replaced if an earlier run made it")
    parser.add_argument("--storage", help="URL of an empty bucket, instead of a folder in --folder")
    parser.add_argument("--orders", type=int, default=240, help="how many rows of orders.csv")
    parser.add_argument("--invoices", type=int, default=60, help="how many of invoices.json")
    parser.add_argument("--patience", type=float, default=5.0, help="seconds that each person has to decide")
    parser.add_argument("--limit", type=float, default=55.0, help="seconds that everything may take")
    options = parser.parse_args()
    patience, folder = timedelta(seconds=options.patience), fresh(options.folder)
    storage = options.storage or f"file:{folder / 'store'}"
    run = demo(folder, storage, options.orders, options.invoices, patience, options.limit)
    sys.exit(0 if asyncio.run(run) else 1)


if __name__ == "__main__":
    main()
