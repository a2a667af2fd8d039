"""``Inbox``: the reviews of a bucket by what its control log says, kept up to date by reading only what is new."""

from __future__ import annotations

import asyncio
import contextlib
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from flowli import WorkflowProjection
from flowli.codec import from_data
from flowli.domain.data import Data
from flowli.domain.entries import START, Announced, ControlEntry, ExecutionCreated, ExecutionErased, StatusChanged
from flowli.domain.errors import InvalidName, InvalidValue
from flowli.domain.ids import Eid, parse_eid
from flowli.domain.ports import ControlLog
from flowli.timestamp import Timestamp
from flowli_patterns._nodes import channel_of_name
from flowli_patterns.review.model import Decision, Event, Expired, Request, event_of
from flowli_patterns.review.state import ReviewState
from flowli_patterns.review.waiting import TOPIC

__all__ = ["Inbox", "ReviewView"]

_PAGE = 2_000


@dataclass(frozen=True, slots=True)
class ReviewView:
    """A review as the control log shows it.

    Attributes:
        review: its id, ``{eid}:{name}``.
        eid: the execution that waits for it.
        workflow: of that execution.
        opened_at: when.
        status: ``open``, ``decided``, ``expired`` or ``closed`` (the workflow no longer waits).
        state: the rules, the votes, and what became of them.
    """

    review: str
    eid: Eid
    workflow: str
    opened_at: Timestamp
    status: str
    state: ReviewState

    @property
    def subject(self) -> str:
        """What is to be decided, in one line."""
        return self.state.request.subject

    @property
    def decision(self) -> Decision[Any] | None:
        """The decision that stands; None if there is none so far."""
        return self.state.decision

    @property
    def channel(self) -> str:
        """Where the workflow receives."""
        return channel_of_name(self.review.partition(":")[2])


@dataclass(slots=True)
class _Known:
    eid: Eid
    opened_at: Timestamp
    request: Request


@dataclass(slots=True)
class _Execution:
    workflow: str = ""
    requester: str | None = None
    ended: bool = False
    lineage: tuple[Eid, ...] = ()


