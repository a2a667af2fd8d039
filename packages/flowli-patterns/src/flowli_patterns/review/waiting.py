"""The workflow's side of a review.

1. Announce it, and tell people.
2. Wait on its own channel for events, until the next reminder, escalation or the deadline. A message that no engine
   made is no event and changes nothing.
3. Get each event, and what time brings on, into the ledger (``ledger``). *Crash anywhere*: frames that were done are
   remembered, a claim that was made finds itself.
4. When the state is closed, announce all events, so that the inbox needs nobody else's announcement.

The channel belongs to this review alone: a decision that comes too late is read by nobody, and by no later gate.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta
from typing import Any, cast

from flowli import Context, RetryPolicy, StepFailed
from flowli.codec import to_data
from flowli.domain.data import Data
from flowli.timestamp import Timestamp
from flowli_patterns._shield import finish
from flowli_patterns.errors import ReviewExpired
from flowli_patterns.review.ledger import place
from flowli_patterns.review.model import (
    Decision,
    Escalated,
    Event,
    Expired,
    Notice,
    Request,
    Withdrawn,
    event_data,
    event_of,
)
from flowli_patterns.review.state import ReviewState

__all__ = ["NOTIFY_RETRY", "TOPIC", "Waiting", "place_key"]

TOPIC = "review"
"""The topic of all that reviews announce."""

NOTIFY_RETRY = RetryPolicy(max_attempts=5, backoff=timedelta(seconds=5))
"""How the step that tells people is retried. If it fails for good the review goes on: it stands in the inbox."""


def place_key(review: str, number: int) -> str:
    """The claim of one place in the ledger of a review."""
    return f"review:{review}:{number}"


class Waiting:
    """One review that a workflow waits for."""

    def __init__(
        self,
        ctx: Context,
        request: Request,
        review: str,
        channel: str,
        every: timedelta | None,
        notify: Callable[[Notice], object] | None,
    ) -> None:
        self._ctx = ctx
        self._request = request
        self._channel = channel
        self._every = every
        self._reminder = None if every is None else self._now + every
        self._notify = notify
        self._events: list[tuple[int, Event]] = []
        self._state = ReviewState(review, request, request.requester or ctx.started_by.id)

    async def run(self) -> Decision[Any]:
        """Steps 1 to 4; the decision that stands, its form plain.

        Raises:
            ReviewExpired: the deadline has passed, and no verdict stands for it.
        """
        await self._announce("opened", request=to_data(self._request, Request, path="request"))
        await self._tell("opened", self._state.deciders)
        try:
            while self._state.open:
                due = self._next_due()
                limit = None if due is None else max(timedelta(0), due - self._now)
                message = await self._ctx.receive(self._channel, timeout=limit)
                event = event_of(message)
                if event is not None:
                    await self._place(event)
                elif message is None:
                    await self._time_has_come()
        except asyncio.CancelledError:
            await finish(self._close(Withdrawn(self._now)))
            raise
        await self._announce_end()
        if self._state.decision is None:
            raise ReviewExpired(f"review {self._state.review} expired at {self._now} without a decision")
        return self._state.decision

    @property
    def _now(self) -> Timestamp:
        return Timestamp.from_datetime(self._ctx.now)

    def _next_due(self) -> Timestamp | None:
        levels = [at for at, _ in self._request.escalations[self._state.level : self._state.level + 1]]
        dues = [at for at in (self._request.deadline, self._reminder, *levels) if at is not None]
        return min(dues, default=None)

    async def _time_has_come(self) -> None:
        now = self._now
        if self._request.deadline is not None and self._request.deadline <= now:
            await self._place(Expired(now))
            return
        level = self._state.level
        if level < len(self._request.escalations) and self._request.escalations[level][0] <= now:
            await self._place(Escalated(level + 1, now))
        if self._reminder is not None and self._every is not None and self._reminder <= now and self._state.open:
            self._reminder += self._every
            await self._tell("reminder", self._state.deciders)

    async def _place(self, event: Event) -> None:
        """Step 3, and telling those who may decide since."""

        async def claim(number: int, value: Data) -> Data:
            return cast("Data", await self._ctx.claim(place_key(self._state.review, number), value))

        placed = await place(self._state, event, claim, eager=True)
        before, self._state = self._state, placed.state
        self._events += placed.seen
        if not self._state.open:
            return
        if self._state.level > before.level:
            _, more = self._request.escalations[self._state.level - 1]
            await self._announce_event(self._events[-1])
            await self._tell("escalated", more.names)
        for one in self._state.delegations[len(before.delegations) :]:
            await self._tell("delegated", (one.to,))

    async def _close(self, event: Event) -> None:
        await self._place(event)
        await self._announce_end()

    async def _announce_end(self) -> None:
        await self._announce("closed", events=[_placed(one) for one in self._events])

    async def _announce_event(self, event: tuple[int, Event]) -> None:
        await self._announce("event", events=[_placed(event)])

    async def _announce(self, what: str, **about: Data) -> None:
        await self._ctx.announce(TOPIC, {"what": what, "review": self._state.review, **about})

    async def _tell(self, why: str, to: tuple[str, ...]) -> None:
        if self._notify is None:
            return
        at = self._request.deadline
        deadline = None if at is None else at.to_datetime()
        notice = Notice(why, self._state.review, self._request.subject, to, deadline)
        try:
            await self._ctx.step(self._notify, notice, name=f"notify-{why}", retry=NOTIFY_RETRY)
        except StepFailed as failed:
            log: Any = self._ctx.log
            log.warning("nobody was told of the review", review=self._state.review, error=str(failed.error))


def _placed(event: tuple[int, Event]) -> Data:
    return {"place": event[0], **event_data(event[1])}
