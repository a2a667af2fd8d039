"""A projection of a million entries of the control log: from the log, from a snapshot, and lists of it.

Not collected with the other tests: ``nox -s bench``. It wants a machine with nothing else to do: CPU seconds stand
beside, since they are nearly the same on a busy one.
"""

from __future__ import annotations

import asyncio
import os
import resource
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from click.testing import CliRunner
from control_log import fill

from flowli.adapters.cairndb import CairnBackend
from flowli.adapters.projection import WorkflowProjection, write_snapshot
from flowli.cli import main

ENTRIES = int(os.environ.get("BENCH_ENTRIES", "1000000"))
FROM_THE_LOG_S, FROM_A_SNAPSHOT_S, LIST_S = 60.0, 5.0, 0.3
LISTS = (
    ["--status", "failed", "--workflow", "order"],
    ["--attribute", "customer=c-77"],
    ["--waiting-on", "channel:approval"],
    ["--of-queue", "q-3", "--workflow", "refund", "--status", "completed"],
    ["--of-key", "order:77777"],
    ["--created-after", "2026-02-01", "--created-before", "2026-02-02"],
    ["--updated-before", "2026-01-02"],
    ["--text", "order:77777"],
)

Note = Callable[[str, object], None]


async def measured(note: Note, what: str, work: Awaitable[object]) -> float:
    """How long it takes, in seconds; the CPU seconds of all threads are noted beside."""
    began, cpu = time.perf_counter(), time.process_time()
    await work
    took_s = time.perf_counter() - began
    note(what, f"{took_s:.1f} s, {time.process_time() - cpu:.1f} s CPU")
    return took_s


async def begun(control_of: str, path: Path, note: Note, what: str) -> float:
    backend = CairnBackend.open(control_of)
    projection = WorkflowProjection(str(path), backend.ports.control, source=control_of)
    took_s = await measured(note, what, projection.catch_up())
    assert projection.position.seq == ENTRIES
    await projection.close()
    await backend.close()
    return took_s


async def both(storage: str, folder: Path, note: Note) -> tuple[float, float]:
    """Begin with the log, then put a snapshot, then begin with that."""
    log_s = await begun(storage, folder / "log.db", note, "from the log")
    backend = CairnBackend.open(storage)
    await measured(note, "writing the snapshot", write_snapshot(backend.ports.control))
    await backend.close()
    snapshot_s = await begun(storage, folder / "snapshot.db", note, "from the snapshot")
    note("peak memory", f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB")
    return log_s, snapshot_s


def test_a_million_entries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, record_property: Note, capsys: pytest.CaptureFixture[str]
) -> None:
    def note(what: str, told: object) -> None:
        record_property(what, told)
        with capsys.disabled():
            print(f"{what}: {told}")

    folder = os.environ.get("BENCH_BUCKET")
    storage = f"file:{folder or tmp_path / 'bucket'}?durability=os"
    if folder is None:
        note("executions", asyncio.run(fill(str(tmp_path / "bucket"), ENTRIES)))
    log_s, snapshot_s = asyncio.run(both(storage, tmp_path, note))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("FLOWLI_STORAGE", storage)
    slowest_s = 0.0
    for options in (LISTS[0], *LISTS):  # the first one builds the file of the command line
        began, cpu = time.perf_counter(), time.process_time()
        done = CliRunner().invoke(main.flowli, ["list", *options], prog_name="flowli")
        took_s = time.perf_counter() - began
        assert done.exit_code == 0, done.output
        note(
            f"flowli list {' '.join(options)}", f"{1000 * took_s:.0f} ms, {1000 * (time.process_time() - cpu):.0f} CPU"
        )
        slowest_s = max(slowest_s, took_s) if options is not LISTS[0] else slowest_s
    assert log_s <= FROM_THE_LOG_S
    assert snapshot_s <= FROM_A_SNAPSHOT_S
    assert slowest_s <= LIST_S