class Inbox:
    """See the module's docstring.

    A fork holds the frames of its sources, and among them perhaps the announcement of a review that it still waits
    for. Such a review is found by its id (``get``); it is not among ``all``, since nothing tells whether it is over.

    Args:
        control: the log.
        projection: of the same log; if there is one, the log itself is not read.
    """

    def __init__(self, control: ControlLog, projection: WorkflowProjection | None = None) -> None:
        self._control = control
        self._projection = projection
        self._position = START
        self._seq = 0
        self._turn = asyncio.Lock()
        self._reviews: dict[str, _Known] = {}
        self._events: defaultdict[str, dict[int, Event | None]] = defaultdict(dict)
        self._executions: dict[Eid, _Execution] = {}
        self._asking: set[Eid] = set()

    async def catch_up(self, review: str = "") -> None:
        """Read what is new.

        Args:
            review: a review that is asked for, perhaps one that a fork took over.
        """
        async with self._turn:
            if self._projection is not None:
                await self._read_rows(self._projection, review)
                return
            caught_up = False
            while not caught_up:
                found = await self._control.read(after=self._position, limit=_PAGE)
                for entry in found.entries:
                    self.add(entry)
                self._position, caught_up = found.position, found.caught_up

    async def _read_rows(self, projection: WorkflowProjection, review: str) -> None:
        """The same from the rows of a projection, which many processes of a host may share."""
        await projection.catch_up()
        while found := await projection.announcements(TOPIC, after_seq=self._seq, limit=_PAGE):
            for one in found:
                self._seq = one.seq
                if isinstance(one.data, dict) and one.eid is not None:
                    self._announced(one.data, one.eid, one.at)
        with contextlib.suppress(InvalidName):
            self._asking |= {parse_eid(review.partition(":")[0])} if review else set()
        for eid in self._asking:
            row = await projection.execution(eid)
            if row is None:
                continue
            who = None if row.created_by is None else row.created_by.id
            lineage = () if row.origin is None else row.origin.lineage
            self._executions[eid] = _Execution(row.workflow, who, row.status.terminal, lineage)
            if row.erased:
                self._forget(eid)

    def _forget(self, eid: Eid) -> None:
        for review in [name for name in (*self._reviews, *self._events) if name.startswith(f"{eid}:")]:
            self._reviews.pop(review, None)
            self._events.pop(review, None)

    def add(self, entry: ControlEntry) -> None:
        """Take an entry; one that was taken before changes nothing."""
        match entry.body:
            case ExecutionCreated(eid=eid, workflow=workflow, origin=origin):
                known = self._executions.setdefault(eid, _Execution())
                known.workflow, known.requester = workflow, entry.by.actor.id
                known.lineage = () if origin is None else origin.lineage
            case StatusChanged(eid=eid, entry=ExecutionErased.tag):
                self._forget(eid)
            case StatusChanged(eid=eid, status=status) if status.terminal:
                if eid in self._asking:
                    self._executions.setdefault(eid, _Execution()).ended = True
                else:  # it never asked anybody, and never will
                    self._executions.pop(eid, None)
            case Announced(topic=topic, data=dict() as data, eid=eid) if topic == TOPIC and eid is not None:
                self._announced(data, eid, entry.at)
            case _:
                pass

    def learn(self, review: str, events: Iterable[tuple[int, Event]]) -> None:
        """Take events that are known otherwise: those that an engine of this process has just placed."""
        self._events[review].update(events)

    def get(self, review: str) -> ReviewView | None:
        """One review; None if nothing is known of it."""
        known = self._reviews.get(review) or self._inherited(review)
        return None if known is None else self._view(review, known)

    def all(self) -> list[ReviewView]:
        """All reviews, in the order in which they were opened."""
        found = [self._view(review, known) for review, known in self._reviews.items()]
        return sorted(found, key=lambda view: (view.opened_at, view.review))

    def _announced(self, data: dict[str, Data], eid: Eid, at: Timestamp) -> None:
        match data:
            case {"what": "opened", "review": str(review), "request": request} if review not in self._reviews:
                try:
                    asked = from_data(request, Request, path="request")
                except InvalidValue:  # announced by a newer version
                    return
                assert isinstance(asked, Request)
                self._reviews[review] = _Known(eid, at, asked)
                self._asking.add(eid)
            case {"review": str(review), "events": list(events)}:
                for event in events:
                    if isinstance(event, dict) and isinstance(event.get("place"), int):
                        about = {name: value for name, value in event.items() if name != "place"}
                        self._events[review].setdefault(int(str(event["place"])), event_of(about))
            case _:
                pass

    def _inherited(self, review: str) -> _Known | None:
        """A review that a fork took over from one of its sources."""
        text, _, name = review.partition(":")
        eid = next((eid for eid in self._executions if str(eid) == text), None)
        if eid is None:
            return None
        sources = (self._reviews.get(f"{source}:{name}") for source in reversed(self._executions[eid].lineage))
        found = next((known for known in sources if known is not None), None)
        return None if found is None else _Known(eid, found.opened_at, found.request)

    def _view(self, review: str, known: _Known) -> ReviewView:
        execution = self._executions.get(known.eid, _Execution())
        state = ReviewState(review, known.request, known.request.requester or execution.requester)
        events = self._events.get(review, {})
        while state.places + 1 in events:
            state = state.after(events[state.places + 1])
        if state.decision is not None:
            status = "decided"
        elif state.end is not None:
            status = "expired" if isinstance(state.end, Expired) else "closed"
        else:
            status = "closed" if execution.ended else "open"
        return ReviewView(review, known.eid, execution.workflow, known.opened_at, status, state)
