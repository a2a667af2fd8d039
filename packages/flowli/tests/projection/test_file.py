"""The file: built anew, resumed, shared, read while it is written."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from flowli.adapters.projection import WorkflowProjection, schema
from flowli.domain.execution import ExecutionStatus
from flowli.domain.ports import ControlLog, ControlSlice

from .entries import created, eid, life, status

Open = Callable[..., WorkflowProjection]


def rows(path: Path) -> list[tuple[object, ...]]:
    db = sqlite3.connect(path)
    found = [row for table in ("executions", "attributes", "announcements", "acts", "projection")
             for row in db.execute(f"SELECT * FROM {table} ORDER BY 1, 2").fetchall()]  # fmt: skip
    db.close()
    return found


async def fill(control: ControlLog, executions: int) -> int:
    seq = 0
    for start in range(0, executions, 50):
        batch = [one for n in range(start, min(start + 50, executions)) for one in life(n)]
        seq = await control.append(batch)
    return seq


async def test_built_at_once_or_little_by_little_the_rows_are_equal(
    control: ControlLog, open_projection: Open, tmp_path: Path
) -> None:
    slow = open_projection("slow.db")
    for n in range(40):
        await control.append(life(n))
        await slow.catch_up()
    await open_projection("fast.db").catch_up()
    assert rows(tmp_path / "state" / "slow.db") == rows(tmp_path / "state" / "fast.db")
    before = rows(tmp_path / "state" / "slow.db")
    await slow.rebuild()
    assert rows(tmp_path / "state" / "slow.db") == before


async def test_a_second_process_goes_on_where_the_first_was(control: ControlLog, open_projection: Open) -> None:
    await fill(control, 10)
    first = open_projection()
    position = await first.catch_up()
    await control.append([created(100)])
    second = open_projection()
    assert await second.execution(eid(3)) is not None
    assert second.position == position
    await second.catch_up()
    assert (await second.execution(eid(100))) is not None


async def test_two_processes_that_share_a_file_fold_everything_once(
    control: ControlLog, open_projection: Open, tmp_path: Path
) -> None:
    one, other = open_projection(), open_projection()
    for n in range(20):
        await control.append(life(n))
        await asyncio.gather(one.catch_up(), other.catch_up())
    assert one.position == other.position
    await open_projection("alone.db").catch_up()
    assert rows(tmp_path / "state" / "flowli.db") == rows(tmp_path / "state" / "alone.db")


async def test_an_entry_just_written_is_waited_for(control: ControlLog, projection: WorkflowProjection) -> None:
    await projection.catch_up()
    seq = await control.append([created(1), status(1, ExecutionStatus.RUNNING, 1)])
    assert await projection.wait_for(seq)
    assert (await projection.execution(eid(1))) is not None
    assert not await projection.wait_for(seq + 1, timeout_s=0.0)


async def test_calls_that_come_together_share_a_pass(
    projection: WorkflowProjection, control: ControlLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    passes = 0
    read = control.read

    async def counted(**asked: object) -> ControlSlice:
        nonlocal passes
        passes += 1
        return await read(**asked)  # type: ignore[arg-type]

    await projection.catch_up()
    monkeypatch.setattr(control, "read", counted)
    await asyncio.gather(*(projection.catch_up() for _ in range(20)))
    assert passes == 2  # the first one's, and one that began after all the others called


async def test_readers_never_fail_while_ten_thousand_entries_are_folded(
    control: ControlLog, projection: WorkflowProjection
) -> None:
    await fill(control, 1_200)  # nine entries each
    done = asyncio.Event()

    async def reader() -> int:
        asked = 0
        while not done.is_set():
            counted = await projection.counts()
            page = await projection.executions(limit=20)
            assert len(page.rows) <= sum(counted.values()) + 1_200
            asked += 1
        return asked

    readers = [asyncio.ensure_future(reader()) for _ in range(8)]
    await projection.catch_up()
    done.set()
    assert all(await asyncio.gather(*readers))
    assert (await projection.counts())[ExecutionStatus.COMPLETED] == 1_200


async def test_a_batch_is_whole_for_readers(control: ControlLog, projection: WorkflowProjection) -> None:
    await control.append([created(n) for n in range(500)])
    catching_up = asyncio.ensure_future(projection.catch_up())
    seen = set()
    while not catching_up.done():
        seen.add(sum((await projection.counts()).values()))
    seen.add(sum((await projection.counts()).values()))
    assert seen <= {0, 500}


@pytest.mark.parametrize("change", ["source", "version"])
async def test_a_file_of_something_else_is_built_anew_and_says_so_once(
    control: ControlLog,
    open_projection: Open,
    change: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    await fill(control, 3)
    first = open_projection()
    await first.catch_up()
    await first.close()
    if change == "version":
        monkeypatch.setattr(schema, "VERSION", schema.VERSION + 1)
    second = open_projection(source="memory:" if change == "version" else "file:///elsewhere")
    with caplog.at_level(logging.WARNING):
        assert sum((await second.counts()).values()) == 0
        await second.catch_up()
    assert sum((await second.counts()).values()) == 3
    assert [record.message for record in caplog.records if "built anew" in record.message] != []
    assert len(caplog.records) == 1


async def test_a_damaged_or_deleted_file_is_built_anew(
    control: ControlLog, open_projection: Open, tmp_path: Path
) -> None:
    await fill(control, 3)
    path = tmp_path / "state" / "flowli.db"
    for damage in (lambda: path.write_bytes(b"this is no database" * 500), path.unlink):
        projection = open_projection()
        await projection.catch_up()
        await projection.close()
        damage()
        again = open_projection()
        await again.catch_up()
        assert sum((await again.counts()).values()) == 3
        await again.close()


_KILLED = """
import os, sys
from pathlib import Path
sys.path.insert(0, {tests!r})
from projection_entries import life
from flowli.adapters.projection import batch, fold
from flowli.cairn.commit import Position
from flowli.cairn.tables import Tables
from flowli.domain.control_entries import ControlEntry

entries = [ControlEntry(one.body, one.by, seq) for seq, one in enumerate((e for n in range(8) for e in life(n)), 1)]
many, left = batch._many, {after}

def dying(db, statement, values):
    global left
    left -= 1
    if left < 0:
        os.kill(os.getpid(), 9)
    many(db, statement, values)

batch._many = dying
file = Tables({path!r}, fold.ControlFold(), "memory:")
position = file.open()
for at in range(position.commit, 8):
    position = file.apply(position, entries[at * 9 : at * 9 + 9], Position(at + 1, at * 9 + 9))
"""


async def test_killed_inside_a_transaction_it_goes_on_without_loss_or_repetition(
    control: ControlLog, open_projection: Open, tmp_path: Path
) -> None:
    for n in range(8):
        await control.append(life(n))
    (tmp_path / "projection_entries.py").write_text((Path(__file__).parent / "entries.py").read_text())
    path = tmp_path / "state" / "flowli.db"
    for after in (4, 13, 32):
        script = _KILLED.format(tests=str(tmp_path), after=after, path=str(path))
        killed = await asyncio.create_subprocess_exec(sys.executable, "-c", script)
        assert await killed.wait() == -9
    projection = open_projection()
    await projection.counts()
    assert 0 < projection.position.commit < 8
    await projection.catch_up()
    await open_projection("whole.db").catch_up()
    assert rows(path) == rows(tmp_path / "state" / "whole.db")
