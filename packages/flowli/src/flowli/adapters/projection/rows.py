"""What the queries give: plain values made of rows."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import cast
from uuid import UUID

import orjson

from flowli.codec import load
from flowli.domain.data import Data, Scalar
from flowli.domain.entries import ExecutionSuspended
from flowli.domain.errors import ErrorInfo
from flowli.domain.execution import DEFAULT_PRIORITY, ExecutionStatus, Origin
from flowli.domain.ids import Eid, Fid, FrameRef
from flowli.domain.provenance import Actor
from flowli.domain.waits import On
from flowli.timestamp import Timestamp

__all__ = ["COLUMNS", "Act", "Announcement", "ExecutionRow", "Latency", "Page", "act", "announcement", "execution_row"]

COLUMNS = (
    "eid, workflow, version, args_digest, queue, priority, parent_eid, parent_fid, dispatch_key, origin, created_by, "
    "created_at, started_at, updated_at, ended_at, archived_at, status, epoch, journal_seq, waits_on, "
    "reason, error, erased"
)
"""The columns of ``executions`` in the order that ``execution_row`` expects."""


@dataclass(frozen=True, slots=True)
class ExecutionRow:
    """One execution by the control log.

    Attributes:
        workflow: "" (as ``version`` and ``queue``) while only its twins are known.
        created_at: of the first entry seen while only its twins are known.
        updated_at: the instant of the entry that gave the status.
        waits_on: what a suspended execution waits on.
        reason: why it is suspended, was cancelled, ...
        error: of a failed one, without traceback.
        attributes: as they were set last.
    """

    eid: Eid
    workflow: str
    version: str
    status: ExecutionStatus
    queue: str
    created_at: Timestamp
    updated_at: Timestamp
    args_digest: str = ""
    priority: int = DEFAULT_PRIORITY
    parent: FrameRef | None = None
    dispatch_key: str | None = None
    origin: Origin | None = None
    created_by: Actor | None = None
    started_at: Timestamp | None = None
    ended_at: Timestamp | None = None
    archived_at: Timestamp | None = None
    epoch: int = 0
    journal_seq: int = 0
    waits_on: tuple[On, ...] = ()
    reason: str = ""
    error: ErrorInfo | None = None
    erased: bool = False
    attributes: Mapping[str, Scalar] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Page:
    """Some executions, the newest first.

    Attributes:
        next_cursor: where the next page begins; None after the last.
    """

    rows: tuple[ExecutionRow, ...]
    next_cursor: str | None = None


@dataclass(frozen=True, slots=True)
class Latency:
    """How long the completed executions of a workflow took, in seconds from creation to completion.

    Attributes:
        p50_s, p90_s, p99_s: within these so many of a hundred completed; ``max_s`` the longest.
    """

    workflow: str
    count: int
    p50_s: float
    p90_s: float
    p99_s: float
    max_s: float


@dataclass(frozen=True, slots=True)
class Announcement:
    """A public fact of a workflow, or a definition. ``seq`` is its place in the control log."""

    seq: int
    topic: str
    data: Data
    at: Timestamp
    by: Actor
    eid: Eid | None = None
    fid: Fid | None = None


@dataclass(frozen=True, slots=True)
class Act:
    """What an operator did. ``seq`` is its place in the control log."""

    seq: int
    verb: str
    reason: str
    at: Timestamp
    by: Actor
    eid: Eid | None = None
    key: str | None = None


def execution_row(row: sqlite3.Row | tuple[object, ...], attributes: Mapping[str, Scalar]) -> ExecutionRow:
    """The value of one row of ``COLUMNS``."""
    eid, workflow, version, digest, queue, priority, parent, fid, key, origin, by, *rest = cast("tuple[str, ...]", row)
    created_at, started_at, updated_at, ended_at, archived_at, *rest = rest
    status, epoch, seq, waits_on, reason, error, erased = rest
    return ExecutionRow(
        UUID(eid),
        workflow,
        version,
        ExecutionStatus(status),
        queue,
        Timestamp.parse(created_at),
        Timestamp.parse(updated_at),
        digest,
        DEFAULT_PRIORITY if priority is None else int(priority),
        FrameRef(UUID(parent), fid) if parent else None,
        key,
        load(Origin, orjson.loads(origin)) if origin else None,
        load(Actor, orjson.loads(by)) if by else None,
        _instant(started_at),
        _instant(ended_at),
        _instant(archived_at),
        int(epoch),
        int(seq),
        load(ExecutionSuspended, orjson.loads(waits_on)).on if waits_on else (),
        reason,
        load(ErrorInfo, orjson.loads(error)) if error else None,
        bool(erased),
        attributes,
    )


def announcement(row: tuple[object, ...]) -> Announcement:
    """The value of one row of ``announcements``."""
    seq, topic, eid, fid, at, by, data = cast("tuple[str, ...]", row)
    who = load(Actor, orjson.loads(by))
    return Announcement(int(seq), topic, orjson.loads(data), Timestamp.parse(at), who, UUID(eid) if eid else None, fid)


def act(row: tuple[object, ...]) -> Act:
    """The value of one row of ``acts``."""
    seq, eid, verb, reason, key, at, by = cast("tuple[str, ...]", row)
    who = load(Actor, orjson.loads(by))
    return Act(int(seq), verb, reason, Timestamp.parse(at), who, UUID(eid) if eid else None, key)


def _instant(text: str | None) -> Timestamp | None:
    return Timestamp.parse(text) if text else None
