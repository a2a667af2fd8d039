"""Folding one entry of the control log into the tables.

An entry may come twice, and the entries of one execution in any order.

* Of the twins of one execution the one with the greatest ``journal_seq`` counts; a terminal status is never left.
* ``execution.created`` may come after the twins of its execution, or never.
* The version is that of the twin with the greatest ``journal_seq`` that names one.
* An announcement of a frame counts once. Erasing an execution drops what its entries said in values and words.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from typing import assert_never

from flowli.adapters.projection import schema
from flowli.codec import canonical, dump
from flowli.domain.control_entries import (
    Announced,
    AttributesSet,
    ControlEntry,
    ExecutionArchived,
    ExecutionCreated,
    OperatorActed,
    StatusChanged,
    TaskEnqueued,
)
from flowli.domain.data import Data, Scalar
from flowli.domain.entries import ExecutionErased, ExecutionStarted, ExecutionSuspended
from flowli.domain.execution import ExecutionStatus
from flowli.domain.ids import Eid
from flowli.domain.provenance import Actor
from flowli.domain.unknown import UnknownBody
from flowli.domain.waits import On, OnChannel, OnChild, OnOperator, OnStep, OnTimer
from flowli.timestamp import Timestamp

__all__ = ["ControlFold", "as_json"]

_SEEN = """
INSERT INTO executions (eid, created_at, created_us, updated_at) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING
"""
_CREATED = """
UPDATE executions SET
    workflow = :workflow, args_digest = :args_digest, queue = :queue, priority = :priority, parent_eid = :parent_eid,
    parent_fid = :parent_fid, dispatch_key = :dispatch_key, origin = :origin, created_by = :created_by,
    created_at = :created_at, created_us = :created_us,
    version = CASE WHEN version_seq = 0 THEN :version ELSE version END
WHERE eid = :eid
"""
_VERSION = "UPDATE executions SET version = ?, version_seq = ? WHERE eid = ? AND version_seq < ?"
_STATUS = f"""
UPDATE executions SET
    status = :status, epoch = :epoch, journal_seq = :journal_seq, waits_on = :waits_on, reason = :reason,
    error = :error, updated_at = :at, ended_at = CASE WHEN :terminal THEN :at END,
    ended_us = CASE WHEN :terminal THEN :at_us END
WHERE eid = :eid AND journal_seq < :journal_seq
    AND status NOT IN ({", ".join(f"'{status}'" for status in ExecutionStatus if status.terminal)})
"""
_STARTED = "UPDATE executions SET started_at = ? WHERE eid = ? AND started_at IS NULL"
_ARCHIVED = "UPDATE executions SET archived_at = ? WHERE eid = ? AND archived_at IS NULL"
_ERASED = """
UPDATE executions SET erased = 1, reason = '', waits_on = NULL,
    error = CASE WHEN error IS NULL THEN NULL ELSE json_set(error, '$.message', '') END
