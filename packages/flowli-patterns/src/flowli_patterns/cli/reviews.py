"""``flowli reviews``: what waits for the decision of people."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from flowli.cli.options import common
from flowli.cli.session import Session, run
from flowli.cli.shell import FlowliCommand

if TYPE_CHECKING:
    from flowli.cli.render.screen import Cell
    from flowli.timestamp import Timestamp
    from flowli_patterns.review.inbox import ReviewView

__all__ = ["reviews"]


@click.command(cls=FlowliCommand)
@click.option(
    "--status",
    type=click.Choice(["open", "decided", "expired", "closed", "all"]),
    default="open",
    show_default=True,
    metavar="STATUS",
    help="open, decided, expired, closed or all.",
)
@click.option("--workflow", metavar="NAME", help="Only of executions of this workflow.")
@click.option("--for", "who", metavar="USER", help="Only those that this person may decide now.")
@click.option("--group", "groups", multiple=True, metavar="GROUP", help="A group of that person; repeatable.")
@common()
def reviews(status: str, workflow: str | None, who: str | None, groups: tuple[str, ...]) -> None:
    """List the reviews that wait for a decision, the oldest first.

    The list comes from the control log. `flowli decide` decides one of them.
    """

    async def body(session: Session) -> None:
        from flowli.cli.index import opened
        from flowli_patterns.review.shown import view_data
        from flowli_patterns.review.verbs import Reviews

        wanted = None if status == "all" else status
        async with opened(session) as index:
            reviews = Reviews(session.engine, index.projection)
            found = await reviews.list(status=wanted, workflow=workflow, who=who, groups=groups)
        if session.screen.json_wanted:
            session.screen.json([view_data(view) for view in found])
        elif found:
            rows = [_row(view, session.engine.world.now()) for view in found]
            session.screen.table(("REVIEW", "SUBJECT", "STATUS", "AGE", "DEADLINE", "DETAIL"), rows)
        else:
            session.screen.note("flowli: no review fits")

    run(body)


def _row(view: ReviewView, now: Timestamp) -> list[Cell]:
    from flowli.cli.render import words

    deadline = view.state.request.deadline
    left = "-" if deadline is None else words.duration(deadline - now) if deadline > now else "passed"
    subject = " ".join(view.subject.split())
    return [view.review, subject, view.status, words.duration(now - view.opened_at), left, _detail(view)]


def _detail(view: ReviewView) -> str:
    decision = view.decision
    if decision is not None:
        return f"{decision.verdict} by {', '.join(decision.by) or 'the deadline'}"
    if view.status != "open":
        return "-"
    who = ", ".join(view.state.deciders) or "anyone"
    needed = view.state.request.approvals
    return f"{who}; {len(view.state.votes)} of {needed} votes" if needed > 1 else who
