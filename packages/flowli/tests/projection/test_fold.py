"""What the tables say after any sequence of entries."""

from __future__ import annotations

import sqlite3

from hypothesis import given
from hypothesis import strategies as st

from flowli.adapters.projection import WorkflowProjection, queries, schema
from flowli.adapters.projection.fold import ControlFold
from flowli.domain.control_entries import Announced, AttributesSet, ControlEntry, StatusChanged
from flowli.domain.entries import UnknownBody
from flowli.domain.errors import ErrorInfo
from flowli.domain.execution import ExecutionStatus
from flowli.domain.ports import ControlLog
from flowli.domain.provenance import Provenance, Site
from flowli.domain.waits import OnChannel
from flowli.runtime.keeper import Keeper

from .entries import ALICE, at, created, eid, entry, life, status

RUNNING, SUSPENDED, COMPLETED, FAILED = (
    ExecutionStatus.RUNNING,
    ExecutionStatus.SUSPENDED,
    ExecutionStatus.COMPLETED,
    ExecutionStatus.FAILED,
)


def tables(entries: list[ControlEntry], batch: int = 1) -> list[tuple[object, ...]]:
    db = sqlite3.connect(":memory:", isolation_level=None)
    schema.create(db)
    numbered = [ControlEntry(one.body, one.by, seq) for seq, one in enumerate(entries, 1)]
    for first in range(0, len(numbered), batch):
        ControlFold().apply(db, numbered[first : first + batch])
    rows = db.execute("SELECT * FROM executions ORDER BY eid").fetchall()
    rows += db.execute("SELECT * FROM attributes ORDER BY eid, name").fetchall()
    rows += db.execute("SELECT topic, eid, fid, data FROM announcements ORDER BY eid, fid").fetchall()
    db.close()
    return rows


async def test_an_execution_is_what_its_entries_say(control: ControlLog, projection: WorkflowProjection) -> None:
    await control.append(life(1))
    await projection.catch_up()
    row = await projection.execution(eid(1))
    assert row is not None
    assert (row.workflow, row.version, row.queue, row.dispatch_key) == ("order", "2", "default", "order:1")
    assert (row.status, row.epoch, row.journal_seq, row.created_by) == (COMPLETED, 1, 9, ALICE)
    assert (row.created_at, row.started_at, row.ended_at, row.archived_at) == (at(1), at(1.1), at(1.9), at(6))
    assert row.waits_on == ()
    assert row.attributes == {"amount": 1, "country": "CH", "urgent": False}


async def test_a_suspended_execution_says_on_what(control: ControlLog, projection: WorkflowProjection) -> None:
    await control.append([created(1), status(1, SUSPENDED, 3, channel="payments", reason="waits")])
    await projection.catch_up()
    row = await projection.execution(eid(1))
    assert row is not None
    assert (row.status, row.waits_on, row.reason) == (SUSPENDED, (OnChannel("payments"),), "waits")


async def test_created_may_come_last_or_never(control: ControlLog, projection: WorkflowProjection) -> None:
    started = status(1, RUNNING, 1, tag="execution.started", version="3")
    await control.append([started, status(2, RUNNING, 1, tag="execution.started", version="3")])
    await projection.catch_up()
    await control.append([created(1, key="late")])
    await projection.catch_up()
    late, never = await projection.execution(eid(1)), await projection.execution(eid(2))
    assert late is not None
    assert never is not None
    assert (late.status, late.version, late.dispatch_key, late.created_at) == (RUNNING, "3", "late", at(1))
    assert (never.status, never.version, never.workflow, never.created_at) == (RUNNING, "3", "", at(2.1))


async def test_the_end_is_never_left(control: ControlLog, projection: WorkflowProjection) -> None:
    failed = StatusChanged(eid(1), FAILED, "execution.failed", 2, 5, error=ErrorInfo("builtins.ValueError", "no"))
    await control.append([created(1), entry(failed, 5), status(1, RUNNING, 7), status(1, COMPLETED, 9)])
    await projection.catch_up()
    row = await projection.execution(eid(1))
    assert row is not None
    assert (row.status, row.journal_seq, row.error) == (FAILED, 5, ErrorInfo("builtins.ValueError", "no"))


