"""Parts of requests that many routes share, each checked before anything is asked of the storage."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Annotated
from uuid import UUID

from fastapi import Depends, Header, Path
from pydantic import AfterValidator, BeforeValidator, Field, StringConstraints

from flowli.domain.errors import InvalidName
from flowli.domain.ids import parse_eid
from flowli.timestamp import Timestamp

__all__ = [
    "MOST",
    "WHOLE",
    "AfterSeq",
    "BusinessKey",
    "EidPath",
    "EidValue",
    "FidText",
    "IdempotencyKey",
    "Instant",
    "LastId",
    "Name",
    "NamePath",
    "Reason",
    "VersionText",
]

MOST = 2**53 - 1
"""The largest whole number that every JSON reader keeps exactly, and that the storage takes."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LEAP = re.compile(r"^([\d-]{10}T\d\d:\d\d:)60(.*)$", re.ASCII)
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


def _whole(number: object) -> object:
    return int(number) if isinstance(number, float) and number.is_integer() else number


def _instant(text: str) -> str:
    """The instant in flowli's own form; one before 1970 is the beginning of 1970, when nothing was either."""
    try:
        moment = datetime.fromisoformat(_LEAP.sub(r"\g<1>59\g<2>", text.upper()))
        return str(Timestamp.from_datetime(max(moment, _EPOCH)))
    except (ValueError, OverflowError, TypeError) as error:
        raise ValueError(f"not an instant with a time zone, such as 2026-01-31T23:59:59Z ({error})") from None


EidValue = Annotated[UUID, BeforeValidator(_eid)]
EidPath = Annotated[
    UUID, BeforeValidator(_eid), Path(description="The execution.", examples=["0197a1b2-0000-7000-8000-000000000000"])
]
Name = Annotated[str, StringConstraints(pattern=_NAME)]
NamePath = Annotated[str, StringConstraints(pattern=_NAME), Path(examples=["default"])]
BusinessKey = Annotated[str, StringConstraints(pattern=_KEY), Field(examples=["INV-7"])]
VersionText = Annotated[str, StringConstraints(pattern=_KEY), Field(examples=["1"])]
FidText = Annotated[str, StringConstraints(pattern=r"^root(/[A-Za-z0-9_-]+[#:][A-Za-z0-9_-]+)*$", max_length=1024)]
Reason = Annotated[str, StringConstraints(max_length=1000)]


WHOLE = BeforeValidator(_whole)
"""Takes a whole number however it is written: 3 and 3.0 are the same in JSON. It stands last, behind the bounds."""

Instant = Annotated[
    str,
    StringConstraints(max_length=64),
    AfterValidator(_instant),
    Field(json_schema_extra={"format": "date-time"}, examples=["2026-01-31T23:59:59Z"]),
]
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

LastId = Annotated[str | None, Header(alias="Last-Event-ID", max_length=2000, description="Go on behind this event.")]
"""Where a stream of events goes on, at any process."""
