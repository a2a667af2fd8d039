"""``WorkflowProjection``: the control log as tables of a local SQLite file, for lists, counts and searches."""

from __future__ import annotations

from flowli.adapters.projection.rows import Act, Announcement, ExecutionRow, Latency, Page
from flowli.adapters.projection.snapshots import WrittenSnapshot, snapshot_due, write_snapshot
from flowli.adapters.projection.workflow import WorkflowProjection

__all__ = [
    "Act",
    "Announcement",
    "ExecutionRow",
    "Latency",
    "Page",
    "WorkflowProjection",
    "WrittenSnapshot",
    "snapshot_due",
    "write_snapshot",
]
