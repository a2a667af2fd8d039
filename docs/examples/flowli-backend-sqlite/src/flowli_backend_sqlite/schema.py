"""The tables. A column stands for what a query looks at; the rest of an object is JSON in ``body``."""

from __future__ import annotations

VERSION = 1

TABLES = (
    """CREATE TABLE journal (
        eid TEXT, number INTEGER, epoch INTEGER, writer TEXT, first_seq INTEGER, last_seq INTEGER, body BLOB,
        PRIMARY KEY (eid, number)) WITHOUT ROWID""",
    "CREATE TABLE journal_ends (eid TEXT PRIMARY KEY, number INTEGER, epoch INTEGER, last_seq INTEGER) WITHOUT ROWID",
    "CREATE TABLE control (number INTEGER PRIMARY KEY, first_seq INTEGER, last_seq INTEGER, body BLOB)",
    """CREATE TABLE control_state (
        one INTEGER PRIMARY KEY CHECK (one = 1), commits INTEGER, seq INTEGER,
        kept_commits INTEGER, kept_seq INTEGER, kept_seqs BLOB, kept BLOB)""",
    "INSERT INTO control_state VALUES (1, 0, 0, 0, 0, '[]', '[]')",
    "CREATE TABLE leases (eid TEXT PRIMARY KEY, token TEXT, changed_s REAL, process TEXT, body BLOB) WITHOUT ROWID",
    "CREATE TABLE claims (key TEXT PRIMARY KEY, token TEXT, body BLOB) WITHOUT ROWID",
    "CREATE TABLE starts (key TEXT PRIMARY KEY, token TEXT, body BLOB) WITHOUT ROWID",
    """CREATE TABLE tasks (
        queue TEXT, state TEXT CHECK (state IN ('ready', 'delayed', 'dead')),
        priority INTEGER, cause_us INTEGER, task_id TEXT, target TEXT, not_before_us INTEGER, body BLOB,
        holder TEXT, process TEXT, epoch INTEGER DEFAULT 0, ttl_s REAL DEFAULT 0, deaths INTEGER DEFAULT 0,
        changed_s REAL DEFAULT 0, free_at_s REAL DEFAULT 0, cause TEXT, died_us INTEGER,
        PRIMARY KEY (queue, state, priority, cause_us, task_id)) WITHOUT ROWID""",
    "CREATE INDEX tasks_due ON tasks (queue, not_before_us) WHERE state = 'delayed'",
    "CREATE TABLE takes (queue TEXT, at_s REAL)",
    "CREATE TABLE queue_settings (queue TEXT PRIMARY KEY, body BLOB) WITHOUT ROWID",
    "CREATE TABLE channels (name TEXT PRIMARY KEY, sent INTEGER, trimmed INTEGER) WITHOUT ROWID",
    "CREATE TABLE messages (channel TEXT, seq INTEGER, body BLOB, PRIMARY KEY (channel, seq)) WITHOUT ROWID",
    "CREATE TABLE waits (channel TEXT, eid TEXT, epoch INTEGER, body BLOB, PRIMARY KEY (channel, eid)) WITHOUT ROWID",
    "CREATE TABLE timers (timer_id TEXT PRIMARY KEY, body BLOB) WITHOUT ROWID",
    "CREATE TABLE executions (eid TEXT PRIMARY KEY, body BLOB) WITHOUT ROWID",
    "CREATE TABLE archives (eid TEXT PRIMARY KEY, body BLOB) WITHOUT ROWID",
    "CREATE TABLE evidence (eid TEXT, name TEXT, data BLOB, PRIMARY KEY (eid, name)) WITHOUT ROWID",
)
