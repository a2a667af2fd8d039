"""``Tracer``: follows work over processes. This one hands the context on and makes no spans.

``flowli.telemetry.traces.Traces`` makes them; it is given to an engine among its observers.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from enum import StrEnum

from flowli.domain.ids import Eid
from flowli.timestamp import Timestamp

__all__ = ["NO_TRACER", "Role", "Span", "Tracer", "Work"]


class Role(StrEnum):
    """What a span is to those beside it: ``producer`` puts what a ``consumer`` takes later."""

    INTERNAL = "internal"
    PRODUCER = "producer"
    CONSUMER = "consumer"


@dataclass(frozen=True, slots=True)
class Work:
    """A piece of work that becomes one span.

    Attributes:
        name: of the span; of few different values.
        parent: the context to which it belongs; "" if none is known.
        eid: of the execution to which it belongs. Without ``parent`` all its spans are of one trace all the same.
        links: contexts of other work that led to it.
        whole: it is all that was done for ``eid``; it is linked to the spans that this process has made for it.
    """

    name: str
    role: Role
    parent: str
    eid: Eid | None = None
    attributes: Mapping[str, str | int] = field(default_factory=dict)
    links: tuple[str, ...] = ()
    whole: bool = False


class Span:
    """A span under way.

    Attributes:
        trace: its context, as what it puts carries it on.
    """

    def __init__(self, trace: str) -> None:
        self.trace = trace

    def note(self, name: str, value: str | int) -> None:
        """Give it one more attribute."""

    def failed(self, error_type: str) -> None:
        """It ended in an error of this class."""


class Tracer:
    """See the module's docstring. Its methods are called on the loop of the engine, and never raise."""

    def around(self, work: Work) -> AbstractContextManager[Span]:
        """The work is what is done inside; its span is the current one there."""
        return contextlib.nullcontext(Span(work.parent))

    def past(self, work: Work, began: Timestamp, ended: Timestamp, error_type: str = "") -> None:
        """The work has ended; nobody could stand around it.

        Args:
            error_type: class of the error in which it ended; "" for none.
        """


NO_TRACER = Tracer()
"""The one that makes no spans."""
