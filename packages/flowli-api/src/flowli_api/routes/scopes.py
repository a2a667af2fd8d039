"""Worker plane: scopes, the named leases of consumers: one holder at a time writes to what a scope stands for."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path, Response

from flowli import codec
from flowli.domain.errors import LeaseLost
from flowli.domain.ids import role_eid
from flowli.domain.ports import Acquired, Holder, Lease
from flowli.domain.provenance import Site
from flowli.runtime.protocols.named_lease import FREE, is_free
from flowli_api.answers import written
from flowli_api.dto.base import Out
from flowli_api.dto.tasks import Acquire, Renew, ScopeOut
from flowli_api.params import IdempotencyKey, NamePath
from flowli_api.problems import Problem
from flowli_api.routing import ApiRouter, Caller, ServiceOf, requires
from flowli_api.service import Service

__all__ = ["router"]

router = ApiRouter(tags=["worker"])

_Scope = Annotated[
    str,
    Path(pattern=r"^[A-Za-z0-9_@=+~:-][A-Za-z0-9._@=+~:-]{0,127}$", examples=["repo:main"], description="The scope."),
]


class ReleasedOut(Out):
    """The scope is free."""

    scope: str


@router.post("/queues/{queue}/scopes/{scope}/acquire", response_model=ScopeOut, operation_id="acquire_scope")
@requires("tasks:consume:{queue}")
async def acquire_scope(
    queue: NamePath, scope: _Scope, body: Acquire, caller: Caller, service: ServiceOf, key: IdempotencyKey = None
) -> Response:
    """Take a scope; `held` while somebody else has it."""
    ports, eid = service.engine.ports, role_eid(f"scope:{scope}")
    seen = await ports.ownership.read(eid)
    if seen is None or await is_free(ports, seen):
        # no process stands behind the holder: only time tells that a consumer far away is gone
        holder = Holder(f"{caller.actor.id}/{service.world.token()}", Site(f"http:{queue}"))
        got = await ports.ownership.acquire(eid, holder, body.ttl_s, seen=seen, force=seen is not None, state=FREE)
        if isinstance(got, Acquired):
            service.logged(caller, "acquire_scope", scope=scope)
            return written(await _shown(service, caller, scope, got.lease), None)
    raise Problem("held", f"Scope '{scope}' is held by somebody else; try again later.")


@router.post("/queues/{queue}/scopes/{scope}/renew", response_model=ScopeOut, operation_id="renew_scope")
@requires("tasks:consume:{queue}")
async def renew_scope(
    queue: NamePath, scope: _Scope, body: Renew, caller: Caller, service: ServiceOf, key: IdempotencyKey = None
) -> Response:
    """Show that the holder of a scope lives; `lease_lost` means: stop writing."""
    lease = await service.engine.ports.ownership.renew(await _lease(service, caller, scope, body.token))
    return written(await _shown(service, caller, scope, lease), None)


@router.post("/queues/{queue}/scopes/{scope}/release", response_model=ReleasedOut, operation_id="release_scope")
@requires("tasks:consume:{queue}")
async def release_scope(
    queue: NamePath, scope: _Scope, body: Renew, caller: Caller, service: ServiceOf, key: IdempotencyKey = None
) -> Response:
    """Let a scope go. No error if it was lost."""
    lease = await _lease(service, caller, scope, body.token)
    try:
        await service.engine.ports.ownership.release(await service.engine.ports.ownership.renew(lease))
    except LeaseLost:
        return written(ReleasedOut(scope=scope), None)
    service.logged(caller, "release_scope", scope=scope)
    return written(ReleasedOut(scope=scope), None)


async def _shown(service: Service, caller: Caller, scope: str, lease: Lease) -> ScopeOut:
    bare = codec.dump(Lease(lease.eid, lease.epoch, lease.holder, lease.ttl_s, state=lease.state, token=lease.token))
    token = await service.seal.close(caller, "scope", {"scope": scope, "lease": bare})
    return ScopeOut(token=token, epoch=lease.epoch, ttl_s=lease.ttl_s)


async def _lease(service: Service, caller: Caller, scope: str, token: str) -> Lease:
    found = await service.seal.open(caller, "scope", token)
    if found["scope"] != scope:
        raise Problem("unknown_token", "The token is of another scope.")
    return codec.load(Lease, found["lease"])
