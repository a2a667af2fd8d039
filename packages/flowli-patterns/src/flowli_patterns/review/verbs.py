"""``engine.reviews``: the engine's side of reviews.

Deciding and delegating:

1. Bring the inbox up to date, and refuse what is not allowed by it; nothing is stored.
2. Send the event to the channel of the review. *Crash after it*: the workflow receives it and does step 3 itself.
3. Get the event into the ledger (``ledger``): the claims there decide who was first. *Crash after it*: the event
   stands, and the workflow, which has the message, finds it there.
4. Announce it, so that other inboxes show it before the workflow has run.
5. Answer by what stands: the caller's event, or the error that says what stands in its place.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping

from flowli import Engine, WorkflowProjection
from flowli.codec import to_data
from flowli.domain.data import Data
from flowli.domain.entries import Announced, ControlEntry
from flowli.domain.errors import NotAllowed, UnknownExecution, UsageError
from flowli.domain.provenance import Actor, ActorKind, Provenance
from flowli_patterns.errors import ReviewClosed, UnknownReview
from flowli_patterns.review.inbox import Inbox, ReviewView
from flowli_patterns.review.ledger import Placed, place
from flowli_patterns.review.model import Delegated, Event, Vote, event_data
from flowli_patterns.review.waiting import TOPIC, place_key

__all__ = ["Reviews"]

STATUSES = ("open", "decided", "expired", "closed")


class Reviews:
    """Lists reviews, decides them and hands them over. ``engine.reviews`` is one.

    Who calls is taken at their word: check identities and groups before, as the HTTP service does.

    Args:
        projection: where the reviews are read from, for a process that does not live long enough to read the control
            log itself; None reads it once and then what is new.
    """

    def __init__(self, engine: Engine, projection: WorkflowProjection | None = None) -> None:
        self._engine = engine
        self._inbox = Inbox(engine.ports.control, projection)

    async def list(
        self,
        *,
        status: str | None = "open",
        workflow: str | None = None,
        who: str | None = None,
        groups: Iterable[str] = (),
    ) -> list[ReviewView]:
        """Reviews, the oldest first.

        Args:
            status: ``open``, ``decided``, ``expired`` or ``closed``; None for all.
            workflow: only of executions of this workflow.
            who: only those that this person may decide now.
            groups: of that person.

        Raises:
            UsageError: there is no such status.
        """
        if status is not None and status not in STATUSES:
            raise UsageError(f"reviews have no status '{status}'; use one of {', '.join(STATUSES)}, or None for all")
        await self._inbox.catch_up()
        found = [view for view in self._inbox.all() if status in (None, view.status)]
        found = [view for view in found if workflow in (None, view.workflow)]
        if who is None:
            return found
        mine = tuple(groups)
        return [view for view in found if view.state.could_decide(who, mine)]

    async def get(self, review: str) -> ReviewView:
        """One review.

        Raises:
            UnknownReview: there is none of that id.
        """
        await self._inbox.catch_up(review)
        view = self._inbox.get(review)
        if view is None:
            raise UnknownReview(
                f"no review {review!r} was opened in this bucket; `flowli reviews` lists those that were"
            )
        return view

    async def decide(
        self,
        review: str,
        verdict: str,
        *,
        actor: Actor | str,
        groups: Iterable[str] = (),
        form: object = None,
        comment: str = "",
    ) -> ReviewView:
        """Decide a review, or vote where several have to. The same decision by the same person again is fine.

        Args:
            actor: who decides; a text is the name of a person.
            groups: of that person.
            form: what is filled in: a mapping, or an object of the form's dataclass.
            comment: why, for people.

        Returns:
            The review after it. Where several have to vote, it may be open still.

        Raises:
            UnknownReview: there is none of that id.
            UnknownVerdict, FormRefused: the verdict or the form is none that the review takes.
            NotADecider: this person may not decide it.
            AlreadyVoted: this person voted otherwise before.
            ReviewDecided: somebody was first, and decided otherwise; holds that decision.
            ReviewExpired: its deadline has passed.
            ReviewClosed: the workflow no longer waits for it.
        """
        who = _person(actor)
        filled = _filled(form)
        vote = Vote(who.id, verdict, self._engine.world.now(), tuple(groups), filled, comment)
        return await self._act(review, vote, who)

    async def delegate(self, review: str, to: str, *, actor: Actor | str, groups: Iterable[str] = ()) -> ReviewView:
        """Hand the right to decide over to another person. Whoever does so can no longer decide.

        Args:
            to: the name of the other person.
            actor: who hands it over; a text is the name of a person.
            groups: of that person.

        Raises:
            The errors of ``decide``.
        """
        who = _person(actor)
        if not to.strip():
            raise UsageError("nobody is named to delegate the review to; give a name")
        return await self._act(review, Delegated(who.id, to, self._engine.world.now(), tuple(groups)), who)

    async def _act(self, review: str, event: Event, who: Actor) -> ReviewView:
        view = await self.get(review)
        if view.state.holds(event):
            return view
        refused = view.state.refusal(event)
        if refused is not None:
            raise refused
        await self._send(view, event, who)
        placed = await self._place(view, event)
        self._inbox.learn(review, placed.seen)
        if any(one == event for _, one in placed.seen):
            await self._announce(view, placed, who)
        if placed.refusal is not None:
            raise placed.refusal
        return self._inbox.get(review) or view

    async def _send(self, view: ReviewView, event: Event, who: Actor) -> None:
        try:
            await self._engine.signal(view.eid, view.channel, event_data(event), actor=who)
        except (NotAllowed, UnknownExecution):
            await self._inbox.catch_up()
            latest = self._inbox.get(view.review) or view
            if latest.state.holds(event):
                return
            raise latest.state.refusal(event) or ReviewClosed(
                f"review {view.review} is closed: its execution has ended"
            ) from None

    async def _place(self, view: ReviewView, event: Event) -> Placed:
        async def claim(number: int, value: Data) -> Data:
            return (await self._engine.ports.dispatch.claim(place_key(view.review, number), value)).value

        return await place(view.state, event, claim)

    async def _announce(self, view: ReviewView, placed: Placed, who: Actor) -> None:
        events: list[Data] = [{"place": number, **event_data(event)} for number, event in placed.seen]
        about: Data = {"what": "event", "review": view.review, "events": events}
        by = Provenance(who, self._engine.site, self._engine.world.now())
        await self._engine.announcer.post([ControlEntry(Announced(TOPIC, about, view.eid), by)])


def _person(actor: Actor | str) -> Actor:
    found = Actor(ActorKind.HUMAN, actor) if isinstance(actor, str) else actor
    if not found.id.strip():
        raise UsageError("nobody is named who decides; give the name of a person")
    return found


def _filled(form: object) -> dict[str, Data]:
    if form is None:
        return {}
    named = dict(form) if isinstance(form, Mapping) else None
    if named is None and dataclasses.is_dataclass(form) and not isinstance(form, type):
        hint = type(form)
        data = to_data(form, hint, path="form")
    else:
        data = to_data(form if named is None else named, path="form")
    if not isinstance(data, dict):
        raise UsageError(f"a form is filled in by a mapping or a dataclass, not by {type(form).__name__}")
    return data
