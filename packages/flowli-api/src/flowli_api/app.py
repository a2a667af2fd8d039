"""``create_app``: the service as an ASGI application."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from starlette.middleware.cors import CORSMiddleware
from starlette.middleware.trustedhost import TrustedHostMiddleware

from flowli import Engine, WorkflowProjection
from flowli_api import extensions, interface, problems
from flowli_api._version import __version__
from flowli_api.addresses import Addresses
from flowli_api.answers import CONTROL_SEQ
from flowli_api.auth.identity import Authenticator
from flowli_api.bill import Bill
from flowli_api.config import ApiConfig
from flowli_api.middleware import Envelope
from flowli_api.routes import (
    bulk,
    catalog,
    events,
    evidence,
    insight,
    listing,
    operating,
    queues,
    reading,
    scopes,
    shown,
    system,
    tasks,
)
from flowli_api.service import Service

__all__ = ["create_app"]

_PREFIX = "/v1"
_ROUTERS = (catalog, listing, operating, bulk, reading, shown, insight, evidence, events, queues, system, tasks, scopes)
_ABOUT = """People and programs that hold no keys of the bucket see, start, answer and repair executions here.

Every write takes an `Idempotency-Key`, and answers with `control_seq`: send it as `Flowli-After` to see the write at
any process. Reads carry an `ETag`. What is no success is a problem (RFC 9457) with a stable `code`."""


def create_app(
    engine: Engine,
    *,
    projection: WorkflowProjection | None = None,
    authenticator: Authenticator,
    config: ApiConfig | None = None,
    bill: Bill | None = None,
) -> FastAPI:
    """The HTTP service over an engine's bucket.

    It keeps no state: any number of processes can serve one bucket. It closes neither the engine nor the projection.

    Args:
        engine: every write goes through it; its registry is the catalog.
        projection: lists come from it; None makes one in a temporary folder, built anew with each start.
        authenticator: tells who calls.
        config: settings.
        bill: what this process asks of the bucket, if somebody counts it; shown by ``GET /v1/stats``.

    Raises:
        PluginError: the routes of a plugin cannot be used.

    Example:
        >>> app = create_app(engine, authenticator=StaticAuthenticator({token: identity}))
        >>> uvicorn.run(app)
    """
    config = ApiConfig() if config is None else config
    service = Service(engine, projection, authenticator, config, bill)

    @asynccontextmanager
    async def life(_: FastAPI) -> AsyncIterator[None]:
        try:
            yield
        finally:
            await service.close()

    app = FastAPI(
        title="flowli",
        version=__version__,
        description=_ABOUT,
        openapi_url=f"{_PREFIX}/openapi.json",
        docs_url=None,
        redoc_url=None,
        root_path=config.root_path,
        lifespan=life,
        redirect_slashes=False,
    )
    app.state.service = service
    app.state.addresses = addresses = Addresses()
    problems.install(app)
    for router, prefix in [*((module.router, _PREFIX) for module in _ROUTERS), (system.probes, "")]:
        app.include_router(router, prefix=prefix)
        addresses.add(router, prefix)
    service.plugins = extensions.include(app, _PREFIX, addresses)
    _describe(app)
    if config.interface:
        app.mount("/", _interface(), name="interface")
    _wrap(app, config, service)
    return app


def _interface() -> interface.NotBuilt | interface.Interface:
    found = interface.built()
    return interface.NotBuilt() if found is None else interface.Interface(directory=found, html=True)


def _wrap(app: FastAPI, config: ApiConfig, service: Service) -> None:
    """Put the layers around the routes; the one added last is the outermost."""
    if config.cors_origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=list(config.cors_origins),
            allow_methods=["GET", "POST", "PUT", "DELETE"],
            allow_headers=["authorization", "content-type", "idempotency-key", "flowli-after", "last-event-id"],
            expose_headers=["etag", "location", "retry-after", "x-request-id", CONTROL_SEQ],
        )
    if config.allowed_hosts:
        app.add_middleware(TrustedHostMiddleware, allowed_hosts=list(config.allowed_hosts))
    app.add_middleware(Envelope, config=config, service=service)


def _without_null(document: dict[str, Any]) -> None:
    """Take null out of parameters: a query, a header or a path cannot say it."""
    for operations in document["paths"].values():
        for operation in operations.values():
            for parameter in operation.get("parameters", ()):
                schema = parameter["schema"]
                kinds = [one for one in schema.get("anyOf", ()) if one.get("type") != "null"]
                if len(kinds) == 1:
                    del schema["anyOf"]
                    parameter["schema"] = {**kinds[0], **schema}


def _also(document: dict[str, Any], operation_id: str, described: int, other: int) -> None:
    """Describe a second success of an operation: it has the same body."""
    for operations in document["paths"].values():
        for operation in operations.values():
            if operation["operationId"] == operation_id:
                answers = operation["responses"]
                answers[str(other)] = answers[str(described)]


def _describe(app: FastAPI) -> None:
    """OpenAPI 3.1 with the security scheme and the form of problems."""

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            made = get_openapi(
                title=app.title,
                version=app.version,
                description=app.description,
                routes=app.routes,
                openapi_version="3.1.0",
            )
            parts = made.setdefault("components", {})
            parts["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
            schemas = parts.setdefault("schemas", {})
            problem = problems.ProblemDetails.model_json_schema(ref_template="#/components/schemas/{model}")
            schemas.update(problem.pop("$defs", {}))
            schemas["ProblemDetails"] = problem
            _without_null(made)
            _also(made, "start_execution", 201, 200)
            _also(made, "update_execution", 200, 202)
            app.openapi_schema = made
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]
