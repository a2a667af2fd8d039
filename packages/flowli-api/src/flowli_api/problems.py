"""Problem details (RFC 9457): every answer that is no success has one, with a code that does not change.

``type`` is ``urn:flowli:problem:{code}``. What the storage said never leaves the process: it may name what callers have
no business with. It is logged instead, under the request's id, which the answer repeats.
"""

from __future__ import annotations

import traceback
from collections.abc import Mapping, Sequence
from http import HTTPStatus

import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.responses import Response

from flowli.domain import errors

__all__ = ["CODES", "PROBLEMS", "Problem", "ProblemDetails", "fault", "install", "of_error", "problem_response"]

_log = structlog.get_logger("flowli.api")

CODES: dict[str, tuple[int, str]] = {
    "bad_request": (400, "The request cannot be read"),
    "unauthenticated": (401, "A valid token is needed"),
    "forbidden": (403, "The caller may not do this"),
    "not_found": (404, "There is nothing under this address"),
    "unknown_execution": (404, "No such execution"),
    "unknown_workflow": (404, "No such workflow or version"),
    "unknown_frame": (404, "No such frame"),
    "unknown_cursor": (404, "No such place in this list"),
    "unknown_token": (404, "No such token of a task or a scope"),
    "method_not_allowed": (405, "This address does not take that method"),
    "not_acceptable": (406, "No form that the caller takes can be given"),
    "conflict": (409, "The key stands for something else"),
    "not_allowed": (409, "The state of the execution forbids it"),
    "held": (409, "Somebody else holds it"),
    "lease_lost": (409, "The task or the lease is held no more"),
    "payload_too_large": (413, "The body or a value is over a limit"),
    "unsupported_media_type": (415, "The body must be JSON"),
    "invalid": (422, "The request does not fit its description"),
    "invalid_name": (422, "A name or an id has a wrong form"),
    "invalid_value": (422, "A value cannot be recorded"),
    "bad_arguments": (422, "The arguments do not fit the workflow"),
    "update_rejected": (422, "The workflow refused the update"),
    "rate_limited": (429, "Too many requests"),
    "internal": (500, "A fault of the service"),
    "unavailable": (503, "The storage cannot be reached now"),
    "storage_refused": (503, "The storage refuses; an operator must look at it"),
    "behind": (409, "This process has not yet seen that sequence number"),
    "closing": (503, "This process is shutting down"),
    "timeout": (504, "No answer came in the time given"),
}
"""Every code with its status and its title."""

_BY_ERROR: tuple[tuple[type[Exception], str], ...] = (
    (errors.InvalidName, "invalid_name"),
    (errors.InvalidValue, "invalid_value"),
    (errors.PayloadTooLarge, "payload_too_large"),
    (errors.BadArguments, "bad_arguments"),
    (errors.UnknownWorkflow, "unknown_workflow"),
    (errors.UnknownExecution, "unknown_execution"),
    (errors.UnknownFrame, "unknown_frame"),
    (errors.DispatchConflict, "conflict"),
    (errors.NotAllowed, "not_allowed"),
    (errors.UpdateRejected, "update_rejected"),
    (errors.ResultTimeout, "timeout"),
    (errors.LeaseLost, "lease_lost"),
    (errors.BackendRefused, "storage_refused"),
    (errors.BackendError, "unavailable"),
    (errors.UsageError, "invalid"),
)
_HIDDEN = frozenset({"storage_refused", "unavailable"})
_BY_STATUS = {
    400: "bad_request",
    404: "not_found",
    405: "method_not_allowed",
    406: "not_acceptable",
    413: "payload_too_large",
    415: "bad_request",
}
_RETRY_AFTER = {"unavailable": "1", "behind": "1", "closing": "1", "timeout": "1"}


class InvalidField(BaseModel):
    """One thing that does not fit: where, and why."""

    location: str = Field(examples=["body.workflow"])
    problem: str = Field(examples=["Field required"])


class ProblemDetails(BaseModel):
    """RFC 9457, with the request's id."""

    type: str = Field(examples=["urn:flowli:problem:unknown_execution"])
    title: str = Field(examples=["No such execution"])
    status: int = Field(examples=[404])
    code: str = Field(examples=["unknown_execution"])
    detail: str = Field(examples=["no execution 0197a1b2-0000-7000-8000-000000000000 exists in this bucket"])
    request_id: str = ""
    errors: list[InvalidField] = Field(default=[])


