"""Routes that know what a caller must be allowed: ``ApiRouter`` and ``requires``.

A route is refused unless it says which capability it needs. The caller is known, and allowed, before the body of the
request is read. Plugins write their routes with the same two names::

    router = ApiRouter(tags=["votes"])

    @router.get("/votes/{queue}")
    @requires("reviews:read")
    async def votes(queue: Name, caller: Caller, service: ServiceOf) -> list[Vote]: ...
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator
from typing import Annotated, Any, TypeVar

import orjson
from fastapi import APIRouter, Depends, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from flowli.domain.errors import FlowliError
from flowli_api.auth.identity import Identity
from flowli_api.problems import PROBLEMS, Problem, fault
from flowli_api.service import Service

__all__ = ["ANYONE", "KNOWN", "ApiRoute", "ApiRouter", "Caller", "ServiceOf", "capability_of", "requires", "service_of"]

F = TypeVar("F", bound=Callable[..., Any])

ANYONE = ""
"""The requirement of a route that needs no token."""

KNOWN = "*"
"""The requirement of a route that any valid token opens."""

_ATTRIBUTE = "__flowli_requires__"
_DEEPEST = 64


def requires(capability: str) -> Callable[[F], F]:
    """Say what a caller of a route needs; stands below the decorator of the router.

    Args:
        capability: one of ``CAPABILITIES``, with ``{queue}`` as in the path of the route; ``KNOWN`` or ``ANYONE``.
    """

    def mark(function: F) -> F:
        setattr(function, _ATTRIBUTE, capability)
        return function

    return mark


def capability_of(endpoint: Callable[..., Any]) -> str | None:
    """What ``requires`` said of a route; None if nothing did."""
    found: str | None = getattr(endpoint, _ATTRIBUTE, None)
    return found


class ApiRoute(APIRoute):
    """A route whose caller is authenticated and authorised before its body is read."""

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        needed = capability_of(endpoint)
        if needed is None:
            raise TypeError(f"route {path} does not say what it requires; add @requires(...) below its decorator")
        if needed != ANYONE:
            extra = dict(options.get("openapi_extra") or {})
            options["openapi_extra"] = {**extra, "security": [{"token": []}], "x-flowli-requires": needed}
        super().__init__(path, endpoint, **options)
        self.requires = needed

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The handler of the base class behind the checks."""
        handler = super().get_route_handler()

        async def checked(request: Request) -> Response:
            service = service_of(request)
            if self.requires != ANYONE:
                request.state.caller = await service.guard.admit(request, self.requires)
            self._check_query(request)
            if self.body_field is not None:
                _check_kind(request)
            try:
                return await handler(_StrictRequest(request.scope, request.receive))
            except (Problem, FlowliError, HTTPException, RequestValidationError):
                raise
            except Exception as error:  # here, where the answer still gets its headers and the log its request id
                return await fault(request, error)

        return checked

    def _check_query(self, request: Request) -> None:
        """Refuse a query that the route does not take: a misspelt filter would silently show too much."""
        known: set[str] = set()
        for field in _query_of(self.dependant):
            kind = field.field_info.annotation
            if isinstance(kind, type) and issubclass(kind, BaseModel):
                return  # the model refuses what it does not have
            known.add(field.alias)
        for name in request.query_params:
            if name not in known:
                hint = f"it takes {', '.join(sorted(known))}" if known else "it takes none"
                raise Problem("invalid", f"query.{name[:100]}: this address takes no such parameter; {hint}.")


class ApiRouter(APIRouter):
    """A router of ``ApiRoute`` with the problems that any of them may answer with."""

    def __init__(self, **options: Any) -> None:
        options.setdefault("responses", PROBLEMS)
        super().__init__(route_class=ApiRoute, **options)


def _check_kind(request: Request) -> None:
    kind = request.headers.get("content-type", "application/json").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise Problem("unsupported_media_type", f"The body is {kind[:100]!r}; send application/json.")


def _query_of(dependant: Any) -> Iterator[Any]:
    """The fields of the query that a route and what it depends on take."""
    yield from dependant.query_params
    for inner in dependant.dependencies:
        yield from _query_of(inner)


class _StrictRequest(Request):
    """JSON as RFC 8259 has it: no NaN, no lone surrogates, no endless nesting."""

    async def json(self) -> Any:
        if not hasattr(self, "_parsed"):
            self._parsed = orjson.loads(await self.body() or b"null")
            if _deep(self._parsed):
                raise RequestValidationError(
                    [{"type": "json_invalid", "loc": ("body",), "msg": f"nested deeper than {_DEEPEST} levels"}]
                )
        return self._parsed


def _deep(data: object) -> bool:
    """Whether data is nested too deeply, without a call for each level."""
    level: list[object] = [data]
    for _ in range(_DEEPEST):
        level = [
            inner
            for one in level
            if isinstance(one, list | dict)
            for inner in (one.values() if isinstance(one, dict) else one)
        ]
        if not level:
            return False
    return True


def service_of(request: Request) -> Service:
    """What the routes of an application work with."""
    found = request.app.state.service
    assert isinstance(found, Service)
    return found


def _caller(request: Request) -> Identity:
    found = request.state.caller
    assert isinstance(found, Identity)
    return found


Caller = Annotated[Identity, Depends(_caller)]
"""Who calls."""

ServiceOf = Annotated[Service, Depends(service_of)]
"""What the service works with: the engine, the projection, the settings."""
