"""Lists, counts and searches."""

from __future__ import annotations

import pytest

from flowli.adapters.projection import WorkflowProjection
from flowli.domain.control_entries import AttributesSet, OperatorActed
from flowli.domain.errors import InvalidValue
from flowli.domain.execution import ExecutionStatus
from flowli.domain.ports import ControlLog

from .entries import at, created, eid, entry, status

RUNNING, FAILED = ExecutionStatus.RUNNING, ExecutionStatus.FAILED


@pytest.fixture
async def filled(control: ControlLog, projection: WorkflowProjection) -> WorkflowProjection:
    """Ten orders and two invoices; the odd orders run, order 4 failed; 6 and 8 are children of 2."""
    entries = [created(n, parent=2 if n in (6, 8) else None, key=f"order:{n}") for n in range(10)]
    entries += [created(n, workflow="invoice") for n in (20, 21)]
    entries += [status(n, RUNNING, 1) for n in (1, 3, 5, 7, 9)]
    entries += [status(4, FAILED, 3, reason="100% of_it")]
    entries += [entry(AttributesSet(eid(n), {"country": "CH" if n < 5 else "DE", "vip": n == 3})) for n in range(10)]
    entries += [entry(OperatorActed("cancel", eid(4), "wrong", key="k")), entry(OperatorActed("pause_queue", None, ""))]
    await control.append(entries)
    await projection.catch_up()
    return projection


async def test_the_newest_come_first(filled: WorkflowProjection) -> None:
    page = await filled.executions()
    assert [row.eid for row in page.rows] == [eid(n) for n in (21, 20, *range(9, -1, -1))]
    assert page.next_cursor is None


async def test_pages_are_stable_while_executions_are_added(control: ControlLog, filled: WorkflowProjection) -> None:
    seen = []
    cursor = None
    for _ in range(10):
        page = await filled.executions(limit=5, cursor=cursor)
        seen += [row.eid for row in page.rows]
        await control.append([created(100 + len(seen))])
        await filled.catch_up()
        cursor = page.next_cursor
        if cursor is None:
            break
    assert seen == [eid(n) for n in (21, 20, *range(9, -1, -1))]


@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        ({"workflow": "invoice"}, {20, 21}),
        ({"status": FAILED}, {4}),
        ({"status": (FAILED, RUNNING)}, {1, 3, 4, 5, 7, 9}),
        ({"status": RUNNING, "created_after": at(5)}, {7, 9}),
        ({"created_before": at(2)}, {0, 1}),
        ({"parent": eid(2)}, {6, 8}),
        ({"key": "order:7"}, {7}),
        ({"queue": "elsewhere"}, set()),
        ({"attributes": {"country": "CH", "vip": True}}, {3}),
        ({"attributes": {"vip": 1}}, set()),
        ({"text": "ORDER:7"}, {7}),
        ({"text": "100%"}, {4}),
        ({"text": "of_i"}, {4}),
        ({"text": "%"}, {4}),
        ({"text": "invo"}, {20, 21}),
        ({"text": "DE"}, {5, 6, 7, 8, 9} | set(range(5))),
        ({"text": str(eid(9))}, {9}),
    ],
)
async def test_conditions(filled: WorkflowProjection, conditions: dict[str, object], expected: set[int]) -> None:
    page = await filled.executions(**conditions)  # type: ignore[arg-type]
    assert {row.eid for row in page.rows} == {eid(n) for n in expected}


async def test_counts_name_every_status(filled: WorkflowProjection) -> None:
    counted = await filled.counts()
    assert {status.value: n for status, n in counted.items()} == {
        "pending": 6,
        "running": 5,
        "suspended": 0,
        "completed": 0,
        "failed": 1,
        "cancelled": 0,
    }
    assert (await filled.counts(workflow="invoice"))[ExecutionStatus.PENDING] == 2


async def test_children(filled: WorkflowProjection) -> None:
    assert [row.eid for row in await filled.children(eid(2))] == [eid(6), eid(8)]
    assert await filled.children(eid(6)) == []


async def test_acts_of_operators(filled: WorkflowProjection) -> None:
    assert [act.verb for act in await filled.acts()] == ["cancel", "pause_queue"]
    (act,) = await filled.acts(eid(4))
    assert (act.verb, act.reason, act.key, act.by.id) == ("cancel", "wrong", "k", "alice")


@pytest.mark.parametrize("cursor", ["", "nonsense", f"{at(1)}.x", f"{eid(1)}"])
async def test_a_cursor_that_no_page_gave_is_refused(filled: WorkflowProjection, cursor: str) -> None:
    with pytest.raises(InvalidValue, match="cursor"):
        await filled.executions(cursor=cursor)


async def test_an_unknown_execution(filled: WorkflowProjection) -> None:
    assert await filled.execution(eid(999)) is None
