"""Bulk actions: one verb on many executions, each of them authorised and tried on its own."""

from __future__ import annotations

import asyncio

from fastapi import Response
from pydantic import Field

from flowli.domain.errors import FlowliError, UnknownExecution
from flowli.domain.ids import Eid, parse_eid
from flowli_api.answers import written
from flowli_api.dto.base import Out
from flowli_api.dto.common import Written
from flowli_api.dto.executions import ExecutionSummary
from flowli_api.dto.requests import Bulk
from flowli_api.keys import scoped
from flowli_api.params import IdempotencyKey
from flowli_api.problems import Problem, of_error
from flowli_api.routes.listing import matching
from flowli_api.routing import KNOWN, ApiRouter, Caller, ServiceOf, requires
from flowli_api.service import Service

__all__ = ["router"]

router = ApiRouter(tags=["operate"])

_AT_ONCE = 8
_NEEDS = dict.fromkeys(("pause", "resume", "retry"), "executions:operate") | {"cancel": "executions:cancel"}
_FITS = {
    "pause": ("pending", "running", "suspended"),
    "resume": ("suspended",),
    "cancel": ("pending", "running", "suspended"),
    "retry": ("failed",),
}


class BulkItem(Out):
    """What became of one execution."""

    eid: str
    outcome: str = Field(examples=["done"], description="`would`, `skipped`, `done` or `refused`.")
    status: str | None = Field(default=None, description="Where it stood before.")
    made: str | None = Field(default=None, description="The new execution, of a retry.")
    code: str | None = Field(default=None, description="Code of the problem, if it was refused.")
    detail: str = ""


class BulkOut(Written):
    """What became of each execution, in the order in which they were named or found."""

    action: str
    dry_run: bool
    items: list[BulkItem]


@router.post("/bulk", response_model=BulkOut, operation_id="bulk")
@requires(KNOWN)
async def bulk(body: Bulk, caller: Caller, service: ServiceOf, key: IdempotencyKey = None) -> Response:
    """Pause, resume, cancel or retry many executions.

    `dry_run` (the default) only tells what would be touched. An execution whose state does not fit the action is
    skipped; one that cannot be found is refused, and the others are done nevertheless. The same call with the same
    idempotency key goes on where an interrupted one stopped.
    """
    service.guard.check(caller, _NEEDS[body.action])
    most = service.config.max_bulk
    if body.eids is not None and len(body.eids) > most:
        raise Problem("invalid", f"eids: {len(body.eids)} are given; the most is {most}.")
    if body.filter is not None:
        service.guard.check(caller, "executions:read")  # what a filter finds is told
        rows: dict[Eid, ExecutionSummary | None] = {
            parse_eid(row.eid): row for row in await matching(service, caller, body.filter, most)
        }
    else:
        rows = {eid: await _row(service, caller, eid) for eid in body.eids or ()}
    gate = asyncio.Semaphore(_AT_ONCE)

    async def one(eid: Eid, row: ExecutionSummary | None) -> BulkItem:
        async with gate:
            return await _one(service, caller, body, key, eid, row)

    items = await asyncio.gather(*(one(eid, row) for eid, row in rows.items()))
    seq = await service.control_seq()
    return written(BulkOut(action=body.action, dry_run=body.dry_run, items=list(items), control_seq=seq), seq)


async def _row(service: Service, caller: Caller, eid: Eid) -> ExecutionSummary | None:
    try:
        return ExecutionSummary.of(await service.row(caller, eid))
    except UnknownExecution:
        return None


async def _one(
    service: Service, caller: Caller, body: Bulk, key: str | None, eid: Eid, row: ExecutionSummary | None
) -> BulkItem:
    name = str(eid)
    if row is None:
        return BulkItem(eid=name, outcome="refused", code="unknown_execution", detail=str(UnknownExecution(eid)))
    if row.status not in _FITS[body.action]:
        return BulkItem(eid=name, outcome="skipped", status=row.status, detail=f"it is {row.status}")
    if body.dry_run:
        return BulkItem(eid=name, outcome="would", status=row.status)
    try:
        made = await _act(service, caller, body, scoped(caller, key), eid)
    except FlowliError as error:
        found = of_error(error)
        if found is None:
            raise
        return BulkItem(eid=name, outcome="refused", status=row.status, code=found.code, detail=found.detail)
    service.logged(caller, f"bulk {body.action}", eid)
    return BulkItem(eid=name, outcome="done", status=row.status, made=None if made is None else str(made))


async def _act(service: Service, caller: Caller, body: Bulk, key: str | None, eid: Eid) -> Eid | None:
    engine = service.engine
    if body.action == "retry":
        return await engine.retry(eid, body.reason, key=key, actor=caller.actor)
    verbs = {"pause": engine.pause, "resume": engine.resume, "cancel": engine.cancel}
    await verbs[body.action](eid, body.reason, key=key, actor=caller.actor)
    return None
