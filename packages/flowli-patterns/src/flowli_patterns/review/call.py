"""``review``: the call, and the rules it takes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any, TypedDict, TypeVar, Unpack, overload

from flowli import Context
from flowli.codec import from_data, to_data
from flowli.domain.errors import UsageError
from flowli.timestamp import Timestamp
from flowli_patterns._nodes import channel_of, short_name
from flowli_patterns._times import Seconds, positive
from flowli_patterns.review.forms import describe
from flowli_patterns.review.model import Deciders, Decision, Escalation, Notice, Request
from flowli_patterns.review.waiting import Waiting

__all__ = ["Rules", "review"]

F = TypeVar("F")


class Rules(TypedDict, total=False):
    """The rules of a review; each may be left out.

    Attributes:
        data: what deciders are shown. It stands in the control log, for everybody who can read the bucket.
        verdicts: those that are taken; ``approve`` and ``reject`` by default. None takes any.
        vetoes: verdicts that decide by one vote; ``reject``, if it is a verdict, by default.
        approvals: how many people have to vote for one verdict; 1 by default.
        deciders: who may decide: names, ``group:NAME`` for everybody of a group. Anyone by default.
        requester: who may not decide; whoever started the execution by default.
        self_approval: the requester may decide nevertheless.
        deadline: seconds from now, or an instant.
        if_expired: the verdict that stands when the deadline has passed.
        remind: seconds between two reminders.
        escalate: who else may decide after some time.
        notify: a step that tells people; it is given a ``Notice``.
    """

    data: object
    verdicts: Iterable[str] | None
    vetoes: Iterable[str] | None
    approvals: int
    deciders: Iterable[str]
    requester: str | None
    self_approval: bool
    deadline: Seconds | datetime | None
    if_expired: str | None
    remind: Seconds | None
    escalate: Iterable[Escalation]
    notify: Callable[[Notice], object] | None


@overload
async def review(ctx: Context, subject: str, *, form: type[F], **rules: Unpack[Rules]) -> Decision[F]: ...
@overload
async def review(ctx: Context, subject: str, *, form: None = None, **rules: Unpack[Rules]) -> Decision[None]: ...
async def review(ctx: Context, subject: str, *, form: type[Any] | None = None, **rules: Unpack[Rules]) -> Decision[Any]:
    """Wait for the decision of people. Exactly one stands, whoever decides at the same moment.

    Args:
        subject: one line: what is to be decided.
        form: a dataclass that a decision fills in; see ``flowli_patterns.review.forms``.
        rules: who may decide, how many have to, until when: see ``Rules``.

    Returns:
        The decision that stands.

    Raises:
        ReviewExpired: the deadline has passed without a decision, and there is no ``if_expired``.
        UsageError: the rules cannot work: nobody could ever decide, for example.

    Example:
        >>> decision = await review(ctx, f"pay {invoice.number}?", deciders=["group:finance"], deadline=2 * 86_400)
        >>> if decision.approved:
        ...     await ctx.step(pay, invoice)
    """
    request = _request(Timestamp.from_datetime(ctx.now), subject, form, **rules)
    remind = rules.get("remind")
    every = None if remind is None else positive("remind", remind)
    with ctx.scope("review") as node:
        waiting = Waiting(ctx, request, f"{ctx.eid}:{short_name(node)}", channel_of(node), every, rules.get("notify"))
        made = await waiting.run()
    filled = None if form is None or made.expired else from_data(made.form or {}, form, path="form")
    return Decision(made.verdict, made.by, made.decided_at, made.comment, filled, made.expired)


def _request(
    begin: Timestamp,
    subject: str,
    form: type[Any] | None,
    *,
    data: object = None,
    verdicts: Iterable[str] | None = ("approve", "reject"),
    vetoes: Iterable[str] | None = None,
    approvals: int = 1,
    deciders: Iterable[str] = (),
    requester: str | None = None,
    self_approval: bool = False,
    deadline: Seconds | datetime | None = None,
    if_expired: str | None = None,
    remind: Seconds | None = None,
    escalate: Iterable[Escalation] = (),
    notify: Callable[[Notice], object] | None = None,
) -> Request:
    taken = None if verdicts is None else tuple(dict.fromkeys(verdicts))
    levels = sorted(escalate, key=lambda one: one.after)
    request = Request(
        subject=subject,
        data=to_data(data, path="data"),
        verdicts=taken,
        vetoes=tuple(vetoes) if vetoes is not None else ("reject",) if taken is None or "reject" in taken else (),
        approvals=approvals,
        deciders=Deciders.of(deciders),
        requester=requester,
        self_approval=self_approval,
        form=describe(form),
        deadline=_instant(begin, deadline),
        if_expired=if_expired,
        escalations=tuple((begin + positive("after", one.after), Deciders.of(one.to)) for one in levels),
    )
    _check(request)
    return request


def _instant(now: Timestamp, deadline: Seconds | datetime | None) -> Timestamp | None:
    if deadline is None:
        return None
    if isinstance(deadline, datetime):
        found = Timestamp.from_datetime(deadline)
        if found <= now:
            raise UsageError(f"deadline {found} is past; give an instant to come")
        return found
    return now + positive("deadline", deadline)


def _check(request: Request) -> None:
    """Refuse rules under which nothing could be decided."""
    verdicts = request.verdicts
    most = None if request.deciders.anyone or request.deciders.groups else len(request.deciders.users)
    if any(more.groups for _, more in request.escalations):
        most = None
    elif most is not None:
        most += sum(len(more.users) for _, more in request.escalations)
    problems = (
        (not request.subject.strip(), "subject is empty; write one line"),
        (verdicts is not None and not verdicts, "verdicts is empty; name one, or give None for any"),
        (request.approvals < 1, f"approvals is {request.approvals}; give at least 1"),
        (
            most is not None and request.approvals > most,
            f"approvals is {request.approvals} and only {most} may decide; name more deciders",
        ),
        (
            verdicts is not None and not set(request.vetoes) <= set(verdicts),
            f"vetoes {request.vetoes} holds what is no verdict",
        ),
        (
            request.if_expired is not None and verdicts is not None and request.if_expired not in verdicts,
            f"if_expired {request.if_expired!r} is no verdict",
        ),
        (request.if_expired is not None and request.deadline is None, "if_expired needs a deadline; give one"),
    )
    for wrong, problem in problems:
        if wrong:
            raise UsageError(f"this review cannot work: {problem}")
    if request.deciders.anyone and request.escalations:
        raise UsageError("this review cannot work: anyone may decide it, so that there is nobody to escalate to")
