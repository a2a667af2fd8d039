"""Real worker processes on one folder."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import defaultdict
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from pathlib import Path

import pytest

from flowli import CairnBackend, Engine, Site
from flowli.domain.entries import FrameCompleted, JournalEntry
from flowli.domain.ids import Eid
from flowli.domain.memo import JournalFold


@dataclass(frozen=True)
class Run:
    """One line of the ledger."""

    eid: str
    fid: str
    epoch: int
    pid: int
    at_s: float


class Fleet:
    """The bucket, its workers, and what their steps did."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.storage = f"file:{folder}/bucket?durability=os"
        self.ledger = folder / "ledger"
        self.backend = CairnBackend.open(self.storage)
        self.engine = Engine(self.backend.ports, Site.local("test"))
        self.processes: list[subprocess.Popen[bytes]] = []

    def worker(self, name: str, *options: str, ttl_s: float = 2.0) -> subprocess.Popen[bytes]:
        """Start a worker process."""
        here = str(Path(__file__).parent)
        environment = os.environ | {
            "PYTHONPATH": os.pathsep.join([here, *filter(None, [os.environ.get("PYTHONPATH")])]),
            "LEDGER": str(self.ledger),
            "FLOWLI_EXEC_TTL": str(ttl_s),
            "FLOWLI_TASK_TTL": str(ttl_s),
        }
        command = [sys.executable, "-m", "flowli.cli", "worker", "--app", "ledger_app:registry"]
        with (self.folder / f"{name}.log").open("ab") as log:
            process = subprocess.Popen(
                [*command, "--storage", self.storage, "--worker-id", name, *options],
                stdout=log,
                stderr=subprocess.STDOUT,
                env=environment,
            )
        self.processes.append(process)
        return process

    def log(self, name: str) -> str:
        """What a worker has printed."""
        return (self.folder / f"{name}.log").read_text()

    def runs(self) -> list[Run]:
        """The ledger."""
        lines = self.ledger.read_text().splitlines() if self.ledger.exists() else []
        return [Run(eid, fid, int(epoch), int(pid), float(at)) for eid, fid, epoch, pid, at in map(str.split, lines)]

    async def journal(self, eid: Eid) -> tuple[JournalEntry, ...]:
        """The journal of an execution."""
        return (await self.backend.ports.journal.read(eid)).entries

    async def prove(self, eids: Iterable[Eid]) -> int:
        """Every execution has completed once, and no step ran under a later owner than the one that it is remembered
        of, nor twice under one.

        Returns:
            How many steps ran again since their outcome was not yet remembered.
        """
        runs: dict[tuple[str, str], list[int]] = defaultdict(list)
        for run in self.runs():
            runs[run.eid, run.fid].append(run.epoch)
        again = 0
        for eid in eids:
            entries = await self.journal(eid)
            fold = JournalFold(entries)
            assert fold.anomalies == []
            assert fold.status == "completed"
            assert sum(entry.body.tag.startswith("execution.completed") for entry in entries) == 1
            for entry in entries:
                if isinstance(entry.body, FrameCompleted) and entry.body.fid in fold.frames:
                    epochs = runs.pop((str(eid), entry.body.fid), [])
                    assert len(epochs) == len(set(epochs)), f"{entry.body.fid} ran twice under one owner"
                    assert max(epochs, default=0) <= entry.by.site.epoch, f"{entry.body.fid} ran after it was done"
                    again += max(0, len(epochs) - 1)
        return again

    async def nothing_left(self) -> bool:
        """Whether the queue is empty."""
        return not await self.backend.ports.queue.list("default", limit=1)

    def close(self) -> None:
        """Leave no process behind."""
        for process in self.processes:
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.kill()
                process.wait()


@pytest.fixture
async def fleet(tmp_path: Path) -> AsyncIterator[Fleet]:
    made = Fleet(tmp_path)
    await made.backend.check()
    yield made
    made.close()
    await made.backend.close()
