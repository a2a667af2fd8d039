"""The tables. Another version of them, or another rule of the fold, is another ``VERSION``: the file is built anew."""

from __future__ import annotations

import sqlite3

__all__ = ["VERSION", "create"]

VERSION = 4

_TABLES = """
CREATE TABLE executions (
    eid TEXT PRIMARY KEY,
    workflow TEXT NOT NULL DEFAULT '',
    version TEXT NOT NULL DEFAULT '',
    version_seq INTEGER NOT NULL DEFAULT 0,
    args_digest TEXT NOT NULL DEFAULT '',
    queue TEXT NOT NULL DEFAULT '',
    priority INTEGER,
    parent_eid TEXT,
    parent_fid TEXT,
    dispatch_key TEXT,
    origin TEXT,
    created_by TEXT,
    created_at TEXT NOT NULL,
    started_at TEXT,
    updated_at TEXT NOT NULL,
    ended_at TEXT,
    created_us INTEGER NOT NULL,
    ended_us INTEGER,
    archived_at TEXT,
    status TEXT NOT NULL DEFAULT 'pending',
    epoch INTEGER NOT NULL DEFAULT 0,
    journal_seq INTEGER NOT NULL DEFAULT 0,
    waits_on TEXT,
    reason TEXT NOT NULL DEFAULT '',
    error TEXT,
    erased INTEGER NOT NULL DEFAULT 0,
    took_us INTEGER AS (CASE WHEN status = 'completed' AND origin IS NULL THEN ended_us - created_us END) VIRTUAL
) WITHOUT ROWID;
CREATE INDEX executions_by_creation ON executions (created_at, eid);
CREATE INDEX executions_by_update ON executions (updated_at, eid);
CREATE INDEX executions_by_version ON executions (version, created_at, eid);
CREATE INDEX executions_by_time ON executions (workflow, took_us) WHERE took_us IS NOT NULL;
CREATE INDEX executions_by_status ON executions (status, created_at, eid);
CREATE INDEX executions_by_workflow ON executions (workflow, created_at, eid);
CREATE INDEX executions_by_queue ON executions (queue, created_at, eid);
CREATE INDEX executions_by_parent ON executions (parent_eid) WHERE parent_eid IS NOT NULL;
CREATE INDEX executions_by_key ON executions (dispatch_key) WHERE dispatch_key IS NOT NULL;

CREATE TABLE waits (
    eid TEXT NOT NULL,
    kind TEXT NOT NULL,
    about TEXT NOT NULL,
    PRIMARY KEY (eid, kind, about)
) WITHOUT ROWID;
CREATE INDEX waits_by_kind ON waits (kind, about, eid);
CREATE INDEX waits_by_about ON waits (about, eid);

CREATE TABLE attributes (
    eid TEXT NOT NULL,
    name TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (eid, name)
) WITHOUT ROWID;
CREATE INDEX attributes_by_value ON attributes (name, value, eid);

CREATE TABLE announcements (
    seq INTEGER PRIMARY KEY,
    topic TEXT NOT NULL,
    eid TEXT,
    fid TEXT,
    at TEXT NOT NULL,
    by TEXT NOT NULL,
    data TEXT NOT NULL
);
CREATE INDEX announcements_by_topic ON announcements (topic, seq);
CREATE UNIQUE INDEX announcements_by_frame ON announcements (eid, fid) WHERE fid IS NOT NULL;

CREATE TABLE acts (
    seq INTEGER PRIMARY KEY,
    eid TEXT,
    verb TEXT NOT NULL,
    reason TEXT NOT NULL,
    key TEXT,
    at TEXT NOT NULL,
    by TEXT NOT NULL
);
CREATE INDEX acts_by_execution ON acts (eid, seq);
"""


def create(db: sqlite3.Connection) -> None:
    """Make the tables, within the caller's transaction."""
    for statement in _TABLES.split(";"):
        if statement.strip():
            db.execute(statement)
