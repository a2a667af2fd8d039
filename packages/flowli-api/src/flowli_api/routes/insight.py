"""Why it is stuck: explain, timeline, tree, graph."""

from __future__ import annotations

from fastapi import Request, Response

from flowli_api.answers import answer
from flowli_api.dto.insight import ExplanationOut, GraphOut, MomentOut, NodeOut, TimelineOut, TreeOut
from flowli_api.params import EidPath
from flowli_api.routing import ApiRouter, Caller, ServiceOf, requires

__all__ = ["router"]

router = ApiRouter(tags=["executions"])


@router.get("/executions/{eid}/explain", response_model=ExplanationOut, operation_id="explain_execution")
@requires("executions:read")
async def explain_execution(eid: EidPath, request: Request, caller: Caller, service: ServiceOf) -> Response:
    """Why it stands where it stands: one reason, one sentence, and what moves it."""
    await service.reach(caller, eid)
    return answer(request, ExplanationOut.of(await service.engine.explain(eid)))


@router.get("/executions/{eid}/timeline", response_model=TimelineOut, operation_id="read_timeline")
@requires("executions:read")
async def read_timeline(eid: EidPath, request: Request, caller: Caller, service: ServiceOf) -> Response:
    """What happened, in order, in words."""
    await service.reach(caller, eid)
    moments = await service.engine.timeline(eid, values=caller.may("values:read"))
    return answer(request, TimelineOut(eid=str(eid), moments=[MomentOut.of(one) for one in moments]))


@router.get("/executions/{eid}/tree", response_model=TreeOut, operation_id="read_tree")
@requires("executions:read")
async def read_tree(eid: EidPath, request: Request, caller: Caller, service: ServiceOf) -> Response:
    """The frames below each other, with attempts, durations, waits and errors."""
    await service.reach(caller, eid)
    values = caller.may("values:read")
    frames = [NodeOut.of(one, values) for one in await service.engine.tree(eid, values=values)]
    return answer(request, TreeOut(eid=str(eid), frames=frames, values_hidden=not values))


@router.get("/executions/{eid}/graph", response_model=GraphOut, operation_id="read_graph")
@requires("executions:read")
async def read_graph(eid: EidPath, request: Request, caller: Caller, service: ServiceOf) -> Response:
    """What it did as nodes and edges, inferred from its journal."""
    await service.reach(caller, eid)
    return answer(request, GraphOut.of(await service.engine.graph(eid)))
