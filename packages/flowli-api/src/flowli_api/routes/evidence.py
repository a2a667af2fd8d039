"""Evidence: attempt logs and attachments."""

from __future__ import annotations

import re
from typing import Annotated

from fastapi import Path, Query, Request, Response
from pydantic import Field

from flowli.evidence import KeptLog
from flowli_api.answers import answer
from flowli_api.dto.base import Out
from flowli_api.params import EidPath, FidText
from flowli_api.problems import Problem
from flowli_api.routing import ApiRouter, Caller, ServiceOf, requires

__all__ = ["LogOut", "router"]

router = ApiRouter(tags=["evidence"])

_OUTCOME = re.compile(r"/outcome(-\d+)?$", re.ASCII)
_NAME = r"^[A-Za-z0-9_~=:-][A-Za-z0-9._~=:-]{0,1023}/[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}$"


class EvidenceOut(Out):
    """The names of the bodies that are kept of an execution."""

    eid: str
    names: list[str] = Field(examples=[["root~charge=1.1.1/log"]])


class LogOut(Out):
    """What one attempt printed and logged."""

    fid: str = Field(examples=["root/charge#1"])
    attempt: int
    epoch: int
    run: int = Field(description="Counts the runs of an attempt that was deferred.")
    text: str

    @classmethod
    def of(cls, log: KeptLog) -> LogOut:
        """From the evidence."""
        return cls(fid=log.fid, attempt=log.attempt, epoch=log.epoch, run=log.run, text=log.text)


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
    found = await service.engine.logs(eid, fid)
    return answer(request, LogsOut(eid=str(eid), logs=[LogOut.of(log) for log in found]))


def _hidden(name: str) -> bool:
    """Whether a body holds values of the workflow and no evidence: offloaded values, outcomes of detached steps."""
    return name.startswith("~") or _OUTCOME.search(name) is not None
