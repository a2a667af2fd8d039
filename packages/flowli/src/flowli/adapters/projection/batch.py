"""``Batch``: the rows that some entries are about, read once, changed in memory and written once.

One execution has several entries within a moment. Written one by one each of them would move its row in most indexes;
so a row is moved once for all that a batch says of it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields
from operator import attrgetter
from typing import cast

from flowli.timestamp import Timestamp

__all__ = ["Batch", "Row"]

_ASKED = 500


@dataclass(slots=True)
class Row:
    """A row of ``executions``; the fields are its columns."""

    eid: str
    created_at: str
    created_us: int
    updated_at: str
    workflow: str = ""
    version: str = ""
    version_seq: int = 0
    args_digest: str = ""
    queue: str = ""
    priority: int | None = None
    parent_eid: str | None = None
    parent_fid: str | None = None
    dispatch_key: str | None = None
    origin: str | None = None
    created_by: str | None = None
    started_at: str | None = None
    ended_at: str | None = None
    ended_us: int | None = None
    archived_at: str | None = None
    status: str = "pending"
    epoch: int = 0
    journal_seq: int = 0
    waits_on: str | None = None
    reason: str = ""
    error: str | None = None
    erased: int = 0


_NAMES = tuple(one.name for one in fields(Row))
_COLUMNS = ", ".join(_NAMES)
_READ = f"SELECT {_COLUMNS} FROM executions WHERE eid IN "
_WRITE = f"INSERT OR REPLACE INTO executions ({_COLUMNS}) VALUES ({', '.join('?' * len(_NAMES))})"
_values = cast("attrgetter[tuple[object, ...]]", attrgetter(*_NAMES))
_SET = "INSERT INTO attributes VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET value = excluded.value"
_UNSET = "DELETE FROM attributes WHERE eid = ? AND name = ?"
_NO_ATTRIBUTES = "DELETE FROM attributes WHERE eid = ?"
_NO_WAITS = "DELETE FROM waits WHERE eid = ?"
_WAITS = "INSERT OR IGNORE INTO waits VALUES (?, ?, ?)"
_ANNOUNCED = "INSERT OR IGNORE INTO announcements VALUES (?, ?, ?, ?, ?, ?, ?)"
_NO_DATA = "UPDATE announcements SET data = 'null' WHERE eid = ?"
_ACTED = "INSERT OR IGNORE INTO acts VALUES (?, ?, ?, ?, ?, ?, ?)"


@dataclass(slots=True)
class Batch:
    """What some entries change.

    Attributes:
        rows: by execution.
        touched: those of them that may have changed.
        waits: for each execution whose status changed, what it waits on: kinds, and what they are about.
        attributes: by execution and name; None where one was removed.
        announced, acts: further rows.
    """

    rows: dict[str, Row] = field(default_factory=dict)
    touched: dict[str, Row] = field(default_factory=dict)
    waits: dict[str, Sequence[tuple[str, str]]] = field(default_factory=dict)
    attributes: dict[tuple[str, str], str | None] = field(default_factory=dict)
    announced: list[tuple[object, ...]] = field(default_factory=list)
    acts: list[tuple[object, ...]] = field(default_factory=list)

    def load(self, db: sqlite3.Connection, eids: Iterable[str]) -> None:
        """Read the rows of these executions, as far as there are any."""
        wanted = list(dict.fromkeys(eids))
        for at in range(0, len(wanted), _ASKED):
            some = wanted[at : at + _ASKED]
            for found in db.execute(f"{_READ} ({', '.join('?' * len(some))})", some):
                self.rows[found[0]] = Row(*found)

    def row(self, eid: str, at: Timestamp) -> Row:
        """The row of an execution; one that is mentioned for the first time was created by then."""
        row = self.rows.get(eid)
        if row is None:
            text = str(at)
            row = self.rows[eid] = Row(eid, text, at.us, text)
        self.touched[eid] = row
        return row

    def write(self, db: sqlite3.Connection) -> None:
        """Write everything, within the caller's transaction."""
        _many(db, _WRITE, [_values(row) for row in self.touched.values()])
        _many(db, _NO_WAITS, [(eid,) for eid in self.waits])
        _many(db, _WAITS, [(eid, *wait) for eid, waits in self.waits.items() for wait in waits])
        given = self.attributes.items()
        _many(db, _UNSET, [name for name, value in given if value is None])
        _many(db, _SET, [(*name, value) for name, value in given if value is not None])
        _many(db, _ANNOUNCED, self.announced)
        _many(db, _ACTED, self.acts)
        erased = [(eid,) for eid, row in self.rows.items() if row.erased]
        for statement in (_NO_ATTRIBUTES, _NO_DATA, _NO_WAITS):
            _many(db, statement, erased)


def _many(db: sqlite3.Connection, statement: str, values: Sequence[tuple[object, ...]]) -> None:
    if values:
        db.executemany(statement, values)
