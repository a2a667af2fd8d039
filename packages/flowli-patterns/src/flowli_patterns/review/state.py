"""``ReviewState``: what the events of a review, in the order of their places, make of it.

Pure: everybody who knows the request and the same events comes to the same state, the workflow and every engine alike.
An event that is not allowed where it stands changes nothing but the count of places.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, assert_never

from flowli.domain.errors import NotAllowed, UsageError
from flowli_patterns.errors import (
    AlreadyVoted,
    NotADecider,
    ReviewClosed,
    ReviewDecided,
    ReviewExpired,
    UnknownVerdict,
)
from flowli_patterns.review.forms import check_form
from flowli_patterns.review.model import (
    Deciders,
    Decision,
    Delegated,
    Escalated,
    Event,
    Expired,
    Request,
    Vote,
    Withdrawn,
)

__all__ = ["ReviewState"]


@dataclass(frozen=True, slots=True)
class ReviewState:
    """See the module's docstring.

    Attributes:
        review: the id, for messages.
        requester: who may not decide; None if everybody may.
        places: how many events there were, the void ones included.
        votes: the valid ones, in order.
        delegations: the valid ones, in order.
        level: how often it was escalated.
        decision: the one that stands; its form is plain.
        end: the event that closed it.
    """

    review: str
    request: Request
    requester: str | None
    places: int = 0
    votes: tuple[Vote, ...] = ()
    delegations: tuple[Delegated, ...] = ()
    level: int = 0
    decision: Decision[Any] | None = None
    end: Event | None = None

    @property
    def open(self) -> bool:
        """Whether it can still be decided."""
        return self.end is None

    @property
    def deciders(self) -> tuple[str, ...]:
        """The names of those who may decide now, groups as ``group:NAME``; empty for anyone."""
        if self.request.deciders.anyone:
            return ()
        names = [*self.request.deciders.names]
        for _, more in self.request.escalations[: self.level]:
            names += more.names
        for one in self.delegations:
            names = [name for name in names if name not in (one.by, one.to)] + [one.to]
        return tuple(dict.fromkeys(names))

    def may_decide(self, who: str, groups: tuple[str, ...]) -> bool:
        """Whether this person may decide, or may no longer, by the events so far."""
        for one in reversed(self.delegations):
            if who in (one.by, one.to):
                return who == one.to
        levels: list[Deciders] = [more for _, more in self.request.escalations[: self.level]]
        return any(one.include(who, groups) for one in (self.request.deciders, *levels))

    def could_decide(self, who: str, groups: tuple[str, ...]) -> bool:
        """Whether a vote of this person would be taken now."""
        return (
            self.open and self._refused_person(who, groups) is None and not any(vote.by == who for vote in self.votes)
        )

    def holds(self, event: Event) -> bool:
        """Whether what ``event`` says stands already."""
        match event:
            case Vote():
                return any(vote.same(event) for vote in self.votes)
            case Delegated(by, to):
                return any((one.by, one.to) == (by, to) for one in self.delegations) and not self.may_decide(by, ())
            case Escalated(level):
                return self.level >= level
            case Expired() | Withdrawn():
                return self.end is not None
            case _:
                assert_never(event)

    def refusal(self, event: Event) -> UsageError | None:
        """Why ``event`` is not allowed now; None if it is."""
        if self.end is not None:
            return self._closed(self.end)
        match event:
            case Vote():
                return self._refused_vote(event)
            case Delegated():
                return self._refused_delegation(event)
            case Escalated(level):
                return None if level == self.level + 1 else NotAllowed(f"level {level} is not the next one")
            case Expired() | Withdrawn():
                return None
            case _:
                assert_never(event)

    def after(self, event: Event | None) -> ReviewState:
        """The state after the event of the next place; None for what is no event."""
        state = replace(self, places=self.places + 1)
        if event is None or self.refusal(event) is not None:
            return state
        match event:
            case Vote():
                return replace(state, votes=(*self.votes, event))._counted(event)
            case Delegated():
                return replace(state, delegations=(*self.delegations, event))
            case Escalated(level):
                return replace(state, level=level)
            case Expired(at):
                verdict = self.request.if_expired
                made: Decision[Any] | None = (
                    None if verdict is None else Decision(verdict, (), at.to_datetime(), expired=True)
                )
                return replace(state, end=event, decision=made)
            case Withdrawn():
                return replace(state, end=event)
            case _:
                assert_never(event)

    def _counted(self, last: Vote) -> ReviewState:
        """Whether the vote decides."""
        alike = tuple(vote.by for vote in self.votes if vote.verdict == last.verdict)
        needed = 1 if last.verdict in self.request.vetoes else self.request.approvals
        if len(alike) < needed:
            return self
        made: Decision[Any] = Decision(last.verdict, alike, last.at.to_datetime(), last.comment, last.form or None)
        return replace(self, end=last, decision=made)

    def _closed(self, end: Event) -> UsageError:
        if isinstance(end, Withdrawn):
            return ReviewClosed(f"review {self.review} is closed: the workflow no longer waits for it")
        if isinstance(end, Expired) or self.decision is None:
            return ReviewExpired(f"review {self.review} expired at {end.at} without a decision; it can not be decided")
        decision = self.decision
        return ReviewDecided(
            f"review {self.review} was decided '{decision.verdict}' by {', '.join(decision.by)} at {end.at}; "
            "that stands",
            decision,
        )

    def _refused_vote(self, vote: Vote) -> UsageError | None:
        request = self.request
        if request.deadline is not None and vote.at > request.deadline:
            return ReviewExpired(f"review {self.review} expired at {request.deadline}; it can not be decided")
        if request.verdicts is not None and vote.verdict not in request.verdicts:
            known = ", ".join(request.verdicts)
            return UnknownVerdict(f"review {self.review} takes no verdict '{vote.verdict}'; use one of {known}")
        refused = self._refused_person(vote.by, vote.groups)
        if refused is not None:
            return refused
        earlier = next((one for one in self.votes if one.by == vote.by), None)
        if earlier is not None:
            return AlreadyVoted(
                f"{vote.by} voted '{earlier.verdict}' on review {self.review} at {earlier.at}; a vote is not changed"
            )
        return check_form(request.form, vote.form)

    def _refused_delegation(self, event: Delegated) -> UsageError | None:
        refused = self._refused_person(event.by, event.groups)
        if refused is not None:
            return refused
        if event.to == event.by:
            return UsageError(f"{event.by} cannot delegate review {self.review} to themselves; name another person")
        if self._is_requester(event.to):
            return NotADecider(
                f"{event.to} asked for what review {self.review} is about and cannot decide it; name another person"
            )
        voted = next((vote.by for vote in self.votes if vote.by in (event.by, event.to)), None)
        if voted is not None:
            return AlreadyVoted(f"{voted} has voted on review {self.review} already; name another person")
        return None

    def _refused_person(self, who: str, groups: tuple[str, ...]) -> UsageError | None:
        if self._is_requester(who):
            return NotADecider(
                f"{who} asked for what review {self.review} is about and cannot decide it; somebody else has to"
            )
        if not self.may_decide(who, groups):
            names = ", ".join(self.deciders)
            return NotADecider(f"{who} may not decide review {self.review}; those who may are {names}")
        return None

    def _is_requester(self, who: str) -> bool:
        return not self.request.self_approval and who == self.requester
