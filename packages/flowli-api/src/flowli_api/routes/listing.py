"""Lists of executions, and counts."""

from __future__ import annotations

from typing import Annotated

import orjson
from fastapi import Query, Request, Response
from pydantic import ConfigDict, Field

from flowli import ExecutionStatus, Timestamp
from flowli.domain.data import Scalar
from flowli_api.answers import answer
from flowli_api.cursors import open_cursor, seal_cursor
from flowli_api.dto.base import Out
from flowli_api.dto.executions import ExecutionPage, ExecutionSummary
from flowli_api.dto.requests import BulkFilter
from flowli_api.params import AfterSeq, BusinessKey, EidValue, Instant, Name, VersionText
from flowli_api.problems import Problem
from flowli_api.routing import ApiRouter, Caller, ServiceOf, requires
from flowli_api.service import Service

__all__ = ["ExecutionQuery", "router"]

router = ApiRouter(tags=["executions"])

_Attribute = Annotated[str, Field(min_length=3, max_length=400, pattern=r"^[^:]{1,200}:.{1,200}$")]


class ExecutionQuery(Out):
    """The filters of a list; every one that is given must hold."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    status: list[ExecutionStatus] = Field(default=[], max_length=6, description="Any of these.")
    workflow: Name | None = None
    queue: Name | None = None
    parent: EidValue | None = Field(default=None, description="Children of this execution.")
    key: BusinessKey | None = None
    attribute: list[_Attribute] = Field(
        default=[], max_length=20, description="`name:value`; the value is JSON, or text.", examples=[["region:eu"]]
    )
    created_after: Instant | None = None
    created_before: Instant | None = None
    updated_after: Instant | None = None
    updated_before: Instant | None = None
    version: VersionText | None = None
    waiting_on: str | None = Field(
        default=None,
        min_length=1,
        max_length=200,
        description="A kind, a name, or both.",
        examples=["channel:approval"],
    )
    text: str | None = Field(default=None, min_length=1, max_length=200, description="In id, key, reason, error, …")
    limit: int | None = Field(default=None, ge=1, le=10_000, description="Rows of the page; the service has a most.")
    cursor: str | None = Field(default=None, max_length=2000)


class CountsOut(Out):
    """How many executions have each status."""

    counts: dict[str, int] = Field(examples=[{"running": 3, "completed": 120}])
    control_seq: int


@router.get("/executions", response_model=ExecutionPage, operation_id="list_executions")
@requires("executions:read")
async def list_executions(
    query: Annotated[ExecutionQuery, Query()], after: AfterSeq, request: Request, caller: Caller, service: ServiceOf
) -> Response:
    """Executions, the newest first.

    A caller with access to some workflows only may be given pages that are shorter than `limit`.
    """
    projection = await service.fresh(after)
    asked = query.model_dump(mode="json", exclude={"limit", "cursor"})
    limit = min(query.limit or service.config.page_size, service.config.max_page_size)
    page = await projection.executions(
        status=query.status or None,
        workflow=query.workflow or _only(caller),
        queue=query.queue,
        parent=query.parent,
        key=query.key,
        attributes=attributes(query.attribute),
        created_after=_instant(query.created_after),
        created_before=_instant(query.created_before),
        updated_after=_instant(query.updated_after),
        updated_before=_instant(query.updated_before),
        version=query.version,
        waiting_on=query.waiting_on,
        text=query.text,
        limit=limit,
        cursor=open_cursor(query.cursor, asked),
    )
    items = [ExecutionSummary.of(row) for row in page.rows if caller.sees(row.workflow)]
    found = ExecutionPage(
        items=items, next_cursor=seal_cursor(page.next_cursor, asked), control_seq=projection.position.seq
    )
    return answer(request, found)


@router.get("/executions/counts", response_model=CountsOut, operation_id="count_executions")
@requires("executions:read")
async def count_executions(
    after: AfterSeq, request: Request, caller: Caller, service: ServiceOf, workflow: Name | None = None
) -> Response:
    """How many executions have each status."""
    counts = await service.counts(caller, workflow, after)
    shown = {status.value: number for status, number in counts.items()}
    return answer(request, CountsOut(counts=shown, control_seq=service.projection.position.seq))


def attributes(given: list[str]) -> dict[str, Scalar]:
    """Attributes written as ``name:value``; the value is taken as JSON if it is a scalar, else as text."""
    found: dict[str, Scalar] = {}
    for one in given:
        name, _, text = one.partition(":")
        try:
            value = orjson.loads(text)
        except orjson.JSONDecodeError:
            value = text
        found[name] = value if isinstance(value, bool | int | float | str | None) else text
    return found


async def matching(service: Service, caller: Caller, wanted: BulkFilter, most: int) -> list[ExecutionSummary]:
    """The executions that a filter finds within a caller's reach.

    Raises:
        Problem: they are more than ``most``.
    """
    projection = await service.fresh(await service.control_seq())
    found: list[ExecutionSummary] = []
    cursor: str | None = None
    while True:
        page = await projection.executions(
            status=[ExecutionStatus(one) for one in wanted.status] or None,
            workflow=wanted.workflow or _only(caller),
            queue=wanted.queue,
            parent=wanted.parent,
            key=wanted.key,
            attributes=wanted.attributes,
            created_after=_instant(wanted.created_after),
            created_before=_instant(wanted.created_before),
            updated_after=_instant(wanted.updated_after),
            updated_before=_instant(wanted.updated_before),
            version=wanted.version,
            waiting_on=wanted.waiting_on,
            text=wanted.text,
            limit=500,
            cursor=cursor,
        )
        found += [ExecutionSummary.of(row) for row in page.rows if caller.sees(row.workflow)]
        cursor = page.next_cursor
        if len(found) > most:
            raise Problem("invalid", f"The filter finds more than {most} executions; narrow it.")
        if cursor is None:
            return found


def _instant(text: str | None) -> Timestamp | None:
    return None if text is None else Timestamp.parse(text)


def _only(caller: Caller) -> str | None:
    """The one workflow within a caller's reach, if it is one."""
    return next(iter(caller.workflows)) if caller.workflows is not None and len(caller.workflows) == 1 else None
