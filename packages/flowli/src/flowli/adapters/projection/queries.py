"""The questions, as SQL. Each runs in one reading thread and sees one transaction."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil

import orjson

from flowli.adapters.projection.fold import as_json
from flowli.adapters.projection.rows import (
    COLUMNS,
    Act,
    Announcement,
    ExecutionRow,
    Latency,
    Page,
    act,
    announcement,
    execution_row,
)
from flowli.domain.data import Scalar
from flowli.domain.errors import InvalidName, InvalidValue
from flowli.domain.execution import ExecutionStatus
from flowli.domain.ids import Eid, parse_eid
from flowli.domain.waits import OnChannel, OnChild, OnOperator, OnStep, OnTimer
from flowli.timestamp import Timestamp

__all__ = ["Filter", "acts", "announcements", "children", "counts", "execution", "executions", "latencies"]


_WORKFLOWS = "SELECT DISTINCT workflow FROM executions ORDER BY workflow"
_TIMES = "FROM executions INDEXED BY executions_by_time WHERE workflow = ? AND took_us IS NOT NULL"
_FEW = 2000
_KINDS = {kind.tag for kind in (OnChannel, OnTimer, OnChild, OnStep, OnOperator)}


@dataclass(frozen=True, slots=True)
class Filter:
    """Which executions are asked for; every field that is given must hold.

    Attributes:
        status: any of these.
        attributes: names with the values that they must have.
        created_after, created_before, updated_after, updated_before: not the instant itself.
        waiting_on: a kind (``channel``, ``timer``, ``child``, ``step``, ``operator``), what it is about (the name of a
            channel, the id of a child, a cause such as ``paused``), or both: ``channel:approval``.
        prefix: how the id begins.
        text: part of the id, the workflow, the key, the reason, the error or an attribute, in any case.
    """

    status: Collection[ExecutionStatus] = ()
    workflow: str | None = None
    queue: str | None = None
    parent: Eid | None = None
    key: str | None = None
    attributes: Mapping[str, Scalar] = field(default_factory=dict)
    created_after: Timestamp | None = None
    created_before: Timestamp | None = None
    text: str | None = None
    version: str | None = None
    updated_after: Timestamp | None = None
    updated_before: Timestamp | None = None
    waiting_on: str | None = None
    prefix: str | None = None


def executions(db: sqlite3.Connection, wanted: Filter, limit: int, cursor: str | None) -> Page:
    """One page, the newest first."""
    conditions, values = _where(wanted)
    for sides in _sides(wanted):
        condition, asked = sides.condition(db)
        conditions.append(condition)
        values.extend(asked)
    if cursor is not None:
        conditions.append("(created_at, eid) < (?, ?)")
        values.extend(_parse_cursor(cursor))
    where = f"WHERE {' AND '.join(conditions)}" if conditions else ""
    sql = f"SELECT {COLUMNS} FROM executions {where} ORDER BY created_at DESC, eid DESC LIMIT ?"
    found = _rows(db, db.execute(sql, (*values, limit + 1)).fetchall())
    more = len(found) > limit
    return Page(tuple(found[:limit]), _cursor(found[limit - 1]) if more else None)


def execution(db: sqlite3.Connection, eid: Eid) -> ExecutionRow | None:
    """One execution."""
    found = db.execute(f"SELECT {COLUMNS} FROM executions WHERE eid = ?", (str(eid),)).fetchall()
    return next(iter(_rows(db, found)), None)


def children(db: sqlite3.Connection, eid: Eid) -> list[ExecutionRow]:
    """The children of an execution, the oldest first."""
    sql = f"SELECT {COLUMNS} FROM executions WHERE parent_eid = ? ORDER BY created_at, eid"
    return _rows(db, db.execute(sql, (str(eid),)).fetchall())


def counts(db: sqlite3.Connection, workflow: str | None) -> dict[ExecutionStatus, int]:
    """How many executions there are of each status."""
    where, values = ("WHERE workflow = ?", (workflow,)) if workflow is not None else ("", ())
    found = dict(db.execute(f"SELECT status, count(*) FROM executions {where} GROUP BY status", values).fetchall())
    return {status: found.get(status.value, 0) for status in ExecutionStatus}


def latencies(db: sqlite3.Connection, workflow: str | None) -> list[Latency]:
    """How long executions took from creation to completion, for each workflow; forks and retries are left out."""
    names = [workflow] if workflow is not None else [name for (name,) in db.execute(_WORKFLOWS).fetchall()]
    return [found for name in names if (found := _latency(db, name)) is not None]


def _latency(db: sqlite3.Connection, workflow: str) -> Latency | None:
    (count,) = db.execute(f"SELECT count(*) {_TIMES}", (workflow,)).fetchone()
    if not count:
        return None

    def at(share: float) -> float:
        """The least time within which that share of them completed."""
        place = max(0, ceil(share * count) - 1)
        sql = f"SELECT took_us {_TIMES} ORDER BY took_us LIMIT 1 OFFSET ?"
        return float(db.execute(sql, (workflow, place)).fetchone()[0]) / 1e6

    return Latency(workflow, int(count), at(0.5), at(0.9), at(0.99), at(1.0))


def announcements(
    db: sqlite3.Connection, topic: str | None, eid: Eid | None, after_seq: int, limit: int
) -> list[Announcement]:
    """Announcements in the order of the control log."""
    conditions, values = ["seq > ?"], list[object]([after_seq])
    if topic is not None:
        conditions.append("topic = ?")
        values.append(topic)
    if eid is not None:
        conditions.append("eid = ?")
        values.append(str(eid))
    sql = (
        "SELECT seq, topic, eid, fid, at, by, data FROM announcements "
        f"WHERE {' AND '.join(conditions)} ORDER BY seq LIMIT ?"
    )
    return [announcement(row) for row in db.execute(sql, (*values, limit)).fetchall()]


def acts(db: sqlite3.Connection, eid: Eid | None, after_seq: int, limit: int) -> list[Act]:
    """What operators did, in the order of the control log."""
    condition, values = ("AND eid = ?", (str(eid),)) if eid is not None else ("", ())
    sql = f"SELECT seq, eid, verb, reason, key, at, by FROM acts WHERE seq > ? {condition} ORDER BY seq LIMIT ?"
    return [act(row) for row in db.execute(sql, (after_seq, *values, limit)).fetchall()]


def _where(wanted: Filter) -> tuple[list[str], list[object]]:
    conditions: list[str] = []
    values: list[object] = []
    if wanted.status:
        conditions.append(f"status IN ({', '.join('?' * len(wanted.status))})")
        values.extend(status.value for status in wanted.status)
    plain = (
        ("workflow = ?", wanted.workflow),
        ("version = ?", wanted.version),
        ("queue = ?", wanted.queue),
        ("parent_eid = ?", None if wanted.parent is None else str(wanted.parent)),
        ("dispatch_key = ?", wanted.key),
        ("created_at > ?", None if wanted.created_after is None else str(wanted.created_after)),
        ("created_at < ?", None if wanted.created_before is None else str(wanted.created_before)),
    )
    for condition, value in plain:
        if value is not None:
            conditions.append(condition)
            values.append(value)
    if wanted.text:
        pattern = "%" + wanted.text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") + "%"
        columns = ("eid", "workflow", "dispatch_key", "reason", "error")
        parts = [f"{column} LIKE ? ESCAPE '\\'" for column in columns]
        parts.append("eid IN (SELECT eid FROM attributes WHERE value LIKE ? ESCAPE '\\')")
        conditions.append(f"({' OR '.join(parts)})")
        values.extend([pattern] * len(parts))
    return conditions, values


@dataclass(frozen=True, slots=True)
class _Side:
    """A condition that an index of its own answers.

    Where few executions fulfil it, they are looked up there; where many do, the newest ones are tried one by one until
    the page is full. Each is slow where the other one is fast.

    Attributes:
        few: finds their ids.
        many: holds for one of them.
    """

    few: str
    many: str
    values: tuple[object, ...]

    def condition(self, db: sqlite3.Connection) -> tuple[str, tuple[object, ...]]:
        (count,) = db.execute(f"SELECT count(*) FROM ({self.few} LIMIT {_FEW})", self.values).fetchone()
        return (f"eid IN ({self.few})" if count < _FEW else self.many), self.values


def _sides(wanted: Filter) -> list[_Side]:
    sides: list[_Side] = []
    if wanted.waiting_on is not None:
        condition, about = _waits(wanted.waiting_on)
        sides.append(_of_table("waits", condition, about))
    for name, scalar in wanted.attributes.items():
        sides.append(_of_table("attributes", "name = ? AND value = ?", [name, as_json(scalar)]))
    updated = ((">", wanted.updated_after), ("<", wanted.updated_before))
    given = [(f"updated_at {sign} ?", str(instant)) for sign, instant in updated if instant is not None]
    if given:
        condition = " AND ".join(one for one, _ in given)
        few = f"SELECT eid FROM executions INDEXED BY executions_by_update WHERE {condition}"
        sides.append(_Side(few, condition.replace("updated_at", "+updated_at"), tuple(value for _, value in given)))
    if wanted.prefix is not None:
        limits = (wanted.prefix, f"{wanted.prefix}g")  # what follows every hexadecimal digit
        few = "SELECT eid FROM executions WHERE eid >= ? AND eid < ?"
        sides.append(_Side(few, "+eid >= ? AND +eid < ?", limits))
    return sides


def _of_table(table: str, condition: str, values: Sequence[object]) -> _Side:
    few = f"SELECT eid FROM {table} WHERE {condition}"
    many = f"EXISTS (SELECT 1 FROM {table} side WHERE side.eid = executions.eid AND {condition})"
    return _Side(few, many, tuple(values))


def _waits(text: str) -> tuple[str, list[object]]:
    kind, colon, about = text.partition(":")
    if kind not in _KINDS:
        return "about = ?", [text]
    return ("kind = ? AND about = ?", [kind, about]) if colon else ("kind = ?", [kind])


def _rows(db: sqlite3.Connection, found: Sequence[tuple[object, ...]]) -> list[ExecutionRow]:
    attributes: defaultdict[object, dict[str, Scalar]] = defaultdict(dict)
    if found:
        marks = ", ".join("?" * len(found))
        sql = f"SELECT eid, name, value FROM attributes WHERE eid IN ({marks}) ORDER BY name"
        for eid, name, value in db.execute(sql, [row[0] for row in found]).fetchall():
            attributes[eid][name] = orjson.loads(value)
    return [execution_row(row, attributes.get(row[0], {})) for row in found]


def _cursor(row: ExecutionRow) -> str:
    return f"{row.created_at}.{row.eid}"


def _parse_cursor(cursor: str) -> tuple[str, str]:
    try:
        return str(Timestamp.parse(cursor[:27])), str(parse_eid(cursor[28:]))
    except (ValueError, InvalidName) as error:
        raise InvalidValue("cursor", f"{cursor!r} was not given by an earlier page ({error})") from error
