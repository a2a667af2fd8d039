"""The values of reviews: what is asked, who may answer, what happened."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Generic, TypeAlias, TypeVar

from flowli.codec import from_data, to_data
from flowli.domain.data import Data
from flowli.domain.errors import InvalidValue, UsageError
from flowli.timestamp import Timestamp
from flowli_patterns.review.forms import FormField

__all__ = [
    "Deciders",
    "Decision",
    "Delegated",
    "Escalated",
    "Escalation",
    "Event",
    "Expired",
    "Notice",
    "Request",
    "Vote",
    "Withdrawn",
    "event_data",
    "event_of",
]

F = TypeVar("F")

GROUP = "group:"
"""Begins the name of a group among the names of those who may decide."""


@dataclass(frozen=True, slots=True)
class Deciders:
    """Who may decide; anyone if nobody is named."""

    users: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()

    @classmethod
    def of(cls, names: Iterable[str]) -> Deciders:
        """Read names: ``ann`` is a person, ``group:finance`` a group.

        Raises:
            UsageError: a name is empty, or one text was given for the list.
        """
        if isinstance(names, str):
            raise UsageError(f"deciders is the text {names!r}; give a list of names, for example [{names!r}]")
        found = tuple(dict.fromkeys(names))
        if not all(isinstance(name, str) and name.removeprefix(GROUP).strip() for name in found):
            raise UsageError(f"deciders {found!r} hold a name that is empty; give names, or 'group:NAME' for groups")
        users = tuple(name for name in found if not name.startswith(GROUP))
        return cls(users, tuple(name.removeprefix(GROUP) for name in found if name.startswith(GROUP)))

    @property
    def anyone(self) -> bool:
        """Whether nobody is named."""
        return not (self.users or self.groups)

    @property
    def names(self) -> tuple[str, ...]:
        """As ``of`` reads them."""
        return (*self.users, *(f"{GROUP}{group}" for group in self.groups))

    def include(self, who: str, groups: Iterable[str]) -> bool:
        """Whether this person is among them."""
        return self.anyone or who in self.users or not set(self.groups).isdisjoint(groups)


@dataclass(frozen=True, slots=True)
class Escalation:
    """Who else may decide after a delay without a decision.

    Attributes:
        after: since the review was opened.
        to: names, as for ``deciders``.
    """

    after: timedelta
    to: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked, and the rules.

    Attributes:
        subject: one line for people.
        data: what deciders are shown.
        verdicts: those that are taken; None for any.
        vetoes: verdicts that decide by one vote whatever ``approvals`` says.
        approvals: how many votes for one verdict decide.
        deciders: who may decide.
        requester: who may not, unless ``self_approval``; None for whoever started the execution.
        form: what a decision has to fill in.
        deadline: after it nobody decides.
        if_expired: the verdict that stands then; None for none.
        escalations: when, and who may decide from then on as well.
    """

    subject: str
    data: Data = None
    verdicts: tuple[str, ...] | None = ("approve", "reject")
    vetoes: tuple[str, ...] = ("reject",)
    approvals: int = 1
    deciders: Deciders = Deciders()
    requester: str | None = None
    self_approval: bool = False
    form: tuple[FormField, ...] = ()
    deadline: Timestamp | None = None
    if_expired: str | None = None
    escalations: tuple[tuple[Timestamp, Deciders], ...] = ()


@dataclass(frozen=True, slots=True)
class Vote:
    """Somebody decided, or, where several have to, was one of them."""

    by: str
    verdict: str
    at: Timestamp
    groups: tuple[str, ...] = ()
    form: dict[str, Data] = field(default_factory=dict)
    comment: str = ""

    def same(self, other: Vote) -> bool:
        """Whether both say the same; when and with which words does not matter."""
        return (self.by, self.verdict, self.form) == (other.by, other.verdict, other.form)


@dataclass(frozen=True, slots=True)
class Delegated:
    """Somebody who may decide handed that over to another person."""

    by: str
    to: str
    at: Timestamp
    groups: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Escalated:
    """Time has passed: those of level ``level`` (from 1) may decide as well."""

    level: int
    at: Timestamp


@dataclass(frozen=True, slots=True)
class Expired:
    """The deadline has passed."""

    at: Timestamp


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """The workflow no longer waits: it was cancelled."""

    at: Timestamp


Event: TypeAlias = Vote | Delegated | Escalated | Expired | Withdrawn

_EVENTS: dict[str, type[Event]] = {
    "vote": Vote,
    "delegated": Delegated,
    "escalated": Escalated,
    "expired": Expired,
    "withdrawn": Withdrawn,
}


def event_data(event: Event) -> dict[str, Data]:
    """The form in which an event is claimed, sent and announced."""
    kind = next(name for name, cls in _EVENTS.items() if isinstance(event, cls))
    fields = to_data(event, type(event), path="event")
    assert isinstance(fields, dict)
    return {"event": kind, **fields}


def event_of(data: Data) -> Event | None:
    """The event that ``event_data`` made; None if it is none."""
    kind = _EVENTS.get(str(data.get("event"))) if isinstance(data, dict) else None
    if kind is None or not isinstance(data, dict):
        return None
    try:
        found = from_data({name: value for name, value in data.items() if name != "event"}, kind, path="event")
    except InvalidValue:
        return None
    return found if isinstance(found, Vote | Delegated | Escalated | Expired | Withdrawn) else None


@dataclass(frozen=True, slots=True)
class Decision(Generic[F]):
    """The decision that stands.

    Attributes:
        verdict: what was decided.
        by: who decided it; where several had to, all whose votes made it. Empty if the deadline did.
        decided_at: when; aware, UTC.
        comment: of the last vote.
        form: what was filled in, of the class that the workflow gave (in its plain form outside the workflow).
        expired: it is the verdict that stands when the deadline passes.
    """

    verdict: str
    by: tuple[str, ...]
    decided_at: datetime
    comment: str = ""
    form: F | None = None
    expired: bool = False

    @property
    def approved(self) -> bool:
        """Whether the verdict is ``approve``."""
        return self.verdict == "approve"


@dataclass(frozen=True, slots=True)
class Notice:
    """What the step is told that tells people of a review.

    Attributes:
        why: ``opened``, ``reminder``, ``escalated`` or ``delegated``.
        review: its id, for ``flowli decide``.
        subject: as given.
        to: who may decide: names, ``group:NAME`` for groups; empty for anyone. Of an escalation or a delegation only
            those who may decide since then.
        deadline: None if there is none.
    """

    why: str
    review: str
    subject: str
    to: tuple[str, ...]
    deadline: datetime | None = None
