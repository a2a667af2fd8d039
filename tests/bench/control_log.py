"""A control log of a million entries in a folder, as an installation writes it in a year of moderate use."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from itertools import islice
from uuid import UUID

from flowli.adapters.cairndb import CairnBackend
from flowli.adapters.cairndb.records import to_records
from flowli.cairn.database import Cairn
from flowli.cairn.snapshot import SEGMENT
from flowli.domain import keys
from flowli.domain.control_entries import (
    Announced,
    AttributesSet,
    ControlBody,
    ControlEntry,
    ExecutionArchived,
    ExecutionCreated,
    StatusChanged,
)
from flowli.domain.errors import ErrorInfo
from flowli.domain.execution import ExecutionStatus
from flowli.domain.provenance import Actor, ActorKind, Provenance, Site
from flowli.domain.waits import OnChannel
from flowli.timestamp import Timestamp
from flowli.world import SYSTEM

__all__ = ["PER_COMMIT", "fill"]

PER_COMMIT = 10
"""Entries that became durable together."""

_FROM = Timestamp.parse("2026-01-01T00:00:00.000000Z")
_APART_S = 60
_WORKFLOWS = ("order", "invoice_approval", "onboarding", "refund", "nightly_report")
_COUNTRIES = ("AT", "CH", "DE", "FR", "IT")
_RUNNING = ExecutionStatus.RUNNING


def _by(n: int, seconds: float, worker: int) -> Provenance:
    at = _FROM + timedelta(seconds=n * _APART_S + seconds)
    return Provenance(Actor(ActorKind.WORKER, f"w-{worker}"), Site(f"w-{worker}", f"host-{worker}", 4711), at)


def _life(n: int) -> Iterator[ControlEntry]:
    """Seven entries of one execution on average; one in ten fails, one in twenty still waits."""
    eid = UUID(int=((_FROM.us // 1000 + n * _APART_S * 1000) << 80) | (7 << 76) | (2 << 62) | n)
    version, at = str(n % 3 + 1), _FROM + timedelta(seconds=n * _APART_S)

    def entry(seconds: float, body: ControlBody) -> ControlEntry:
        return ControlEntry(body, _by(n, seconds, n % 4))

    def status(seconds: float, to: ExecutionStatus, tag: str, seq: int, **more: object) -> ControlEntry:
        return entry(seconds, StatusChanged(eid, to, f"execution.{tag}", 1, seq, **more))  # type: ignore[arg-type]

    digest = f"{n:064x}"
    workflow, key = _WORKFLOWS[n % 5], f"order:{n}" if n % 3 == 0 else None
    yield entry(0, ExecutionCreated(eid, workflow, version, digest, f"q-{n % 7}", at, 50, None, key))
    yield entry(0, AttributesSet(eid, {"country": _COUNTRIES[n % 5], "customer": f"c-{n % 20_000}"}))
    yield status(1, _RUNNING, "started", 1, version=version)
    if n % 2:
        yield status(2, ExecutionStatus.SUSPENDED, "suspended", 4, on=(OnChannel(f"{eid}.approval"),))
    if n % 20 == 1:
        return
    if n % 2:
        yield status(30, _RUNNING, "resumed", 6, version=version)
    if n % 25 == 0:
        yield entry(31, Announced("milestone", {"order": n}, eid, "root/announce#1"))
    if n % 10 == 0:
        yield status(40, ExecutionStatus.FAILED, "failed", 9, error=ErrorInfo("shop.CardRefused", "card ending 4711"))
    else:
        yield status(40, ExecutionStatus.COMPLETED, "completed", 9)
    if n % 4 == 0:
        yield entry(86_400, ExecutionArchived(eid))


async def fill(folder: str, entries: int) -> int:
    """Write the log with its segments; returns how many executions it tells of."""
    backend = CairnBackend.open(f"file:{folder}?durability=os")
    await backend.check()
    cairn = Cairn(backend.store, SYSTEM)
    log = cairn.log(keys.CONTROL_LOG, trimmable=True, linger_s=0.0)
    count, written = 0, 0

    def all_of_them() -> Iterator[ControlEntry]:
        nonlocal count
        while True:
            yield from _life(count)
            count += 1

    every = all_of_them()
    while written < entries:
        batch = list(islice(every, min(PER_COMMIT, entries - written)))
        position = await log.append_next(to_records(batch), "bench")
        written += len(batch)
        if position.commit % SEGMENT == 0:
            await log.segments.write(position.commit // SEGMENT)
    await backend.close()
    return count
