"""What ``flowli explain`` says of an execution that waits for the decision of people."""

from __future__ import annotations

from flowli import Explanation, Inspection, Moves, NextAction, Pointers
from flowli.domain.channels import scoped_channel
from flowli.domain.ids import Fid
from flowli.domain.ports import Ports
from flowli.domain.waits import On, OnChannel
from flowli_patterns._nodes import channel_of, short_name
from flowli_patterns.review.inbox import Inbox, ReviewView

__all__ = ["open_review"]


async def open_review(inspection: Inspection, ports: Ports) -> Explanation | None:
    """The first review that the execution waits for; the others are told in the details. None if there is none."""
    found = [(name, wait) for wait in inspection.waits if (name := _review(inspection, wait.fid, wait.on)) is not None]
    if not found:
        return None
    inbox = Inbox(ports.control)
    await inbox.catch_up()
    (review, first), *others = found
    return Explanation(
        eid=inspection.eid,
        reason="open",
        sentence=f"It has waited since {first.since} for {_asked(review, inbox.get(review))}.",
        moves=Moves.OUTSIDE,
        actions=(
            NextAction("decide it", f"flowli decide {review} VERDICT", ("VERDICT",)),
            NextAction("see all reviews that wait", "flowli reviews"),
        ),
        evidence=Pointers(journal=tuple(sorted(wait.seq for _, wait in found))),
        details=tuple(f"It also waits for {_asked(other, inbox.get(other))}." for other, _ in others),
    )


def _asked(review: str, view: ReviewView | None) -> str:
    """Whose decision about what; the control log may be a moment behind the journal."""
    if view is None:
        return f"somebody to decide review {review}"
    who = " or ".join(view.state.deciders) or "somebody"
    deadline = view.state.request.deadline
    until = "" if deadline is None else f", until {deadline}"
    return f"{who} to decide '{view.subject}' (review {review}){until}"


def _review(inspection: Inspection, fid: Fid, on: On) -> str | None:
    """The id of the review that a frame waits for; None if it waits for something else."""
    node = fid.rpartition("/")[0]
    if not isinstance(on, OnChannel) or not node.rpartition("/")[2].startswith("review#"):
        return None
    if on.channel != scoped_channel(inspection.eid, channel_of(node)):
        return None
    return f"{inspection.eid}:{short_name(node)}"
