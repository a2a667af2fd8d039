"""Health, readiness, statistics."""

from __future__ import annotations

from fastapi import Request, Response
from pydantic import Field
from starlette.responses import PlainTextResponse

from flowli import ExecutionStatus
from flowli.domain.errors import BackendError
from flowli.runtime.signs import SWEEPER, queue_sign, seen
from flowli_api._version import __version__
from flowli_api.answers import answer
from flowli_api.bill import BillOut
from flowli_api.dto.base import Out
from flowli_api.dto.common import instant
from flowli_api.problems import Problem
from flowli_api.routing import ANYONE, ApiRouter, Caller, ServiceOf, requires

__all__ = ["probes", "router"]

router = ApiRouter(tags=["system"])
probes = ApiRouter(tags=["system"])


class HealthOut(Out):
    """The process answers."""

    status: str = Field(examples=["ok"])
    version: str = Field(examples=["0.2.0"])


class WorkerSign(Out):
    """A sign of life."""

    name: str = Field(examples=["sweeper"])
    worker: str
    at: str
    fresh: bool = Field(description="Whether whoever showed it, or another one, can be there now.")


class StatsOut(Out):
    """How the bucket and this process are doing."""

    counts: dict[str, int] = Field(examples=[{"running": 3}])
    control_seq: int = Field(description="Up to where this process has read the control log.")
    streams: int = Field(description="Event streams open in this process.")
    site: str = Field(description="The name of this process.")
    signs: list[WorkerSign] = Field(description="The last sign of sweepers, and of the workers of each queue.")
    due_timers: int = Field(description="Timers that are due and not fired, a thousand at most.")
    bill: BillOut | None = Field(description="Requests of this process to the bucket; null if they are not counted.")


@probes.get("/health", response_model=HealthOut, operation_id="health")
@requires(ANYONE)
async def health() -> HealthOut:
    """The process answers. Says nothing of the storage: a restart would not help it."""
    return HealthOut(status="ok", version=__version__)


@probes.get("/ready", response_model=HealthOut, operation_id="ready")
@requires(ANYONE)
async def ready(service: ServiceOf) -> HealthOut:
    """The storage can be read, and the process is not shutting down: send requests here."""
    if service.closing.is_set():
        raise Problem("closing", "This process is shutting down.")
    try:
        await service.fresh()
    except BackendError:
        raise Problem("unavailable", "The storage cannot be read now.") from None
    return HealthOut(status="ready", version=__version__)


@probes.get("/metrics", operation_id="metrics", response_class=PlainTextResponse)
@requires("queues:read")
async def metrics(caller: Caller, service: ServiceOf) -> PlainTextResponse:
    """Counts for a monitoring system, in its text form."""
    counts = await service.counts(caller)
    executions = {f'{{status="{status}"}}': number for status, number in counts.items()}
    answered = {f'{{status="{code}"}}': number for code, number in sorted(service.answered.items())}
    lines = [
        *_metric("flowli_executions", "gauge", "Executions by status.", executions),
        *_metric("flowli_control_seq", "gauge", "Control sequence read.", {"": service.projection.position.seq}),
        *_metric("flowli_api_requests_total", "counter", "Requests answered.", answered),
        *_metric("flowli_api_streams", "gauge", "Event streams that are open.", {"": service.streams}),
    ]
    if service.bill is not None:
        asked = {f'{{verb="{one.verb}",outcome="{one.outcome}"}}': one.requests for one in service.bill.out().requests}
        lines += _metric("flowli_api_storage_requests_total", "counter", "Requests to the bucket.", asked)
    return PlainTextResponse("\n".join(lines) + "\n", media_type="text/plain; version=0.0.4")


@router.get("/stats", response_model=StatsOut, operation_id="stats")
@requires("queues:read")
async def stats(request: Request, caller: Caller, service: ServiceOf) -> Response:
    """Counts, signs of life of sweepers and workers, timers that are due."""
    engine, now = service.engine, service.world.now()
    counts = await service.counts(caller)
    queues = sorted({"default", *(one.queue for one in engine.registry), *await engine.ports.queue.queues()})
    signs = []
    for name in [SWEEPER, *map(queue_sign, queues)]:
        sign = await seen(engine.ports, name)
        if sign is not None:
            signs.append(WorkerSign(name=name, worker=sign.worker, at=str(instant(sign.at)), fresh=sign.fresh(now)))
    return answer(
        request,
        StatsOut(
            counts={status.value: counts[status] for status in ExecutionStatus},
            control_seq=service.projection.position.seq,
            streams=service.streams,
            site=engine.site.worker_id,
            signs=signs,
            due_timers=len(await engine.ports.timers.due(now, limit=1000)),
            bill=None if service.bill is None else service.bill.out(),
        ),
    )


def _metric(name: str, kind: str, text: str, values: dict[str, int]) -> list[str]:
    head = [f"# HELP {name} {text}", f"# TYPE {name} {kind}"]
    return [*head, *(f"{name}{labels} {number}" for labels, number in values.items())]
