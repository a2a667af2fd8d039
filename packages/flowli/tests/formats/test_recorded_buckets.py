"""Buckets that earlier releases left behind are opened, and everything in them goes on to its end."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from flowli.cairn.layout import FORMATS, LAYOUT_VERSION
from flowli.cairn.values import from_json
from flowli.domain.errors import DispatchConflict, ExecutionFailed
from flowli.domain.execution import ExecutionStatus
from flowli.domain.memo import JournalFold

NAMES = sorted(path.name for path in (Path(__file__).parent / "buckets").iterdir())

Copy = Callable[[str], Any]


async def test_a_form_that_changes_needs_a_newly_recorded_bucket(recorded: Copy) -> None:
    """UPG-4."""
    bucket = recorded(max(NAMES))
    async with bucket.open() as env:
        await env.settle()
        layout = await bucket.stores[0].get("wf/layout")
        assert from_json(layout.data, "wf/layout")["layout"] == LAYOUT_VERSION
        assert from_json(layout.data, "wf/layout")["formats"] == FORMATS


UNDER_WAY = ("waiting", "retrying", "answered", "paused", "crashed", "pending", "listening")


@pytest.mark.parametrize("name", NAMES)
async def test_everything_that_was_under_way_reaches_its_end(name: str, recorded: Copy, story: Any) -> None:
    """UPG-4."""
    bucket = recorded(name)
    eids = bucket.eids
    async with bucket.open() as env:
        charged = env.replace(story.charge, lambda order: order.total)
        for _ in range(3):  # leases of the worker that died are over once they have been seen unchanged for their time
            await env.advance(timedelta(minutes=1))
        states = {key: (await env.status(eid)).status for key, eid in eids.items()}
        assert states == {
            **dict.fromkeys(("archived", "failed"), ExecutionStatus.FAILED),
            **dict.fromkeys(UNDER_WAY, ExecutionStatus.SUSPENDED),
        }
        await env.clock.drive(env.engine.resume(eids["paused"]))
        await env.clock.drive(env.engine.broadcast("news", {"n": 2}))
        for key in ("waiting", "retrying", "paused", "crashed", "pending"):
            await env.signal(eids[key], "answer", "yes")
        await env.run_until_idle()
        assert await env.result(eids["listening"]) == ["first heard {'n': 1}", {"n": 2}]
        for key in UNDER_WAY[:-1]:
            number = "busy" if key == "retrying" else key
            assert await env.result(eids[key]) == f"{number}: 9.50 yes parcel of {number}"
        with pytest.raises(ExecutionFailed, match="rejected"):
            await env.result(eids["failed"])
        # what had finished did not run again
        assert sorted(call.args[0].number for call in charged.calls) == ["busy", "crashed", "pending"]


@pytest.mark.parametrize("name", NAMES)
async def test_keys_still_lead_to_their_executions(name: str, recorded: Copy, story: Any) -> None:
    bucket = recorded(name)
    async with bucket.open() as env:
        order = story.Order("waiting", Decimal("9.50"))
        assert await env.start(story.approve, order, key="order:1") == bucket.eids["waiting"]
        with pytest.raises(DispatchConflict):
            await env.start(story.approve, story.Order("other", Decimal(1)), key="order:1")


@pytest.mark.parametrize("name", NAMES)
async def test_archives_are_read_and_what_has_ended_is_archived(name: str, recorded: Copy) -> None:
    bucket = recorded(name)
    async with bucket.open() as env:
        eids = bucket.eids
        archived = await env.status(eids["archived"])
        assert archived.archived_at is not None
        assert archived.error is not None
        assert archived.error.message == "rejected"
        before = await env.journal(eids["failed"])
        report = await env.clock.drive(env.engine.retention(timedelta(hours=1)).run_once())
        assert report.archived == [eids["failed"]]
        assert await env.journal(eids["failed"]) == before


@pytest.mark.parametrize("name", NAMES)
async def test_no_journal_has_an_anomaly(name: str, recorded: Copy) -> None:
    bucket = recorded(name)
    async with bucket.open() as env:
        for key, eid in bucket.eids.items():
            fold = JournalFold(await env.journal(eid))
            assert fold.anomalies == [], key
            assert key == "pending" or fold.status is not ExecutionStatus.PENDING