PROBLEMS: dict[int | str, dict[str, object]] = {
    status: {
        "description": HTTPStatus(status).phrase,
        "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/ProblemDetails"}}},
    }
    for status in (400, 401, 403, 404, 409, 413, 415, 422, 429, 503, 504)
}
"""For ``responses=`` of routers."""


class Problem(Exception):
    """Ends a request with a problem.

    Args:
        code: one of ``CODES``.
        detail: one sentence of fact, then what to do.
        headers: sent along.
    """

    def __init__(self, code: str, detail: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail
        self.headers = dict(headers or {})


def problem_response(
    code: str,
    detail: str,
    *,
    request_id: str = "",
    headers: Mapping[str, str] | None = None,
    fields: Sequence[InvalidField] = (),
) -> Response:
    """The answer for a problem."""
    status, title = CODES[code]
    body = ProblemDetails(
        type=f"urn:flowli:problem:{code}",
        title=title,
        status=status,
        code=code,
        detail=detail,
        request_id=request_id,
        errors=list(fields),
    )
    sent = {"cache-control": "no-store", **(headers or {})}
    if code in _RETRY_AFTER:
        sent.setdefault("retry-after", _RETRY_AFTER[code])
    return Response(body.model_dump_json(), status, sent, "application/problem+json")


def of_error(error: Exception) -> Problem | None:
    """The problem that an error of flowli is; None for a fault of the service."""
    for kind, code in _BY_ERROR:
        if isinstance(error, kind):
            detail = f"{CODES[code][1]}; try again later." if code in _HIDDEN else str(error)
            return Problem(code, detail)
    return None


def install(app: FastAPI) -> None:
    """Have every error of an application answered with a problem."""
    app.add_exception_handler(Problem, _problem)
    app.add_exception_handler(errors.FlowliError, _flowli)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(Exception, fault)


def _id(request: Request) -> str:
    return str(request.scope.get("flowli.request_id", ""))


async def _problem(request: Request, error: Exception) -> Response:
    assert isinstance(error, Problem)
    return problem_response(error.code, error.detail, request_id=_id(request), headers=error.headers)


async def _flowli(request: Request, error: Exception) -> Response:
    found = of_error(error)
    if found is None:
        return await fault(request, error)
    if found.code in _HIDDEN:
        _log.warning("the storage failed", error_type=type(error).__name__, error=str(error))
    return problem_response(found.code, found.detail, request_id=_id(request), headers=found.headers)


async def _invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    fields = [
        InvalidField(location=".".join(str(part) for part in one["loc"]), problem=str(one["msg"]))
        for one in error.errors()[:20]
    ]
    code = "bad_request" if any(one["type"] == "json_invalid" for one in error.errors()) else "invalid"
    told = "; ".join(f"{one.location}: {one.problem}" for one in fields[:3])
    return problem_response(code, told, request_id=_id(request), fields=fields)


async def _http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    code = _BY_STATUS.get(error.status_code, "internal" if error.status_code >= 500 else "bad_request")
    headers = dict(error.headers or {})
    if code in ("not_found", "method_not_allowed") and (allowed := _allowed(request)):
        code = "method_not_allowed"  # the interface's files answer for every address that takes no GET
        headers.pop("Allow", None)
        headers["allow"] = ", ".join(allowed)
    detail = f"{request.method} {request.url.path}: {CODES[code][1].lower()}"
    return problem_response(code, detail, request_id=_id(request), headers=headers)


def _allowed(request: Request) -> list[str]:
    """The methods of an address that does not take the one of the request."""
    path = request.scope["path"].removeprefix(request.scope.get("root_path", ""))
    found: list[str] = request.app.state.addresses.methods(path)
    return [] if request.method in found else found


async def fault(request: Request, error: Exception) -> Response:
    """The answer to an error that should not be; the log says what it was."""
    # as text: a renderer that shows the variables of a traceback would show the token of the request
    trace = "".join(traceback.format_exception(error))
    _log.error("a request failed", error_type=type(error).__name__, traceback=trace)
    return problem_response("internal", "The service failed; its log has the request id.", request_id=_id(request))
