"""Parts of requests that many routes share, each checked before anything is asked of the storage."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import Depends, Header, Path
from pydantic import AfterValidator, BeforeValidator, Field, StringConstraints

from flowli.domain.errors import InvalidName
from flowli.domain.ids import check_key, check_name, parse_eid
from flowli.timestamp import Timestamp

__all__ = [
    "MOST",
    "AfterSeq",
    "BusinessKey",
    "EidPath",
    "EidValue",
    "FidText",
    "IdempotencyKey",
    "Instant",
    "Name",
    "NamePath",
    "Reason",
    "VersionText",
]

MOST = 2**53 - 1
"""The largest whole number that every JSON reader keeps exactly, and that the storage takes."""

_NAME = r"^[A-Za-z0-9_-]{1,128}$"
_KEY = r"^[A-Za-z0-9_@=+~:-][A-Za-z0-9._@=+~:-]{0,199}$"
_EID = r"^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$"


def _eid(text: object) -> UUID:
    if isinstance(text, UUID):
        return text
    try:
        return parse_eid(text)  # type: ignore[arg-type]
    except InvalidName as error:
        raise ValueError(str(error)) from None


def _named(text: str) -> str:
    try:
        return check_name("name", text)
    except InvalidName as error:
        raise ValueError(str(error)) from None


def _keyed(text: str) -> str:
    try:
        return check_key("key", text)
    except InvalidName as error:
        raise ValueError(str(error)) from None


def _instant(text: str) -> Timestamp:
    from datetime import datetime

    try:
        return Timestamp.from_datetime(datetime.fromisoformat(text))
    except (ValueError, OverflowError) as error:
        raise ValueError(f"not an instant with a time zone, such as 2026-01-31T23:59:59Z ({error})") from None


EidValue = Annotated[UUID, BeforeValidator(_eid)]
EidPath = Annotated[
    UUID, BeforeValidator(_eid), Path(description="The execution.", examples=["0197a1b2-0000-7000-8000-000000000000"])
]
Name = Annotated[str, AfterValidator(_named), Field(pattern=_NAME)]
NamePath = Annotated[str, AfterValidator(_named), Path(pattern=_NAME, examples=["default"])]
BusinessKey = Annotated[str, AfterValidator(_keyed), Field(pattern=_KEY, examples=["INV-7"])]
VersionText = Annotated[str, AfterValidator(_keyed), Field(pattern=_KEY, examples=["1"])]
FidText = Annotated[str, StringConstraints(pattern=r"^root(/[A-Za-z0-9_-]+[#:][A-Za-z0-9_-]+)*$", max_length=1024)]
Reason = Annotated[str, StringConstraints(max_length=1000)]


Instant = Annotated[str, AfterValidator(lambda text: str(_instant(text)))]
"""An instant with any zone, given back in flowli's own form."""


def _after_seq(
    flowli_after: Annotated[
        int | None,
        Header(ge=0, le=MOST, description="Control sequence of an own write that the answer must show."),
    ] = None,
) -> int | None:
    return flowli_after


AfterSeq = Annotated[int | None, Depends(_after_seq)]
"""``Flowli-After``: read your own writes, at any process."""

IdempotencyKey = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=200,
        pattern=r"^[\x21-\x7e]+$",
        description="The same request with the same key is done once.",
    ),
]
