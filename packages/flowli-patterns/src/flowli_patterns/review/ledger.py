"""Getting an event into the ledger of a review.

1. Look at the state that is known. An event that stands already is done; one that is not allowed is refused.
2. Claim the next place for the event. *Crash after it*: the event stands; whoever comes by finds it there.
3. What stands in that place, one's own event or that of somebody who was faster, changes the state; begin again.

The claims decide all races: two decisions, a decision against the deadline, a decision against a delegation. The
workflow does step 2 whatever step 1 says of its knowledge, which may be older than that of an engine; so it learns of
every event that stands, and what is void where it stands is void for all.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from flowli.domain.data import Data
from flowli.domain.errors import UsageError
from flowli_patterns.review.model import Event, event_data, event_of
from flowli_patterns.review.state import ReviewState

__all__ = ["Claim", "Placed", "place"]

Claim = Callable[[int, Data], Awaitable[Data]]
"""Claims a place for an event; the answer is what stands there."""


@dataclass(frozen=True, slots=True)
class Placed:
    """What came of it.

    Attributes:
        state: after all events that are known now.
        refusal: why the event does not count; None if it stands.
        seen: the events that were learnt, with their places.
    """

    state: ReviewState
    refusal: UsageError | None
    seen: tuple[tuple[int, Event], ...]


async def place(state: ReviewState, event: Event, claim: Claim, *, eager: bool = False) -> Placed:
    """See the module's docstring.

    Args:
        eager: claim a place also for an event that is not allowed by what is known (the workflow's side).
    """
    seen: list[tuple[int, Event]] = []
    own = event_data(event)
    while True:
        if state.holds(event):
            return Placed(state, None, tuple(seen))
        refusal = state.refusal(event)
        if refusal is not None and not (eager and state.open):
            return Placed(state, refusal, tuple(seen))
        standing = await claim(state.places + 1, own)
        found = event_of(standing)
        state = state.after(found)
        if found is not None:
            seen.append((state.places, found))
        if standing == own:
            return Placed(state, refusal, tuple(seen))
