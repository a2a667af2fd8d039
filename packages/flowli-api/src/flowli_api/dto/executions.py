"""Executions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field, JsonValue

from flowli import codec
from flowli.domain.data import Data
from flowli_api.dto.base import Out
from flowli_api.dto.common import ActorOut, ErrorOut, FrameRefOut, instant, waits

if TYPE_CHECKING:
    from flowli.adapters.projection import ExecutionRow
    from flowli.runtime.engine import ExecutionView

__all__ = ["ExecutionOut", "ExecutionPage", "ExecutionSummary", "OwnerOut"]


class ExecutionSummary(Out):
    """One execution in a list. It holds no values."""

    eid: str = Field(examples=["0197a1b2-0000-7000-8000-000000000000"])
    workflow: str = Field(examples=["invoice_approval"])
    version: str = Field(examples=["1"])
    status: str = Field(examples=["suspended"])
    queue: str = Field(examples=["default"])
    priority: int = Field(default=50, examples=[50])
    key: str | None = Field(default=None, examples=["INV-7"])
    created_at: str = Field(examples=["2026-01-31T23:59:59.000000Z"])
    updated_at: str | None = None
    started_at: str | None = None
    ended_at: str | None = None
    archived_at: str | None = None
    created_by: ActorOut | None = None
    parent: FrameRefOut | None = None
    origin: dict[str, JsonValue] | None = None
    epoch: int = 0
    journal_seq: int = 0
    waits_on: list[dict[str, JsonValue]] = Field(default=[])
    reason: str = ""
    error: ErrorOut | None = None
    attributes: dict[str, str | int | float | bool | None] = Field(default={})
    erased: bool = False

    @classmethod
    def of(cls, row: ExecutionRow) -> ExecutionSummary:
        """From the projection."""
        return cls.model_validate(_fields(row))


class OwnerOut(Out):
    """Who works on an execution now."""

    worker_id: str
    host: str
    pid: int
    region: str = ""


class ExecutionOut(ExecutionSummary):
    """One execution. ``args`` and ``value`` are null without ``values:read``; ``values_hidden`` says so."""

    owner: OwnerOut | None = None
    args: dict[str, JsonValue] | None = None
    value: JsonValue = None
    values_hidden: bool = False
    timeout_s: float | None = None

    @classmethod
    def seen(cls, view: ExecutionView, row: ExecutionRow | None, value: Data, values: bool) -> ExecutionOut:
        """From the journal, with the attributes of the projection.

        Args:
            value: of a completed one, as it is recorded.
            values: the caller may see them.
        """
        execution = view.execution
        fields = _fields(row) if row is not None else {}
        fields.update(
            eid=str(execution.eid),
            workflow=execution.workflow,
            version=view.version,
            status=view.status.value,
            queue=execution.queue,
            priority=execution.priority,
            key=execution.dispatch_key,
            created_at=str(view.created_at),
            ended_at=instant(view.ended_at),
            archived_at=instant(view.archived_at),
            created_by=ActorOut.by(execution.created_by),
            parent=FrameRefOut.of(execution.parent),
            origin=None if execution.origin is None else codec.dump(execution.origin),
            epoch=view.epoch,
            waits_on=waits(view.waits_on),
            reason=view.reason,
            error=ErrorOut.of(view.error, values),
            erased=view.erased,
        )
        owner = view.owner
        fields.update(
            owner=None
            if owner is None
            else OwnerOut(
                worker_id=owner.site.worker_id, host=owner.site.host, pid=owner.site.pid, region=owner.site.region
            ),
            args=execution.args if values and not view.erased else None,
            value=value if values and not view.erased else None,
            values_hidden=not values,
            timeout_s=execution.timeout_s,
        )
        return cls.model_validate(fields)


class ExecutionPage(Out):
    """Some executions, the newest first."""

    items: list[ExecutionSummary]
    next_cursor: str | None = Field(default=None, description="Where the next page begins; null after the last.")
    control_seq: int = Field(examples=[42], description="Up to where this process had read the control log.")


def _fields(row: ExecutionRow) -> dict[str, object]:
    return {
        "eid": str(row.eid),
        "workflow": row.workflow,
        "version": row.version,
        "status": row.status.value,
        "queue": row.queue,
        "priority": row.priority,
        "key": row.dispatch_key,
        "created_at": str(row.created_at),
        "updated_at": str(row.updated_at),
        "started_at": instant(row.started_at),
        "ended_at": instant(row.ended_at),
        "archived_at": instant(row.archived_at),
        "created_by": None if row.created_by is None else ActorOut.of(row.created_by),
        "parent": FrameRefOut.of(row.parent),
        "origin": None if row.origin is None else codec.dump(row.origin),
        "epoch": row.epoch,
        "journal_seq": row.journal_seq,
        "waits_on": waits(row.waits_on),
        "reason": row.reason,
        "error": ErrorOut.of(row.error),
        "attributes": dict(row.attributes),
        "erased": row.erased,
    }
