"""``Schedule``: what is started when, and what happens where slots are missed or runs overlap."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from flowli.codec import from_data, to_data
from flowli.domain.data import Data
from flowli.domain.errors import UsageError
from flowli.domain.ids import check_key, check_name
from flowli.timestamp import Timestamp
from flowli_patterns.schedule.when import LONGEST_S, At, Cron, Every, Ticks, When

__all__ = ["CatchUp", "Overlap", "Schedule"]

_MOST_ID = 100
_PLAIN = (
    "id",
    "workflow",
    "slot_argument",
    "version",
    "queue",
    "priority",
    "timeout_s",
    "catch_up_window_s",
    "catch_up_limit",
    "jitter_s",
    "paused",
    "note",
)


class Overlap(StrEnum):
    """What a slot does while the run of an earlier one has not ended."""

    SKIP = "skip"
    """It is left out."""

    QUEUE = "queue"
    """It waits; slots go one after another, in order."""

    CANCEL_PREVIOUS = "cancel_previous"
    """The earlier run is cancelled; the newest slot starts when it has ended."""

    ALLOW = "allow"
    """It starts at once."""


class CatchUp(StrEnum):
    """What becomes of slots that were missed: no sweeper ran, or they waited for their turn."""

    SKIP = "skip"
    """They are left out."""

    LAST = "last"
    """The last one is made up for, unless a slot is due now anyway."""

    ALL = "all"
    """All are made up for, up to a limit, the oldest first; older ones are left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """One schedule. It never starts two executions for one slot, whatever is changed and whoever looks.

    Attributes:
        id: 1 to 100 letters, digits, ``_`` and ``-``.
        workflow: the name of what is started.
        when: the slots.
        args: positional arguments of the workflow, JSON-compatible.
        kwargs: named arguments, JSON-compatible.
        slot_argument: name of a parameter that is given the slot, as text like ``2026-01-31T23:59:59.000000Z``.
        version: of the workflow; None for the one that the sweeper's application registered last. A sweeper without the
            application needs it.
        queue: where the executions go; None for the workflow's own.
        priority: of their tasks.
        timeout_s: execution timeout in seconds.
        overlap: see ``Overlap``.
        catch_up: see ``CatchUp``.
        catch_up_window_s: slots older than this are never made up for; a day by default.
        catch_up_limit: how many missed slots ``CatchUp.ALL`` makes up for at most.
        jitter_s: each slot starts up to so many seconds late, by an amount that its identity determines.
        not_before: no slot before this instant.
        not_after: no slot after this instant.
        paused: no slot is started while it is set.
        note: for people.

    Raises:
        UsageError: a value makes no sense.
    """

    id: str
    workflow: str
    when: When
    args: tuple[Data, ...] = ()
    kwargs: Mapping[str, Data] = field(default_factory=dict)
    slot_argument: str | None = None
    version: str | None = None
    queue: str | None = None
    priority: int | None = None
    timeout_s: float | None = None
    overlap: Overlap = Overlap.SKIP
    catch_up: CatchUp = CatchUp.LAST
    catch_up_window_s: float = 86_400.0
    catch_up_limit: int = 100
    jitter_s: float = 0.0
    not_before: datetime | None = None
    not_after: datetime | None = None
    paused: bool = False
    note: str = ""

    def __post_init__(self) -> None:
        check_name("schedule", self.id)
        check_name("workflow", self.workflow)
        if len(self.id) > _MOST_ID:
            raise UsageError(f"schedule '{self.id}' has too long a name; use up to {_MOST_ID} characters")
        if self.queue is not None:
            check_name("queue", self.queue)
        if self.version is not None:
            check_key("version", self.version)
        for name in ("catch_up_window_s", "jitter_s"):
            if not 0 <= getattr(self, name) <= LONGEST_S:
                raise UsageError(
                    f"schedule '{self.id}' has {name}={getattr(self, name):g}; give zero or more, and at most "
                    f"{LONGEST_S:.0f} seconds"
                )
        if self.timeout_s is not None and not 0 < self.timeout_s <= LONGEST_S:
            raise UsageError(
                f"schedule '{self.id}' has timeout_s={self.timeout_s:g}; give more than zero and at most "
                f"{LONGEST_S:.0f} seconds, or None"
            )
        if self.catch_up_limit < 1:
            raise UsageError(f"schedule '{self.id}' has catch_up_limit={self.catch_up_limit}; give at least 1")
        for bound in (self.not_before, self.not_after):
            if bound is not None and bound.tzinfo is None:
                raise UsageError(f"schedule '{self.id}' has the bound {bound.isoformat()} without a time zone")
        if self.slot_argument is not None and self.slot_argument in self.kwargs:
            raise UsageError(f"schedule '{self.id}' gives '{self.slot_argument}' twice: as argument and as the slot's")

    def to_data(self) -> dict[str, Data]:
        """Its recorded form.

        Raises:
            InvalidValue: an argument cannot be recorded.
        """
        bounds = {name: None if one is None else one.isoformat() for name, one in self._bounds().items()}
        return {
            **{name: getattr(self, name) for name in _PLAIN},
            **bounds,
            "when": _when_data(self.when),
            "args": [to_data(value, path=f"args[{n}]") for n, value in enumerate(self.args)],
            "kwargs": {name: to_data(value, path=f"args.{name}") for name, value in self.kwargs.items()},
            "overlap": self.overlap.value,
            "catch_up": self.catch_up.value,
        }

    @classmethod
    def from_data(cls, data: Mapping[str, Data]) -> Schedule:
        """Read the recorded form; fields that a newer release wrote are passed over.

        Raises:
            UsageError: it is of another form.
        """
        try:
            given: dict[str, Any] = {name: data[name] for name in _PLAIN if name in data}
            for name in ("not_before", "not_after"):
                text = data.get(name)
                given[name] = None if text is None else datetime.fromisoformat(str(text))
            given["args"] = from_data(data.get("args", []), tuple[Any, ...])
            given["kwargs"] = from_data(data.get("kwargs", {}), dict[str, Any])
            given["overlap"] = Overlap(str(data.get("overlap", Overlap.SKIP)))
            given["catch_up"] = CatchUp(str(data.get("catch_up", CatchUp.LAST)))
            return cls(when=_when(data.get("when")), **given)
        except (TypeError, ValueError) as error:
            raise UsageError(
                f"the schedule {data.get('id')!r} is recorded in a form that is not known: {error}"
            ) from error

    def _bounds(self) -> dict[str, datetime | None]:
        return {"not_before": self.not_before, "not_after": self.not_after}

    def key(self, slot: Timestamp) -> str:
        """The dispatch key of a slot: its identity, for good."""
        return f"schedule:{self.id}:{slot.to_datetime():%Y%m%dT%H%M%S.%fZ}"

    def delay(self, slot: Timestamp) -> timedelta:
        """How late the slot starts: the same for everybody who asks."""
        if not self.jitter_s:
            return timedelta(0)
        drawn = int.from_bytes(hashlib.sha256(self.key(slot).encode()).digest()[:8], "big") / 2**64
        return timedelta(seconds=drawn * self.jitter_s)


def _when_data(when: When) -> dict[str, Data]:
    match when:
        case Cron(expression, zone):
            return {"kind": "cron", "expression": expression, "zone": zone}
        case Every(seconds, since):
            return {"kind": "every", "seconds": seconds, "since": since.isoformat()}
        case At(instants):
            return {"kind": "at", "instants": [one.isoformat() for one in instants]}
        case Ticks():
            return {"kind": "ticks"}


def _when(data: Data) -> When:
    match data:
        case {"kind": "cron", "expression": str(expression), "zone": str(zone)}:
            return Cron(expression, zone)
        case {"kind": "every", "seconds": int() | float() as seconds, "since": str(since)}:
            return Every(seconds, datetime.fromisoformat(since))
        case {"kind": "at", "instants": list(instants)}:
            return At(tuple(datetime.fromisoformat(str(one)) for one in instants))
        case {"kind": "ticks"}:
            return Ticks()
    raise UsageError(f"a schedule is recorded with {data!r}, which this release does not know; upgrade flowli-patterns")
