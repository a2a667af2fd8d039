"""Lists, counts and searches."""

from __future__ import annotations

from typing import Any

import pytest

from flowli.adapters.projection import Latency, WorkflowProjection
from flowli.domain.control_entries import AttributesSet, OperatorActed, StatusChanged
from flowli.domain.errors import InvalidValue
from flowli.domain.execution import ExecutionStatus
from flowli.domain.ports import ControlLog
from flowli.domain.waits import OnChannel, OnChild, OnOperator, OnTimer

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


@pytest.fixture
async def waiting(control: ControlLog, projection: WorkflowProjection) -> WorkflowProjection:
    """Five orders: a message, a timer, a child, an operator; the last one waited and goes on."""
    ons = [OnChannel(f"{eid(0)}.approval"), OnTimer(at(60)), OnChild(eid(9)), OnOperator("paused"), OnChannel("news")]
    await control.append([created(n) for n in range(5)])
    for n, on in enumerate(ons):
        body = StatusChanged(eid(n), ExecutionStatus.SUSPENDED, "execution.suspended", 1, 3, on=(on,))
        await control.append([entry(body, 100 + n)])
    await control.append([status(4, RUNNING, 5, seconds=200)])
    await projection.catch_up()
    return projection


@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        ({"waiting_on": "channel"}, {0}),
        ({"waiting_on": "channel:approval"}, {0}),
        ({"waiting_on": "approval"}, {0}),
        ({"waiting_on": "channel:news"}, set()),
        ({"waiting_on": "timer"}, {1}),
        ({"waiting_on": f"child:{eid(9)}"}, {2}),
        ({"waiting_on": "operator:paused"}, {3}),
        ({"updated_after": at(102)}, {3, 4}),
        ({"updated_before": at(101)}, {0}),
        ({"version": "1"}, {0, 1, 2, 3, 4}),
        ({"version": "2"}, set()),
        ({"prefix": str(eid(3))[:35]}, {0, 1, 2, 3, 4}),
        ({"prefix": str(eid(3))}, {3}),
    ],
)
async def test_what_they_wait_on_and_when_they_changed(
    waiting: WorkflowProjection, conditions: dict[str, Any], expected: set[int]
) -> None:
    page = await waiting.executions(**conditions)
    assert {row.eid for row in page.rows} == {eid(n) for n in expected}


async def test_latencies_are_those_of_completed_executions(control: ControlLog, projection: WorkflowProjection) -> None:
    await control.append([created(n) for n in range(100)])
    await control.append([status(n, ExecutionStatus.COMPLETED, 3, seconds=n + n + 1) for n in range(100)])
    await control.append([created(200, workflow="other"), status(200, FAILED, 3, seconds=300)])
    await projection.catch_up()
    assert await projection.latencies() == [Latency("order", 100, 50.0, 90.0, 99.0, 100.0)]
    assert await projection.latencies(workflow="other") == []


async def test_a_creation_that_comes_after_the_end_gives_the_same_latency(
    control: ControlLog, projection: WorkflowProjection
) -> None:
    await control.append([status(7, ExecutionStatus.COMPLETED, 3, seconds=17), created(7)])
    await projection.catch_up()
    assert await projection.latencies() == [Latency("order", 1, 10.0, 10.0, 10.0, 10.0)]
