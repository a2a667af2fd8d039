"""The questions, as SQL. Each runs in one reading thread and sees one transaction."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import orjson

from flowli.adapters.projection.fold import as_json
from flowli.adapters.projection.rows import (
    COLUMNS,
    Act,
    Announcement,
    ExecutionRow,
    Page,
    act,
    announcement,
    execution_row,
)
from flowli.domain.data import Scalar
from flowli.domain.errors import InvalidName, InvalidValue
from flowli.domain.execution import ExecutionStatus
from flowli.domain.ids import Eid, parse_eid
from flowli.timestamp import Timestamp

__all__ = ["Filter", "acts", "announcements", "children", "counts", "execution", "executions"]


@dataclass(frozen=True, slots=True)
class Filter:
    """Which executions are asked for; every field that is given must hold.

    Attributes:
        status: any of these.
        attributes: names with the values that they must have.
        created_after, created_before: not the instant itself.
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


def executions(db: sqlite3.Connection, wanted: Filter, limit: int, cursor: str | None) -> Page:
    """One page, the newest first."""
    conditions, values = _where(wanted)
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
    for name, scalar in wanted.attributes.items():
        conditions.append("eid IN (SELECT eid FROM attributes WHERE name = ? AND value = ?)")
        values.extend((name, as_json(scalar)))
    if wanted.text:
        pattern = "%" + wanted.text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") + "%"
        columns = ("eid", "workflow", "dispatch_key", "reason", "error")
        parts = [f"{column} LIKE ? ESCAPE '\\'" for column in columns]
        parts.append("eid IN (SELECT eid FROM attributes WHERE value LIKE ? ESCAPE '\\')")
        conditions.append(f"({' OR '.join(parts)})")
        values.extend([pattern] * len(parts))
    return conditions, values


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
