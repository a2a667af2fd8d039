"""Folding entries of the control log into the tables.

An entry may come twice, and the entries of one execution in any order.

* Of the twins of one execution the one with the greatest ``journal_seq`` counts; a terminal status is never left.
* ``execution.created`` may come after the twins of its execution, or never.
* The version is that of the twin with the greatest ``journal_seq`` that names one.
* An announcement of a frame counts once.
* Of an erased execution nothing is kept that its entries said in values and words, whenever they come.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from functools import lru_cache
from typing import assert_never

import orjson

from flowli.adapters.projection import schema
from flowli.adapters.projection.batch import Batch, Row
from flowli.codec import canonical, dump
from flowli.domain.control_entries import (
    Announced,
    AttributesSet,
    ControlBody,
    ControlEntry,
    ExecutionArchived,
    ExecutionCreated,
    OperatorActed,
    StatusChanged,
    TaskEnqueued,
)
from flowli.domain.data import Data
from flowli.domain.entries import ExecutionErased, ExecutionStarted, ExecutionSuspended
from flowli.domain.execution import ExecutionStatus
from flowli.domain.ids import Eid
from flowli.domain.provenance import Actor
from flowli.domain.unknown import UnknownBody
from flowli.domain.waits import On, OnChannel, OnChild, OnOperator, OnStep, OnTimer
from flowli.timestamp import Timestamp

__all__ = ["ControlFold", "as_json"]

_TERMINAL = frozenset(status.value for status in ExecutionStatus if status.terminal)


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

    def apply(self, db: sqlite3.Connection, entries: Sequence[ControlEntry]) -> None:
        """Fold entries in their order."""
        batch = Batch()
        batch.load(db, (str(eid) for entry in entries if (eid := _whose(entry.body)) is not None))
        for entry in entries:
            _take(batch, entry)
        batch.write(db)


def as_json(value: Data) -> str:
    """The text by which a value is stored and compared."""
    return canonical(value).decode()


def _whose(body: ControlBody) -> Eid | None:
    return None if isinstance(body, UnknownBody) else body.eid


def _take(batch: Batch, entry: ControlEntry) -> None:
    match entry.body:
        case StatusChanged() as body:
            _status(batch, body, entry.at)
        case ExecutionCreated() as body:
            _created(batch, body, entry)
        case AttributesSet(eid, attributes):
            if entry.is_late(batch.row(str(eid), entry.at).epoch):
                return
            for name, value in attributes.items():
                batch.attributes[str(eid), name] = None if value is None else as_json(value)
        case ExecutionArchived(eid):
            row = batch.row(str(eid), entry.at)
            row.archived_at = row.archived_at or str(entry.at)
        case Announced(topic, data, eid, fid):
            whose = None if eid is None else str(eid)
            batch.announced.append((entry.seq, topic, whose, fid, str(entry.at), _actor(entry), as_json(data)))
        case OperatorActed(verb, eid, reason, key):
            whose = None if eid is None else str(eid)
            batch.acts.append((entry.seq, whose, verb, reason, key, str(entry.at), _actor(entry)))
        case TaskEnqueued() | UnknownBody():
            # for the queue itself, and for a newer version's own fold
            return


def _created(batch: Batch, body: ExecutionCreated, entry: ControlEntry) -> None:
    row = batch.row(str(body.eid), body.created_at)
    row.workflow, row.args_digest, row.queue, row.priority = body.workflow, body.args_digest, body.queue, body.priority
    row.parent_eid, row.parent_fid = (None, None) if body.parent is None else (str(body.parent.eid), body.parent.fid)
    row.dispatch_key = body.dispatch_key
    row.origin = None if body.origin is None else as_json(dump(body.origin))
    row.created_by = _actor(entry)
    row.created_at, row.created_us = str(body.created_at), body.created_at.us
    if row.version_seq == 0:
        row.version = body.version


def _status(batch: Batch, body: StatusChanged, at: Timestamp) -> None:
    row = batch.row(str(body.eid), at)
    if body.version is not None and row.version_seq < body.journal_seq:
        row.version, row.version_seq = body.version, body.journal_seq
    if body.entry == ExecutionStarted.tag:
        row.started_at = row.started_at or str(at)
    if body.entry == ExecutionErased.tag:
        row.erased, row.waits_on = 1, None
        _silence(row)
        return
    if row.journal_seq >= body.journal_seq or row.status in _TERMINAL:
        return
    row.status, row.epoch, row.journal_seq = body.status.value, body.epoch, body.journal_seq
    row.waits_on = as_json(dump(ExecutionSuspended(body.on, body.epoch))) if body.on else None
    row.reason = body.reason
    row.error = None if body.error is None else as_json(dump(body.error))
    row.updated_at = str(at)
    row.ended_at, row.ended_us = (row.updated_at, at.us) if body.status.terminal else (None, None)
    batch.waits[row.eid] = [(on.tag, _about(on)) for on in body.on]
    if row.erased:
        _silence(row)


def _silence(row: Row) -> None:
    """Drop the words of an erased execution."""
    row.reason = ""
    if row.error is not None:
        row.error = as_json({**orjson.loads(row.error), "message": ""})


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


def _actor(entry: ControlEntry) -> str:
    return _actor_text(entry.by.actor)


@lru_cache(maxsize=256)
def _actor_text(actor: Actor) -> str:
    return as_json(dump(actor))
