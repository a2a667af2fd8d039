"""What the demo prints: what happened when, the results, the proof, and what to look at next."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from demo_proof import Proof
from demo_snapshot import Snapshot
from demo_worker import WorkerProcess

from flowli.domain.entries import ExecutionCompleted
from flowli.domain.execution import Execution
from flowli.domain.frames import FrameKind, FrameStatus
from flowli.domain.memo import JournalFold


class Story:
    """Prints as it goes; the times are seconds since it began."""

    def __init__(self, storage: str) -> None:
        self._storage = storage
        self._began = time.monotonic()
        print(f"flowli demo: two applications, one bucket ({storage})\n")

    def _say(self, text: str) -> None:
        print(f"{time.monotonic() - self._began:5.1f} s  {text}", flush=True)

    def started(self, orders: int, invoices: int) -> None:
        """All executions are durable."""
        self._say(f"started {orders} orders (orders.csv) and {invoices} invoices (invoices.json); no worker runs yet")

    def worker(self, worker: WorkerProcess) -> None:
        """A worker process was started."""
        self._say(f"worker {worker.number} starts (pid {worker.pid})")

    def killed(self, worker: WorkerProcess, now: Snapshot) -> None:
        """A worker process was killed."""
        ended = sum(fold.end is not None for fold in now.folds.values())
        steps = len(now.steps(FrameStatus.COMPLETED))
        self._say(f"worker {worker.number} killed with SIGKILL: {ended} executions ended, {steps} steps finished")

    def answered_meanwhile(self, answers: int) -> None:
        """Signals were sent while no worker was alive."""
        self._say(f"{answers} decisions about invoices arrive while no worker is alive")

    def ended(self, now: Snapshot) -> None:
        """Everything has ended."""
        children = len(now.folds) - len(now.asked)
        self._say(f"all {len(now.folds)} executions have ended, {children} of them children; worker 2 stopped")

    def results(self, now: Snapshot) -> None:
        """How the orders and invoices ended, by the values in the journals."""
        ends: Counter[str] = Counter()
        paid: dict[str, Decimal] = {"fulfil_order": Decimal(0), "approve_invoice": Decimal(0)}
        for eid in now.asked:
            fold = now.folds[eid]
            workflow, value = _result(fold)
            paid[workflow] += Decimal(str(value["paid"]))
            if workflow == "fulfil_order":
                ends["sent" if value["refused"] is None else "declined"] += 1
            else:
                asked = sum(frame.name == "ask_for_decision" for frame in fold.frames.values())
                nobody = value["decision"]["by"] == "nobody"
                ends["nobody" if nobody else ("rule", "team lead", "head of finance")[asked]] += 1
        frames = [frame for fold in now.folds.values() for frame in fold.frames.values()]
        retries = sum(frame.kind is FrameKind.STEP and frame.attempt > 1 for frame in frames)
        silent = sum(frame.name == "book_courier" and frame.status is FrameStatus.FAILED for frame in frames)
        print("\nResults")
        print(f"  orders    {ends['sent']} sent, {ends['declined']} declined; {paid['fulfil_order']:,} charged")
        print(f"            {retries} steps needed more than one attempt; {silent} silent couriers, the post took over")
        print(f"  invoices  {ends['rule']} decided by rule, {ends['team lead']} by team leads,")
        print(f"            {ends['head of finance']} after escalation, {ends['nobody']} by nobody in time;")
        print(f"            {paid['approve_invoice']:,} paid")

    def proof(self, proof: Proof) -> None:
        """What the comparison of journals and ledger found."""
        print("\nProof, from the journals and the ledger of effects")
        if proof.violations:
            print(f"  FAILED, {len(proof.violations)} findings:")
            print("\n".join(f"  - {sentence}" for sentence in proof.violations[:20]))
            return
        print(f"  {proof.finished_at_kill} steps had finished when worker 1 was killed: none of them ran again")
        print(f"  {len(proof.rerun)} more were cut off between their effect and its entry: worker 2 ran them again,")
        print("    with the same idempotency key (a step runs at least once, so it must be idempotent)")
        print(f"  {proof.finished} steps finished in all; no effect without a finished step, no anomaly in a journal")

    def look_closer(self, at_kill: Snapshot, at_end: Snapshot) -> None:
        """Commands with real ids."""
        order = next((eid for eid in at_end.asked if _cut_off(at_kill.folds[eid])), at_end.asked[0])
        print("\nLook closer")
        print(f"  export FLOWLI_STORAGE={self._storage}")
        print("  hatch run flowli list")
        print(f"  hatch run flowli show {order}      # was under way when worker 1 was killed")
        print(f"  hatch run flowli journal {order}   # entries of epoch 1 are worker 1's")


def _cut_off(fold: JournalFold) -> bool:
    return fold.end is None and fold.suspended is None and len(fold.frames) > 1


def _result(fold: JournalFold) -> tuple[str, Mapping[str, Any]]:
    match fold:
        case JournalFold(execution=Execution(workflow=workflow), end=ExecutionCompleted(value=dict(value))):
            return workflow, value
    raise ValueError(f"{fold.execution} did not complete")
