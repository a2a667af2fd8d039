"""Changes as CloudEvents 1.0, in JSON.

The schema is versioned in ``type`` (``flowli.execution.completed.v1``) and named in ``dataschema``: within a version
fields are only added.
"""

from __future__ import annotations

from flowli.domain.data import Data
from flowli.runtime.observe.events import ExecutionChanged
from flowli.runtime.observe.subscription import Delivered

__all__ = ["SCHEMA", "cloud_event", "event_type"]

SCHEMA = "urn:flowli:execution:v1"
"""``dataschema`` of every event."""


def event_type(changed: ExecutionChanged) -> str:
    """``flowli.execution.{change}.v1``."""
    return f"flowli.execution.{changed.change.value}.v1"


def cloud_event(one: Delivered, source: str) -> dict[str, Data]:
    """A change in structured mode.

    Args:
        source: names the installation, as a URI reference; with ``id`` it tells each event from every other one.
    """
    changed = one.change
    data: dict[str, Data] = {
        "eid": str(changed.eid),
        "change": changed.change.value,
        "workflow": changed.workflow,
        "version": changed.version,
        "queue": changed.queue,
        "epoch": changed.epoch,
        "journal_seq": changed.journal_seq,
        "reason": changed.reason,
    }
    if changed.error is not None:
        data["error"] = {"type": changed.error.type, "message": changed.error.message}
    return {
        "specversion": "1.0",
        "id": f"{changed.eid}/{changed.change.value}/{changed.journal_seq}",
        "source": source,
        "type": event_type(changed),
        "subject": str(changed.eid),
        "time": str(changed.at),
        "datacontenttype": "application/json",
        "dataschema": SCHEMA,
        "data": data,
    }
