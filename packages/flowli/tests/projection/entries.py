from __future__ import annotations

from datetime import timedelta
from uuid import UUID

from flowli.domain.control_entries import (
    Announced,
    AttributesSet,
    ControlBody,
    ControlEntry,
    ExecutionArchived,
    ExecutionCreated,
    OperatorActed,
    StatusChanged,
)
from flowli.domain.execution import ExecutionStatus
from flowli.domain.ids import Eid, FrameRef
from flowli.domain.provenance import Actor, ActorKind, Provenance, Site
from flowli.domain.waits import OnChannel
from flowli.timestamp import Timestamp

T0 = Timestamp.parse("2026-03-01T12:00:00.000000Z")
ALICE = Actor(ActorKind.HUMAN, "alice")


def eid(n: int) -> Eid:
    return UUID(int=(7 << 76) | (2 << 62) | n)


def at(seconds: float) -> Timestamp:
    return T0 + timedelta(seconds=seconds)


def entry(body: ControlBody, seconds: float = 0) -> ControlEntry:
    return ControlEntry(body, Provenance(ALICE, Site("w-1"), at(seconds)))


def created(n: int, *, workflow: str = "order", key: str | None = None, parent: int | None = None) -> ControlEntry:
    frame = None if parent is None else FrameRef(eid(parent), "root/pay#1")
    body = ExecutionCreated(eid(n), workflow, "1", "digest", "default", at(n), parent=frame, dispatch_key=key)
    return entry(body, n)


def status(
    n: int,
    to: ExecutionStatus,
    seq: int,
    *,
    tag: str | None = None,
    reason: str = "",
    version: str | None = None,
    channel: str | None = None,
    seconds: float | None = None,
) -> ControlEntry:
    on = () if channel is None else (OnChannel(channel),)
    body = StatusChanged(eid(n), to, tag or f"execution.{to}", 1, seq, on=on, reason=reason, version=version)
    return entry(body, n + seq / 10 if seconds is None else seconds)


def life(n: int) -> list[ControlEntry]:
    """What the control log says of one execution that ends well, with everything that can be in between."""
    return [
        created(n, key=f"order:{n}"),
        status(n, ExecutionStatus.RUNNING, 1, tag="execution.started", version="1"),
        status(n, ExecutionStatus.SUSPENDED, 4, channel="payments"),
        status(n, ExecutionStatus.RUNNING, 5, tag="execution.migrated", version="2"),
        entry(AttributesSet(eid(n), {"country": "CH", "amount": n, "urgent": n % 2 == 0}), n),
        entry(Announced("paid", {"order": n}, eid(n), "root/announce#1"), n),
        entry(OperatorActed("migrate", eid(n), "new code", key=f"k-{n}"), n),
        status(n, ExecutionStatus.COMPLETED, 9),
        entry(ExecutionArchived(eid(n)), n + 5),
    ]
