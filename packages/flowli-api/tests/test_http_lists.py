"""Ten thousand executions in the list: what a page costs is counted in steps of SQLite, not in time."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import timedelta

import httpx
import pytest
import pytest_asyncio

from flowli import Engine, MemoryBackend, Site, Timestamp
from flowli.adapters.projection import queries
from flowli.domain.control_entries import AttributesSet, ControlEntry, ExecutionCreated, StatusChanged
from flowli.domain.execution import ExecutionStatus
from flowli.domain.ids import FrameRef, parse_eid
from flowli.domain.provenance import Actor, ActorKind, Provenance
from flowli.domain.waits import OnChannel
from flowli_api.app import create_app
from flowli_api.auth.static import StaticAuthenticator
from flowli_api.config import ApiConfig
from flowli_api.routes.listing import ExecutionQuery

from .conftest import PEOPLE, registry, token_of

MANY, PAGE = 10_000, 50
BEGIN = Timestamp.parse("2026-03-01T12:00:00.000000Z")
STATUSES = (ExecutionStatus.FAILED, ExecutionStatus.RUNNING, ExecutionStatus.SUSPENDED)
EVERY = 20
"""Each twentieth execution has a status, attributes and something that it waits for."""

MOST_STEPS = 40_000
"""Of SQLite's machine for one page; looking at each of ten thousand rows takes more than a hundred thousand."""


def eid_of(number: int):
    return parse_eid(f"0197a1b2-0000-7000-8000-{number:012x}")


def history(number: int) -> list[ControlEntry]:
    """What the control log says of one execution."""
    eid, at = eid_of(number), BEGIN + timedelta(seconds=number)
    by = Provenance(Actor(ActorKind.HUMAN, "ada"), Site("w-1"), at)
    parent = FrameRef(eid_of(number // 100 * 100), "root/pay#1") if number % 100 else None
    bodies: list[object] = [
        ExecutionCreated(
            eid, f"flow-{number % 7}", "1", "digest", "default", at, parent=parent, dispatch_key=f"order:{number}"
        )
    ]
    if number % EVERY == 0:
        status = STATUSES[number // EVERY % 3]
        on = (OnChannel(f"{eid}.approval"),)
        bodies.append(StatusChanged(eid, status, f"execution.{status}", 1, 4, on=on, version="2"))
        bodies.append(AttributesSet(eid, {"country": "CH", "amount": number}))
    return [ControlEntry(body, by) for body in bodies]  # type: ignore[arg-type]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def long_list() -> AsyncIterator[httpx.AsyncClient]:
    """A client of a service over a bucket with a long control log."""
    backend = MemoryBackend()
    for first in range(0, MANY, 500):
        entries = [entry for number in range(first, first + 500) for entry in history(number)]
        await backend.ports.control.append(entries)
    engine = Engine(backend.ports, Site.local("api"), registry=registry)
    authenticator = StaticAuthenticator({token_of("root"): PEOPLE["root"]})
    app = create_app(engine, authenticator=authenticator, config=ApiConfig(rate_per_s=None, interface=False))
    headers = {"authorization": f"Bearer {token_of('root')}"}
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(app), base_url="http://flowli.test", headers=headers
    ) as client:
        assert sum((await client.get("/v1/executions/counts")).json()["counts"].values()) == MANY
        yield client
    await app.state.service.close()
    await engine.close()


@dataclass
class Asked:
    """What was asked of SQLite for a page."""

    statements: list[str] = field(default_factory=list)
    plans: list[str] = field(default_factory=list)
    steps: int = 0


@pytest.fixture
def asked(monkeypatch):
    """Looks at what the next pages cost, in the thread that reads them."""
    found, plain = Asked(), queries.executions

    def watched(db: sqlite3.Connection, *arguments):
        def step() -> int:
            found.steps += 10
            return 0

        db.set_trace_callback(found.statements.append)
        db.set_progress_handler(step, 10)
        try:
            page = plain(db, *arguments)
        finally:
            db.set_progress_handler(None, 10)
            db.set_trace_callback(None)
        for statement in found.statements:
            found.plans += [row[3] for row in db.execute(f"EXPLAIN QUERY PLAN {statement}")]
        return page

    monkeypatch.setattr(queries, "executions", watched)
    return found


LATE, EARLY = str(BEGIN + timedelta(seconds=MANY - 20)), str(BEGIN + timedelta(seconds=20))
FILTERS = {
    "status": ["failed", "running", "suspended"],
    "workflow": "flow-3",
    "queue": "default",
    "parent": str(eid_of(100)),
    "key": "order:77",
    "attribute": ["country:CH", "amount:40"],
    "created_after": LATE,
    "created_before": EARLY,
    "updated_after": LATE,
    "updated_before": EARLY,
    "version": "2",
    "waiting_on": "channel",
    "text": "order:77",
}
CASES = [("nothing", {})]
CASES += [
    (f"{name}={one}", {name: one})
    for name, given in FILTERS.items()
    for one in ([given] if isinstance(given, str) else given)
]
CASES += [
    ("several statuses", {"status": ["failed", "running"]}),
    ("a status of a workflow", {"status": "running", "workflow": "flow-3"}),
    ("all of a time", {"updated_after": EARLY}),
    ("no such workflow", {"workflow": "none"}),
]


def test_every_filter_is_looked_at():
    assert set(FILTERS) == set(ExecutionQuery.model_fields) - {"limit", "cursor"}


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(("name", "query"), CASES, ids=[name for name, _ in CASES])
async def test_a_page_of_ten_thousand_is_found_by_an_index(long_list, asked, name, query):
    answer = await long_list.get("/v1/executions", params={**query, "limit": PAGE})
    assert answer.status_code == 200
    assert len(answer.json()["items"]) > 0 or name.endswith(("none", "workflow"))
    walks = [plan for plan in asked.plans if plan.startswith("SCAN executions")]
    assert all("USING INDEX executions_by_" in plan for plan in walks), asked.plans
    # part of a text is in no index: the newest executions are looked through until a page is full
    assert "text" in query or asked.steps < MOST_STEPS, (asked.steps, asked.plans)
