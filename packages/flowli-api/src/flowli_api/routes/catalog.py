"""Catalog plane: what this process can run, who the caller is."""

from __future__ import annotations

from fastapi import Request, Response

from flowli.domain.errors import UnknownWorkflow
from flowli_api._version import __version__
from flowli_api.answers import answer
from flowli_api.dto.catalog import ConfigOut, LoginOut, MeOut, WorkflowOut, WorkflowPage
from flowli_api.params import NamePath
from flowli_api.routing import ANYONE, KNOWN, ApiRouter, Caller, ServiceOf, requires

__all__ = ["router"]

router = ApiRouter(tags=["catalog"])


@router.get("/config", response_model=ConfigOut, operation_id="config")
@requires(ANYONE)
async def config(request: Request, service: ServiceOf) -> Response:
    """How to log in, and the limits that callers meet. Needs no token."""
    oidc = service.config.oidc
    return answer(
        request,
        ConfigOut(
            version=__version__,
            oidc=None
            if oidc is None
            else LoginOut(issuer=oidc.issuer, client_id=oidc.client_id, scope=oidc.scope, audience=oidc.audience),
            plugins=list(service.plugins),
            max_page_size=service.config.max_page_size,
            max_wait_s=service.config.max_wait_s,
        ),
    )


@router.get("/me", response_model=MeOut, operation_id="me")
@requires(KNOWN)
async def me(request: Request, caller: Caller) -> Response:
    """Who the token stands for, and what it permits."""
    return answer(request, MeOut.of(caller))


@router.get("/workflows", response_model=WorkflowPage, operation_id="list_workflows")
@requires("workflows:read")
async def list_workflows(request: Request, caller: Caller, service: ServiceOf) -> Response:
    """The workflows of this process in every version, with the JSON Schemas of their arguments and results."""
    return answer(request, WorkflowPage(items=_workflows(caller, service)))


@router.get("/workflows/{name}", response_model=WorkflowPage, operation_id="read_workflow")
@requires("workflows:read")
async def read_workflow(name: NamePath, request: Request, caller: Caller, service: ServiceOf) -> Response:
    """The versions of one workflow."""
    found = [one for one in _workflows(caller, service) if one.name == name]
    if not found:
        raise UnknownWorkflow(f"no workflow '{name}' is registered in this service")
    return answer(request, WorkflowPage(items=found))


def _workflows(caller: Caller, service: ServiceOf) -> list[WorkflowOut]:
    registry = service.engine.registry
    seen = sorted((one for one in registry if caller.sees(one.name)), key=lambda one: (one.name, one.version))
    return [WorkflowOut.of(one, latest=registry.find(one.name) is one) for one in seen]