async def test_attributes_change_and_go(control: ControlLog, projection: WorkflowProjection) -> None:
    await control.append([entry(AttributesSet(eid(1), {"a": 1, "b": "x"}))])
    await control.append([entry(AttributesSet(eid(1), {"a": 2.5, "b": None}))])
    await projection.catch_up()
    row = await projection.execution(eid(1))
    assert row is not None
    assert row.attributes == {"a": 2.5}


async def test_a_repeated_announcement_of_a_frame_counts_once(
    control: ControlLog, projection: WorkflowProjection
) -> None:
    paid = entry(Announced("paid", {"n": 1}, eid(1), "root/announce#1"))
    definition = entry(Announced("schedule", {"every": "1h"}))
    await control.append([paid, definition])
    await control.append([paid, definition])
    await projection.catch_up()
    assert [one.seq for one in await projection.announcements("paid")] == [1]
    assert [one.seq for one in await projection.announcements("schedule")] == [2, 4]
    assert [one.seq for one in await projection.announcements(after_seq=2)] == [4]
    (found,) = await projection.announcements("paid", eid=eid(1))
    assert (found.data, found.by, found.fid) == ({"n": 1}, ALICE, "root/announce#1")


async def test_erasing_drops_values_and_words(control: ControlLog, projection: WorkflowProjection) -> None:
    failed = StatusChanged(eid(1), FAILED, "execution.failed", 1, 5, error=ErrorInfo("app.Bad", "card 4711"))
    erased = StatusChanged(eid(1), FAILED, "execution.erased", 1, 6)
    await control.append([entry(Announced("paid", "card 4711", eid(1), "root/announce#1")), entry(failed)])
    await control.append([entry(erased)])
    await projection.catch_up()
    row = await projection.execution(eid(1))
    assert row is not None
    assert (row.erased, row.status, row.error) == (True, FAILED, ErrorInfo("app.Bad", ""))
    assert [one.data for one in await projection.announcements()] == [None]


async def test_entries_of_a_newer_version_are_passed_over(control: ControlLog, projection: WorkflowProjection) -> None:
    await control.append([entry(UnknownBody("execution.teleported", {"to": "moon"})), created(1)])
    assert (await projection.catch_up()).seq == 2
    assert await projection.execution(eid(1)) is not None


_LIFE = life(1)


@given(st.permutations(_LIFE), st.lists(st.sampled_from(_LIFE), max_size=5), st.integers(1, 15))
def test_order_and_repetition_change_nothing(order: list[ControlEntry], again: list[ControlEntry], batch: int) -> None:
    assert tables([*order, *again], batch) == tables(_LIFE)


_ERASED = [
    *life(1),
    entry(Announced("paid", "card 4711", eid(1), "root/announce#2")),
    entry(StatusChanged(eid(1), COMPLETED, "execution.erased", 2, 12), 3),
]


@given(st.permutations(_ERASED), st.lists(st.sampled_from(_ERASED), max_size=5), st.integers(1, 18))
def test_of_an_erased_execution_no_value_is_kept_whenever_it_comes(
    order: list[ControlEntry], again: list[ControlEntry], batch: int
) -> None:
    rows = tables([*order, *again], batch)
    assert len(rows) == 3, "the execution and two announcements; no attribute"
    assert {row[-1] for row in rows[1:]} == {"null"}
    assert "4711" not in repr(rows)


def test_filter_of_nothing_is_everything() -> None:
    db = sqlite3.connect(":memory:", isolation_level=None)
    schema.create(db)
    for n in range(3):
        ControlFold().apply(db, [created(n)])
    assert len(queries.executions(db, queries.Filter(), 10, None).rows) == 3
    db.close()


def test_attributes_that_a_replaced_owner_writes_late_do_not_count() -> None:
    """JRN-20."""

    def told(state: str, epoch: int) -> ControlEntry:
        by = Provenance(ALICE, Site("w-1").at_epoch(epoch), at(2))
        return ControlEntry(AttributesSet(eid(1), {"state": state}), by)

    running = StatusChanged(eid(1), RUNNING, "execution.resumed", 2, 3)
    entries = [created(1), told("begun", 1), entry(running, 2), told("done", 2), told("begun", 1), entry(running, 3)]
    row = (str(eid(1)), "state", '"done"')
    assert row in [one[:3] for one in tables(entries)]
    keeper = Keeper({})
    for seq, one in enumerate(entries, 1):
        keeper.add(ControlEntry(one.body, one.by, seq))
    assert [one.seq for one in keeper.kept() if isinstance(one.body, AttributesSet)] == [4]
