"""A review in its JSON form, for the command line and the HTTP service."""

from __future__ import annotations

from flowli.codec import to_data
from flowli.domain.data import Data
from flowli_patterns.review.forms import FormField
from flowli_patterns.review.inbox import ReviewView
from flowli_patterns.review.model import Vote

__all__ = ["view_data"]


def view_data(view: ReviewView) -> dict[str, Data]:
    """A review in its JSON form."""
    request, decision = view.state.request, view.decision
    fields = to_data(request.form, tuple[FormField, ...], path="form")
    made: Data = None
    if decision is not None:
        made = {
            "verdict": decision.verdict,
            "by": list(decision.by),
            "decided_at": decision.decided_at.isoformat(),
            "comment": decision.comment,
            "form": decision.form,
            "expired": decision.expired,
        }
    return {
        "review": view.review,
        "eid": str(view.eid),
        "workflow": view.workflow,
        "subject": view.subject,
        "data": request.data,
        "status": view.status,
        "opened_at": str(view.opened_at),
        "deadline": None if request.deadline is None else str(request.deadline),
        "verdicts": None if request.verdicts is None else list(request.verdicts),
        "approvals": request.approvals,
        "deciders": list(view.state.deciders),
        "form": fields,
        "votes": to_data(view.state.votes, tuple[Vote, ...], path="votes"),
        "decision": made,
    }
