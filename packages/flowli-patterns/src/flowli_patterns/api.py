"""Reviews over HTTP, under ``/v1/reviews``: listed, decided, delegated. The HTTP service loads it; nothing else does.

Who decides is the caller of the token: ``{issuer}|{subject}``, or the subject alone where the service vouches itself.
The caller of a decision needs ``reviews:decide:{queue}`` for the queue of the execution. The groups that they belong to
are those that the authenticator tells of.
"""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import Path, Query, Request, Response
from pydantic import Field, JsonValue, StringConstraints

from flowli.domain.ids import Eid
from flowli_api.answers import answer, written
from flowli_api.dto.base import In, Out
from flowli_api.params import EidPath, Name, Reason
from flowli_api.problems import Problem
from flowli_api.routing import KNOWN, ApiRouter, Caller, ServiceOf, requires
from flowli_api.service import Service
from flowli_patterns.errors import UnknownReview
from flowli_patterns.review.inbox import ReviewView
from flowli_patterns.review.shown import view_data

__all__ = ["router"]

router = ApiRouter(tags=["reviews"])

ReviewName = Annotated[str, Path(pattern=r"^[A-Za-z0-9._=-]{1,128}$", examples=["review-1"])]
Person = Annotated[str, StringConstraints(min_length=1, max_length=300, pattern=r"\S")]


class Made(Out):
    """The decision that stands."""

    verdict: str
    by: list[str]
    decided_at: str
    comment: str
    form: dict[str, JsonValue] | None
    expired: bool = Field(description="It is the verdict that stands when the deadline has passed.")


class Review(Out):
    """A review."""

    review: str = Field(examples=["0197a1b2-0000-7000-8000-000000000000:review-1"])
    eid: str
    workflow: str
    subject: str
    data: JsonValue
    status: Literal["open", "decided", "expired", "closed"]
    opened_at: str
    deadline: str | None
    verdicts: list[str] | None = Field(description="Those that are taken; null takes any.")
    approvals: int
    deciders: list[str] = Field(description="Names, and group:NAME; empty for anyone.")
    form: list[dict[str, JsonValue]] = Field(description="The fields that a decision fills in.")
    votes: list[dict[str, JsonValue]]
    decision: Made | None


class ReviewList(Out):
    """Reviews, the oldest first."""

    items: list[Review]


class Decide(In):
    """A decision."""

    verdict: str = Field(min_length=1, max_length=200, examples=["approve"])
    form: dict[str, JsonValue] | None = None
    comment: Reason = ""


class Delegate(In):
    """Who is to decide in the caller's place."""

    to: Person


@router.get("", response_model=ReviewList, operation_id="list_reviews")
@requires("reviews:read")
async def list_reviews(
    request: Request,
    caller: Caller,
    service: ServiceOf,
    status: Annotated[Literal["open", "decided", "expired", "closed", "all"], Query()] = "open",
    workflow: Annotated[Name | None, Query()] = None,
    mine: Annotated[bool, Query(description="Only those that the caller may decide now.")] = False,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> Response:
    """List reviews, the oldest first."""
    found = await service.engine.reviews.list(
        status=None if status == "all" else status,
        workflow=workflow,
        who=caller.actor.id if mine else None,
        groups=sorted(caller.groups),
    )
    seen = [_shown(view) for view in found if caller.sees(view.workflow)]
    return answer(request, ReviewList(items=seen[:limit]))


@router.get("/{eid}/{name}", response_model=Review, operation_id="get_review")
@requires("reviews:read")
async def get_review(request: Request, eid: EidPath, name: ReviewName, caller: Caller, service: ServiceOf) -> Response:
    """One review."""
    return answer(request, _shown(await _found(service, caller, eid, name)))


@router.post("/{eid}/{name}/decision", response_model=Review, operation_id="decide_review")
@requires(KNOWN)
async def decide_review(eid: EidPath, name: ReviewName, body: Decide, caller: Caller, service: ServiceOf) -> Response:
    """Decide a review. The same decision by the same caller again is fine; whoever is late gets 409."""
    view = await _decidable(service, caller, eid, name)
    made = await service.engine.reviews.decide(
        view.review,
        body.verdict,
        actor=caller.actor,
        groups=sorted(caller.groups),
        form=body.form,
        comment=body.comment,
    )
    return await _written(service, caller, "decide", made)


@router.post("/{eid}/{name}/delegation", response_model=Review, operation_id="delegate_review")
@requires(KNOWN)
async def delegate_review(
    eid: EidPath, name: ReviewName, body: Delegate, caller: Caller, service: ServiceOf
) -> Response:
    """Hand the caller's right to decide over to another person."""
    view = await _decidable(service, caller, eid, name)
    groups = sorted(caller.groups)
    made = await service.engine.reviews.delegate(view.review, body.to, actor=caller.actor, groups=groups)
    return await _written(service, caller, "delegate", made)


async def _found(service: Service, caller: Caller, eid: Eid, name: str) -> ReviewView:
    """A review within the caller's reach; one that is out of it is not told from none."""
    try:
        view = await service.engine.reviews.get(f"{eid}:{name}")
    except UnknownReview:
        view = None
    if view is None or not caller.sees(view.workflow):
        raise Problem("not_found", f"There is no review {eid}:{name}; GET /v1/reviews lists those that wait.")
    return view


async def _decidable(service: Service, caller: Caller, eid: Eid, name: str) -> ReviewView:
    """A review that the caller's token permits to decide; whether its rules do is for the review to say."""
    view = await _found(service, caller, eid, name)
    row = await service.row(caller, eid)
    service.guard.check(caller, f"reviews:decide:{row.queue}")
    return view


async def _written(service: Service, caller: Caller, verb: str, view: ReviewView) -> Response:
    service.logged(caller, verb, view.eid, review=view.review)
    return written(_shown(view), await service.control_seq())


def _shown(view: ReviewView) -> Review:
    return Review.model_validate(view_data(view))
