"""Answers: JSON with an ETag made of the content, so that every process gives the same one; 304 where it is known."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from fastapi import Request
from pydantic import BaseModel
from starlette.responses import Response

__all__ = ["CONTROL_SEQ", "answer", "written"]

CONTROL_SEQ = "flowli-control-seq"
"""The header that says up to where a reader must look to see a write."""


def answer(request: Request, model: BaseModel, headers: Mapping[str, str] | None = None) -> Response:
    """A model that was read, or 304 if the caller has just this one."""
    body = model.model_dump_json().encode()
    etag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
    sent = {"etag": etag, "cache-control": "private, no-cache", "vary": "authorization", **(headers or {})}
    if _matches(request.headers.get("if-none-match"), etag):
        return Response(status_code=304, headers=sent)
    return Response(body, 200, sent, "application/json")


def written(model: BaseModel, seq: int | None, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """The answer to a write, with the control sequence by which it can be read back."""
    sent = {"cache-control": "no-store", **(headers or {})}
    if seq is not None:
        sent[CONTROL_SEQ] = str(seq)
    return Response(model.model_dump_json(), status, sent, "application/json")


def _matches(given: str | None, etag: str) -> bool:
    if given is None:
        return False
    return given.strip() == "*" or etag in {one.strip().removeprefix("W/") for one in given.split(",")}
