"""Reading one execution."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query, Request, Response
from pydantic import Field, JsonValue

from flowli import ExecutionStatus
from flowli.domain.data import Data
from flowli.domain.entries import ExecutionCompleted, JournalEntry
from flowli.domain.errors import ExecutionCancelled, ExecutionFailed, ResultTimeout, UnknownExecution
from flowli.domain.ids import Eid
from flowli_api.answers import answer
from flowli_api.dto.base import Out
from flowli_api.dto.common import ActorOut, ErrorOut
from flowli_api.dto.executions import ExecutionOut, ExecutionSummary
from flowli_api.dto.journal import EntryOut, FramesOut, JournalOut
from flowli_api.params import MOST, AfterSeq, EidPath
from flowli_api.problems import Problem
from flowli_api.routing import ApiRouter, Caller, ServiceOf, requires
from flowli_api.service import Service

__all__ = ["router"]

router = ApiRouter(tags=["executions"])

_After = Annotated[int, Query(ge=0, le=MOST, description="Sequence number to go on behind.")]
_Limit = Annotated[int, Query(ge=1, le=10_000)]


class ChildrenOut(Out):
    """The children of an execution, the oldest first."""

    items: list[ExecutionSummary]


class ActOut(Out):
    """What somebody did to an execution."""

    seq: int
    verb: str = Field(examples=["pause"])
    reason: str
    at: str
    by: ActorOut
    key: str | None = None


class ActsOut(Out):
    """The audit of an execution, in order."""

    items: list[ActOut]


class ArchiveOut(Out):
    """A finished execution as retention keeps it."""

    execution: ExecutionOut
    entries: list[EntryOut]
    archived_at: str
    values_hidden: bool = False


class ResultOut(Out):
    """How an execution ended, or that it has not."""

    eid: str
    status: str = Field(examples=["completed"])
    ended: bool
    value: JsonValue = None
    error: ErrorOut | None = None
    reason: str = ""


class SaidOut(Out):
    """What a step said last by `flowli.heartbeat`."""

    fid: str
    attempt: int
    value: JsonValue
    at: str


class ProgressOut(Out):
    """How far the steps are that run now."""

    eid: str
    items: list[SaidOut]


@router.get("/executions/{eid}", response_model=ExecutionOut, operation_id="read_execution")
@requires("executions:read")
async def read_execution(
    eid: EidPath, after: AfterSeq, request: Request, caller: Caller, service: ServiceOf
) -> Response:
    """Where an execution stands."""
    return answer(request, await detail(service, caller, eid, after))


@router.get("/executions/{eid}/journal", response_model=JournalOut, operation_id="read_journal")
@requires("executions:read")
async def read_journal(
    eid: EidPath, request: Request, caller: Caller, service: ServiceOf, after: _After = 0, limit: _Limit = 1000
) -> Response:
    """Entries of the journal, in order."""
    await service.reach(caller, eid)
    entries = (await service.engine.journal(eid))[after : after + limit + 1]
    shown = _entries(entries[:limit], caller)
    more = shown[-1].seq if len(entries) > limit else None
    return answer(
        request,
        JournalOut(eid=str(eid), entries=shown, next_after=more, values_hidden=not caller.may("values:read")),
    )


@router.get("/executions/{eid}/frames", response_model=FramesOut, operation_id="read_frames")
@requires("executions:read")
async def read_frames(eid: EidPath, request: Request, caller: Caller, service: ServiceOf) -> Response:
    """The frames, folded from the journal: the stack with attempts, waits, values and errors."""
    await service.reach(caller, eid)
    return answer(request, FramesOut.of(eid, await service.engine.frames(eid), caller.may("values:read")))


@router.get("/executions/{eid}/children", response_model=ChildrenOut, operation_id="list_children")
@requires("executions:read")
async def list_children(
    eid: EidPath, after: AfterSeq, request: Request, caller: Caller, service: ServiceOf
) -> Response:
    """The executions that this one started."""
    await service.row(caller, eid)
    children = await (await service.fresh(after)).children(eid)
    return answer(
        request, ChildrenOut(items=[ExecutionSummary.of(row) for row in children if caller.sees(row.workflow)])
    )


@router.get("/executions/{eid}/acts", response_model=ActsOut, operation_id="list_acts")
@requires("executions:read")
async def list_acts(
    eid: EidPath, seen: AfterSeq, request: Request, caller: Caller, service: ServiceOf, after: _After = 0
) -> Response:
    """The audit: who did what to this execution, and why."""
    await service.row(caller, eid)
    acts = await (await service.fresh(seen)).acts(eid, after_seq=after)
    items = [
        ActOut(seq=act.seq, verb=act.verb, reason=act.reason, at=str(act.at), by=ActorOut.of(act.by), key=act.key)
        for act in acts
    ]
    return answer(request, ActsOut(items=items))


@router.get("/executions/{eid}/archive", response_model=ArchiveOut, operation_id="read_archive")
@requires("executions:read")
async def read_archive(eid: EidPath, request: Request, caller: Caller, service: ServiceOf) -> Response:
    """The archive of a finished execution; 404 until retention has made it."""
    await service.reach(caller, eid)
    found = await service.engine.archive(eid)
    if found is None:
        raise Problem("not_found", f"Execution {eid} is not archived.")
    values = caller.may("values:read")
    return answer(
        request,
        ArchiveOut(
            execution=await detail(service, caller, eid, None),
            entries=_entries(found.entries, caller),
            archived_at=str(found.archived_at),
            values_hidden=not values,
        ),
    )


@router.get("/executions/{eid}/result", response_model=ResultOut, operation_id="wait_result")
@requires("values:read")
async def wait_result(
    eid: EidPath,
    request: Request,
    caller: Caller,
    service: ServiceOf,
    wait_s: Annotated[float, Query(ge=0, le=3600, description="How long to wait for the end.")] = 0.0,
) -> Response:
    """What the execution returned. `ended` is false if it has not ended within `wait_s`; ask again then."""
    await service.reach(caller, eid)
    try:
        await service.engine.result(eid, max(0.001, min(wait_s, service.config.max_wait_s)))
    except ResultTimeout:
        view = await service.engine.status(eid)
        return answer(request, ResultOut(eid=str(eid), status=view.status.value, ended=False))
    except ExecutionFailed as failed:
        error = ErrorOut.of(failed.error, values=True)
        return answer(request, ResultOut(eid=str(eid), status="failed", ended=True, error=error))
    except ExecutionCancelled as cancelled:
        return answer(request, ResultOut(eid=str(eid), status="cancelled", ended=True, reason=cancelled.reason))
    value = await recorded(service, eid)
    return answer(request, ResultOut(eid=str(eid), status="completed", ended=True, value=value))


@router.get("/executions/{eid}/progress", response_model=ProgressOut, operation_id="read_progress")
@requires("values:read")
async def read_progress(eid: EidPath, request: Request, caller: Caller, service: ServiceOf) -> Response:
    """What the steps that run now said last of how far they are."""
    await service.reach(caller, eid)
    found = await service.engine.progress(eid)
    items = [SaidOut(fid=one.fid, attempt=one.attempt, value=one.value, at=str(one.at)) for one in found.values()]
    return answer(request, ProgressOut(eid=str(eid), items=items))


async def detail(service: Service, caller: Caller, eid: Eid, after: int | None) -> ExecutionOut:
    """One execution as the caller may see it.

    Raises:
        UnknownExecution: there is none within the caller's reach.
    """
    projection = await service.fresh(after)
    view = await service.engine.status(eid)
    if not caller.sees(view.execution.workflow):
        raise UnknownExecution(eid)
    values = caller.may("values:read")
    value = await recorded(service, eid) if values and view.status is ExecutionStatus.COMPLETED else None
    return ExecutionOut.seen(view, await projection.execution(eid), value, values)


async def recorded(service: Service, eid: Eid) -> Data:
    """What a completed execution returned, as it is recorded."""
    end = (await service.engine.frames(eid)).end
    return end.value if isinstance(end, ExecutionCompleted) else None


def _entries(entries: tuple[JournalEntry, ...], caller: Caller) -> list[EntryOut]:
    values = caller.may("values:read")
    return [EntryOut.of(entry, values) for entry in entries]
