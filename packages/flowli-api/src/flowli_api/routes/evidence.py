"""Evidence: attempt logs and attachments."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path, Query, Request, Response
from pydantic import Field

from flowli.domain.ids import Eid
from flowli.evidence import frame_part
from flowli_api.answers import answer
from flowli_api.dto.base import Out
from flowli_api.params import EidPath, FidText
from flowli_api.problems import Problem
from flowli_api.routing import ApiRouter, Caller, ServiceOf, requires
from flowli_api.service import Service

__all__ = ["log_names", "read_log", "router"]

router = ApiRouter(tags=["evidence"])

_NAME = r"^[A-Za-z0-9_~=:-][A-Za-z0-9._~=:-]{0,1023}/[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}$"
_LOG = "/log"


class EvidenceOut(Out):
    """The names of the bodies that are kept of an execution."""

    eid: str
    names: list[str] = Field(examples=[["root~charge=1.1.1/log"]])


class LogOut(Out):
    """What one attempt printed and logged."""

    fid: str = Field(examples=["root/charge#1"])
    attempt: int
    epoch: int
    text: str


class LogsOut(Out):
    """The logs of the attempts of an execution."""

    eid: str
    logs: list[LogOut]


@router.get("/executions/{eid}/evidence", response_model=EvidenceOut, operation_id="list_evidence")
@requires("evidence:read")
async def list_evidence(eid: EidPath, request: Request, caller: Caller, service: ServiceOf) -> Response:
    """What is kept of an execution: `{frame}.{attempt}.{epoch}/{what}`."""
    await service.row(caller, eid)
    names = await service.engine.ports.evidence.list(eid)
    return answer(request, EvidenceOut(eid=str(eid), names=[name for name in names if not _hidden(name)]))


@router.get(
    "/executions/{eid}/evidence/{name:path}",
    operation_id="read_evidence",
    response_class=Response,
    responses={200: {"content": {"application/octet-stream": {}}, "description": "The body as it was written"}},
)
@requires("evidence:read")
async def read_evidence(
    eid: EidPath,
    name: Annotated[str, Path(pattern=_NAME, max_length=1200)],
    caller: Caller,
    service: ServiceOf,
) -> Response:
    """One body, as a download: browsers never show it as a page."""
    if _hidden(name):
        service.guard.check(caller, "values:read")
    await service.row(caller, eid)
    body = await service.engine.ports.evidence.get(eid, name)
    if body is None:
        raise Problem("not_found", f"Execution {eid} has no evidence of that name.")
    headers = {"content-disposition": "attachment", "cache-control": "private, no-store"}
    return Response(body, 200, headers, "application/octet-stream")


@router.get("/executions/{eid}/logs", response_model=LogsOut, operation_id="read_logs")
@requires("evidence:read")
async def read_logs(
    eid: EidPath, request: Request, caller: Caller, service: ServiceOf, fid: Annotated[FidText | None, Query()] = None
) -> Response:
    """What the attempts of an execution, or of one frame, printed and logged."""
    await service.row(caller, eid)
    found = [await read_log(service, eid, name) for name in await log_names(service, eid, fid)]
    return answer(request, LogsOut(eid=str(eid), logs=[log for log in found if log is not None]))


async def log_names(service: Service, eid: Eid, fid: str | None) -> list[str]:
    """The names of the attempt logs of an execution, or of one frame."""
    prefix = "" if fid is None else f"{frame_part(fid)}."
    return [name for name in await service.engine.ports.evidence.list(eid, prefix=prefix) if name.endswith(_LOG)]


async def read_log(service: Service, eid: Eid, name: str) -> LogOut | None:
    """One attempt log; None if it is gone."""
    body = await service.engine.ports.evidence.get(eid, name)
    frame, attempt, epoch = name.removesuffix(_LOG).rsplit(".", 2)
    if body is None:
        return None
    fid = frame.replace("~", "/").replace("=", "#")
    return LogOut(fid=fid, attempt=int(attempt), epoch=int(epoch), text=body.decode("utf-8", "replace"))


def _hidden(name: str) -> bool:
    """Whether a body holds values of the workflow and no evidence: offloaded values, outcomes of detached steps."""
    return name.endswith("/outcome") or "/" not in name or name.startswith("values")
