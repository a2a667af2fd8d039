"""Bodies of writes on the control plane."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, JsonValue, model_validator

from flowli_api.dto.base import In
from flowli_api.params import WHOLE, BusinessKey, EidValue, FidText, Instant, Name, Reason, VersionText

__all__ = [
    "Act",
    "Broadcast",
    "Bulk",
    "BulkFilter",
    "DeadLetter",
    "Fork",
    "Limits",
    "Migrate",
    "Pause",
    "Remake",
    "Replay",
    "Signal",
    "Start",
    "Update",
]

Status = Literal["pending", "running", "suspended", "completed", "failed", "cancelled"]
_Priority = Annotated[int, Field(ge=0, le=99), WHOLE]
_Limit = Annotated[int, Field(gt=0, le=1_000_000), WHOLE]
_Text = Annotated[str, Field(min_length=1, max_length=200)]


class Start(In):
    """Start an execution."""

    workflow: Name = Field(examples=["invoice_approval"])
    version: VersionText | None = Field(default=None, description="The one registered last if absent.")
    args: list[JsonValue] = Field(default=[], max_length=100, description="Arguments by place, after the context.")
    kwargs: dict[str, JsonValue] = Field(default={}, max_length=100, examples=[{"invoice": "INV-7"}])
    key: BusinessKey | None = Field(default=None, description="Two starts with one business key are one execution.")
    on_conflict: Literal["join", "reject", "allow_after_finish", "replace"] = "join"
    queue: Name | None = None
    priority: _Priority | None = Field(default=None, description="0 first, 99 last.")
    timeout_s: float | None = Field(default=None, gt=0, le=3.2e9)


class Signal(In):
    """Send a message to an execution."""

    channel: Name = Field(examples=["payments"])
    payload: JsonValue = Field(default=None, examples=[{"paid": True}])
    correlation: _Text | None = None


class Broadcast(Signal):
    """Send a message to everyone who receives on a global channel."""


class Update(In):
    """Ask an execution for something and wait for its answer."""

    name: Name = Field(examples=["set_limit"])
    payload: JsonValue = None
    timeout_s: float = Field(default=10.0, gt=0, le=3600)


class Act(In):
    """An operator verb."""

    reason: Reason = Field(default="", examples=["duplicate of INV-6"])


class Migrate(Act):
    """Run on by another version."""

    version: VersionText


class Remake(Act):
    """Make a new execution of a finished one."""

    allow_irreversible: bool = Field(default=False, description="Steps marked irreversible may be run again.")


class Fork(Remake):
    """Go on from a frame."""

    from_fid: FidText = Field(examples=["root/charge#1"])


class Replay(Remake):
    """The same input again."""

    version: VersionText | None = None


class BulkFilter(In):
    """Which executions; every condition that is given must hold."""

    status: list[Status] = Field(default=[], max_length=6)
    workflow: Name | None = None
    queue: Name | None = None
    attributes: dict[_Text, str | int | float | bool | None] = Field(default={}, max_length=20)
    created_after: Instant | None = None
    created_before: Instant | None = None
    updated_after: Instant | None = None
    updated_before: Instant | None = None
    version: VersionText | None = None
    key: BusinessKey | None = None
    parent: EidValue | None = None
    waiting_on: _Text | None = None
    text: _Text | None = None


def _one_of(schema: dict[str, Any]) -> None:
    """Say in the schema that one of two fields is given, and is not null."""
    for name in ("eids", "filter"):
        field = schema["properties"][name]
        (kind,) = (one for one in field.pop("anyOf") if one.get("type") != "null")
        field.pop("default")
        field.update(kind)
    schema["oneOf"] = [{"required": ["eids"]}, {"required": ["filter"]}]


class Bulk(Act):
    """One verb on many executions: those that are named, or those that a filter finds."""

    model_config = ConfigDict(json_schema_extra=_one_of)

    action: Literal["pause", "resume", "cancel", "retry"]
    eids: list[EidValue] | None = Field(default=None, min_length=1, max_length=10_000)
    filter: BulkFilter | None = None
    dry_run: bool = Field(default=True, description="Only tell what would be touched.")

    @model_validator(mode="after")
    def _fits(self) -> Bulk:
        given = self.model_fields_set & {"eids", "filter"}
        if len(given) != 1 or (self.eids is None) == (self.filter is None):
            raise ValueError("give either eids or a filter")
        return self


class Pause(In):
    """Stop a queue."""

    reason: Annotated[str, Field(min_length=1, max_length=1000)]


class Limits(Act):
    """Limits of a queue in the whole fleet, in place of those so far; null is no limit."""

    concurrency: _Limit | None = None
    rate: _Limit | None = None
    rate_period_s: float = Field(default=1.0, gt=0, le=86_400)


class DeadLetter(Act):
    """One task that was set aside."""

    task_id: Annotated[str, Field(min_length=1, max_length=2000)]
    died_at: Instant | None = Field(default=None, description="Of the listing; needed if the task died more than once.")
