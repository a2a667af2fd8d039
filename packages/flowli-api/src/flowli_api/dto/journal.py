"""Journals and frames. Without ``values:read`` what workflows compute with is left out."""

from __future__ import annotations

from typing import cast

from pydantic import Field, JsonValue

from flowli import codec
from flowli.domain.entries import JournalEntry
from flowli.domain.memo import AttemptView, Frame, JournalFold
from flowli_api.dto.base import Out
from flowli_api.dto.common import ActorOut, ErrorOut, instant, waits

__all__ = ["AttemptOut", "EntryOut", "FrameOut", "FramesOut", "JournalOut"]

_VALUES = ("value", "args")


class EntryOut(Out):
    """One entry of a journal."""

    seq: int = Field(examples=[4])
    tag: str = Field(examples=["frame.completed"])
    at: str
    by: ActorOut
    worker_id: str
    epoch: int
    attempt: int = 0
    body: dict[str, JsonValue] = Field(examples=[{"fid": "root/charge#1", "attempt": 1, "value": "paid"}])

    @classmethod
    def of(cls, entry: JournalEntry, values: bool) -> EntryOut:
        """From the domain.

        Args:
            values: the caller may see them.
        """
        body = cast("dict[str, JsonValue]", {**cast("dict[str, object]", codec.dump(entry)["body"])})
        tag = str(body.pop("tag"))
        return cls(
            seq=entry.seq,
            tag=tag,
            at=str(entry.at),
            by=ActorOut.by(entry.by),
            worker_id=entry.by.site.worker_id,
            epoch=entry.by.site.epoch,
            attempt=entry.by.attempt,
            body=body if values else cast("dict[str, JsonValue]", _without(body)),
        )


class JournalOut(Out):
    """A stretch of a journal."""

    eid: str
    entries: list[EntryOut]
    next_after: int | None = Field(default=None, description="Give it as `after` to go on; null if nothing followed.")
    values_hidden: bool = False


class AttemptOut(Out):
    """One attempt of a frame."""

    number: int
    started_at: str
    ended_at: str | None = None
    error: ErrorOut | None = None

    @classmethod
    def of(cls, attempt: AttemptView, values: bool) -> AttemptOut:
        """From the fold."""
        return cls(
            number=attempt.number,
            started_at=str(attempt.started_at),
            ended_at=instant(attempt.ended_at),
            error=ErrorOut.of(attempt.error, values),
        )


class FrameOut(Out):
    """One frame: a node of the stack."""

    fid: str = Field(examples=["root/charge#1"])
    parent: str | None = Field(default=None, examples=["root"])
    kind: str = Field(examples=["step"])
    name: str = Field(examples=["charge"])
    status: str = Field(examples=["completed"])
    started_at: str
    ended_at: str | None = None
    started_seq: int
    outcome_seq: int | None = None
    attempts: list[AttemptOut] = Field(default=[])
    waits_on: dict[str, JsonValue] | None = None
    due_at: str | None = None
    message_seq: int | None = None
    metadata: dict[str, JsonValue] = Field(default={})
    value: JsonValue = None
    error: ErrorOut | None = None
    why: str = ""

    @classmethod
    def of(cls, frame: Frame, values: bool) -> FrameOut:
        """From the fold."""
        return cls(
            fid=frame.fid,
            parent=frame.fid.rpartition("/")[0] or None,
            kind=frame.kind.value,
            name=frame.name,
            status=frame.status.value,
            started_at=str(frame.started_at),
            ended_at=instant(frame.ended_at),
            started_seq=frame.started_seq,
            outcome_seq=frame.outcome_seq,
            attempts=[AttemptOut.of(one, values) for one in frame.attempts],
            waits_on=None if frame.waits_on is None else waits((frame.waits_on,))[0],
            due_at=instant(frame.due_at),
            message_seq=frame.message_seq,
            metadata=frame.metadata,
            value=frame.value if values else None,
            error=ErrorOut.of(frame.error, values),
            why=frame.why,
        )


class FramesOut(Out):
    """The frames of an execution, in the order of their start, and what does not fit in its journal."""

    eid: str
    status: str
    seq: int = Field(description="Of the last journal entry that is taken into account.")
    frames: list[FrameOut]
    anomalies: list[dict[str, JsonValue]] = Field(default=[])
    values_hidden: bool = False

    @classmethod
    def of(cls, eid: object, fold: JournalFold, values: bool) -> FramesOut:
        """From the fold."""
        return cls(
            eid=str(eid),
            status=fold.status.value,
            seq=fold.seq,
            frames=[FrameOut.of(frame, values) for frame in fold.frames.values()],
            anomalies=[{"seq": one.seq, "problem": one.problem} for one in fold.anomalies],
            values_hidden=not values,
        )


def _without(body: object) -> object:
    """The same without arguments, values and tracebacks, at any depth of an entry."""
    if isinstance(body, dict):
        return {name: _without(value) for name, value in body.items() if name not in (*_VALUES, "traceback")}
    return [_without(one) for one in body] if isinstance(body, list) else body