WHERE eid = ?
"""
_WAITS_NO_MORE = "DELETE FROM waits WHERE eid = ?"
_WAITS = "INSERT OR IGNORE INTO waits VALUES (?, ?, ?)"
_ERASED_ANNOUNCEMENTS = "UPDATE announcements SET data = 'null' WHERE eid = ?"
_SET = "INSERT INTO attributes VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET value = excluded.value"
_UNSET = "DELETE FROM attributes WHERE eid = ? AND name = ?"
_ANNOUNCED = "INSERT OR IGNORE INTO announcements VALUES (?, ?, ?, ?, ?, ?, ?)"
_ACTED = "INSERT OR IGNORE INTO acts VALUES (?, ?, ?, ?, ?, ?, ?)"


class ControlFold:
    """The fold as a projection takes it."""

    @property
    def name(self) -> str:
        """What it is called."""
        return "control"

    @property
    def version(self) -> int:
        """Of the tables and of the rules above."""
        return schema.VERSION

    def create(self, db: sqlite3.Connection) -> None:
        """Make the tables."""
        schema.create(db)

    def apply(self, db: sqlite3.Connection, entry: ControlEntry) -> None:
        """Fold one entry."""
        _apply(db, entry)


def _apply(db: sqlite3.Connection, entry: ControlEntry) -> None:
    at = str(entry.at)
    match entry.body:
        case ExecutionCreated() as body:
            _created(db, body, entry)
        case StatusChanged() as body:
            _status(db, body, entry.at)
        case ExecutionArchived(eid):
            _seen(db, eid, entry.at)
            db.execute(_ARCHIVED, (at, str(eid)))
        case AttributesSet(eid, attributes):
            _seen(db, eid, entry.at)
            _attributes(db, eid, attributes)
        case Announced(topic, data, eid, fid):
            whose = None if eid is None else str(eid)
            db.execute(_ANNOUNCED, (entry.seq, topic, whose, fid, at, _actor(entry), as_json(data)))
        case OperatorActed(verb, eid, reason, key):
            whose = None if eid is None else str(eid)
            db.execute(_ACTED, (entry.seq, whose, verb, reason, key, at, _actor(entry)))
        case TaskEnqueued() | UnknownBody():
            # for the queue itself, and for a newer version's own fold
            return


def as_json(value: Data) -> str:
    """The text by which a value is stored and compared."""
    return canonical(value).decode()


def _created(db: sqlite3.Connection, body: ExecutionCreated, entry: ControlEntry) -> None:
    _seen(db, body.eid, body.created_at)
    db.execute(
        _CREATED,
        {
            "eid": str(body.eid),
            "workflow": body.workflow,
            "version": body.version,
            "args_digest": body.args_digest,
            "queue": body.queue,
            "priority": body.priority,
            "parent_eid": None if body.parent is None else str(body.parent.eid),
            "parent_fid": None if body.parent is None else body.parent.fid,
            "dispatch_key": body.dispatch_key,
            "origin": None if body.origin is None else as_json(dump(body.origin)),
            "created_by": _actor(entry),
            "created_at": str(body.created_at),
            "created_us": body.created_at.us,
        },
    )


def _status(db: sqlite3.Connection, body: StatusChanged, at: Timestamp) -> None:
    eid = str(body.eid)
    _seen(db, body.eid, at)
    if body.version is not None:
        db.execute(_VERSION, (body.version, body.journal_seq, eid, body.journal_seq))
    if body.entry == ExecutionStarted.tag:
        db.execute(_STARTED, (str(at), eid))
    if body.entry == ExecutionErased.tag:
        db.execute(_ERASED, (eid,))
        db.execute(_ERASED_ANNOUNCEMENTS, (eid,))
        return
    changed = db.execute(
        _STATUS,
        {
            "eid": eid,
            "status": body.status.value,
            "terminal": body.status.terminal,
            "epoch": body.epoch,
            "journal_seq": body.journal_seq,
            "waits_on": as_json(dump(ExecutionSuspended(body.on, body.epoch))) if body.on else None,
            "reason": body.reason,
            "error": None if body.error is None else as_json(dump(body.error)),
            "at": str(at),
            "at_us": at.us,
        },
    )
    if changed.rowcount:
        db.execute(_WAITS_NO_MORE, (eid,))
        db.executemany(_WAITS, [(eid, on.tag, _about(on)) for on in body.on])


def _about(on: On) -> str:
    """What people ask for when they look for who waits on it."""
    match on:
        case OnChannel(channel):
            return channel.rpartition(".")[2]
        case OnTimer(due_at):
            return str(due_at)
        case OnChild(eid):
            return str(eid)
        case OnStep(fid):
            return fid.removeprefix("root/")
        case OnOperator(cause):
            return cause
        case _:
            assert_never(on)


def _attributes(db: sqlite3.Connection, eid: Eid, attributes: Mapping[str, Scalar]) -> None:
    for name, value in attributes.items():
        if value is None:
            db.execute(_UNSET, (str(eid), name))
        else:
            db.execute(_SET, (str(eid), name, as_json(value)))


def _seen(db: sqlite3.Connection, eid: Eid, at: Timestamp) -> None:
    db.execute(_SEEN, (str(eid), str(at), at.us, str(at)))


def _actor(entry: ControlEntry) -> str:
    actor: Actor = entry.by.actor
    return as_json(dump(actor))
