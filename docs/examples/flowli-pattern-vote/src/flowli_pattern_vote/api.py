"""Votes over HTTP, under ``/v1/ballots``. The HTTP service loads it; nothing else does.

Who votes is the caller of the token, so that nobody votes for others.
"""

from __future__ import annotations

from typing import Any, cast

from pydantic import BaseModel, ConfigDict

from flowli.api import ApiRouter, Caller, ServiceOf, requires
from flowli.domain.ids import parse_eid
from flowli_api.routing import KNOWN
from flowli_pattern_vote.ballots import Ballots

__all__ = ["router"]

router = ApiRouter(tags=["ballots"])


class Choice(BaseModel):
    """What a voter chooses."""

    model_config = ConfigDict(extra="forbid")

    choice: str


class BallotOut(BaseModel):
    """A vote that waits for the caller."""

    eid: str
    subject: str
    choices: list[str]
    end: str


@router.get("", response_model=list[BallotOut], operation_id="list_ballots")
@requires(KNOWN)
async def list_ballots(caller: Caller, service: ServiceOf) -> list[BallotOut]:
    """The open votes in which the caller has one."""
    return [
        BallotOut(eid=str(one.eid), subject=one.subject, choices=[*one.choices], end=str(one.end))
        for one in await _ballots(service).list()
        if caller.actor.id in one.voters
    ]


@router.post("/{eid}", status_code=204, operation_id="cast_vote")
@requires(KNOWN)
async def cast_vote(eid: str, body: Choice, caller: Caller, service: ServiceOf) -> None:
    """Vote. Doing it twice is doing it once."""
    await _ballots(service).cast(parse_eid(eid), caller.actor.id, body.choice)


def _ballots(service: ServiceOf) -> Ballots:
    """``engine.ballots``, which type checkers know of flowli's own distributions only."""
    found: Ballots = cast("Any", service.engine).ballots
    return found
