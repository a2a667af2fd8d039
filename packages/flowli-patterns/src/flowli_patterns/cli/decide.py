"""``flowli decide``: decide a review, or hand it to another person."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from flowli.cli.exits import CommandFailed, ExitCode
from flowli.cli.options import common
from flowli.cli.session import Session, operator, run
from flowli.cli.shell import FlowliCommand
from flowli.cli.values import json_value, key_values

if TYPE_CHECKING:
    from flowli.domain.data import Data
    from flowli_patterns.review.inbox import ReviewView
    from flowli_patterns.review.verbs import Reviews

__all__ = ["decide"]

_WHOLE = 36


@click.command(cls=FlowliCommand)
@click.argument("review", metavar="REVIEW")
@click.argument("verdict", metavar="[VERDICT]", required=False)
@click.option("--comment", default="", metavar="TEXT", help="Why; it is recorded.")
@click.option("--arg", "pairs", multiple=True, metavar="KEY=VALUE", help="One field of the form; repeatable.")
@click.option("--form", "data", metavar="JSON", help="The whole form: JSON, @file, or - for standard input.")
@click.option("--group", "groups", multiple=True, metavar="GROUP", help="A group that you belong to; repeatable.")
@click.option("--delegate", "to", metavar="USER", help="Hand the right to decide to this person instead.")
@common()
def decide(
    review: str,
    verdict: str | None,
    comment: str,
    pairs: tuple[str, ...],
    data: str | None,
    groups: tuple[str, ...],
    to: str | None,
) -> None:
    """Decide the review REVIEW: VERDICT is approve, reject, or what else it takes.

    REVIEW is its id or an unambiguous beginning of it, as `flowli reviews` lists it. You are the user of this shell, or
    FLOWLI_ACTOR. If somebody was faster the exit code is 1, and the message says what was decided.

    \b
    flowli decide 0197a1 approve --comment "ordered in May"
    flowli decide 0197a1 approve --arg amount=40 --arg risk=low
    flowli decide 0197a1 --delegate bob
    """
    if (verdict is None) == (to is None):
        raise click.UsageError("give a VERDICT, or --delegate USER to hand the review to another person")
    whole = _whole_form(data, pairs)

    async def body(session: Session) -> None:
        from flowli.cli.index import opened
        from flowli_patterns.review.shown import view_data
        from flowli_patterns.review.verbs import Reviews

        async with opened(session) as index:
            reviews = Reviews(session.engine, index.projection)
            name = await _resolve(reviews, review)
            if to is not None:
                view = await reviews.delegate(name, to, actor=operator(), groups=groups)
                told = f"{name}  handed to {to}"
            else:
                assert verdict is not None
                form = whole if whole is not None else _form(await reviews.get(name), pairs)
                view = await reviews.decide(name, verdict, actor=operator(), groups=groups, form=form, comment=comment)
                told = f"{name}  {_told(view, verdict)}"
        if session.screen.json_wanted:
            session.screen.json(view_data(view))
        else:
            session.screen.line(told)

    run(body)


def _told(view: ReviewView, verdict: str) -> str:
    if view.decision is not None:
        return f"decided: {view.decision.verdict}"
    alike = sum(1 for vote in view.state.votes if vote.verdict == verdict)
    return f"{verdict}: {alike} of {view.state.request.approvals} votes"


def _whole_form(data: str | None, pairs: tuple[str, ...]) -> dict[str, Data] | None:
    if data is not None and pairs:
        raise click.UsageError("--form and --arg both give the form; use one of them")
    if data is None:
        return None
    found = json_value("--form", data)
    if not isinstance(found, dict):
        raise click.BadParameter("write an object with the fields of the form", param_hint="--form")
    return found


def _form(view: ReviewView, pairs: tuple[str, ...]) -> dict[str, Data]:
    """The fields as the form has them: ``--arg amount=40`` is a text where a text, a decimal or a date is asked for."""
    texts = {one.name for one in view.state.request.form if one.kind in ("text", "decimal", "date", "choice")}
    return key_values(pairs, texts)


async def _resolve(reviews: Reviews, text: str) -> str:
    """The review that an id or an unambiguous beginning of one names; one that is open counts first."""
    if len(text.partition(":")[0]) == _WHOLE and ":" in text:
        return text  # one that a fork took over is not listed
    found = await reviews.list(status=None)
    fitting = [view for view in found if view.review.startswith(text.lower())]
    if len(fitting) > 1:
        fitting = [view for view in fitting if view.status == "open"] or fitting
    if len(fitting) == 1:
        return fitting[0].review
    if not fitting:
        message = f"no review begins with {text!r}; `flowli reviews --status all` lists those that exist"
        raise CommandFailed(message, ExitCode.REFUSED, "UnknownReview")
    names = ", ".join(view.review for view in fitting[:5])
    raise CommandFailed(f"{text!r} fits {names}; type more of it", ExitCode.REFUSED, "AmbiguousId")
