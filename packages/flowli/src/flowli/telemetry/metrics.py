"""``Metrics``: an observer that counts and times what an engine does, and ``RequestMetrics`` for its bucket."""

from __future__ import annotations

from typing import assert_never

from flowli.cairn.observe import ObservedRequest, RequestOutcome
from flowli.runtime.observe.events import (
    AttemptBegan,
    AttemptEnded,
    AttemptOutcome,
    Event,
    ExecutionChanged,
    LeaseWasLost,
    Standing,
    StepRetries,
    Swept,
    TaskGivenBack,
    TaskSetAside,
    TaskTaken,
    WarmSought,
)
from flowli.telemetry.instruments import Instruments, meter_of

__all__ = ["Metrics", "RequestMetrics"]

_USD_PER_WRITE, _USD_PER_READ = 0.005 / 1000, 0.0004 / 1000


class Metrics:
    """Give it to ``Engine(..., observers=[Metrics()])``.

    Args:
        instruments: where to count; None for those of the global meter provider.

    Raises:
        UsageError: opentelemetry-api is not installed.
    """

    def __init__(self, instruments: Instruments | None = None) -> None:
        self._to = Instruments(meter_of()) if instruments is None else instruments

    async def observe(self, event: Event) -> None:
        """Count one event."""
        to = self._to
        match event:
            case ExecutionChanged():
                to.count("flowli.execution.changes", event.workflow, event.change.value)
            case TaskTaken():
                to.time("flowli.task.wait", event.waited_s, event.queue, event.kind)
            case TaskGivenBack():
                to.count("flowli.task.given_back", event.queue, event.why)
            case TaskSetAside():
                to.count("flowli.task.dead_letters", event.queue, event.kind)
            case AttemptEnded():
                to.time("flowli.step.duration", event.seconds, event.workflow, event.outcome.value)
                if event.outcome is AttemptOutcome.RAISED:
                    to.count("flowli.step.errors", event.workflow, event.error_type)
            case StepRetries():
                to.count("flowli.step.retries", event.workflow)
            case LeaseWasLost():
                to.count("flowli.lease.lost")
            case WarmSought():
                to.count("flowli.warm.lookups", "hit" if event.found else "miss")
                to.gauge("flowli.warm.kept", event.kept)
            case Standing():
                to.gauges("flowli.execution.standing", event.counts.items())
            case Swept():
                for action, times in event.actions.items():
                    to.count("flowli.sweeper.actions", action, by=times)
            case AttemptBegan():
                pass
            case _:
                assert_never(event)


class RequestMetrics:
    """Give it to ``flowli.cairn.observe.observed(store, RequestMetrics())``.

    Args:
        instruments: as for ``Metrics``.
        usd_per_write, usd_per_read: prices of one request; by default those of S3 Standard. A listing costs as much as
            a write, a deletion nothing.

    Raises:
        UsageError: opentelemetry-api is not installed.
    """

    def __init__(
        self,
        instruments: Instruments | None = None,
        *,
        usd_per_write: float = _USD_PER_WRITE,
        usd_per_read: float = _USD_PER_READ,
    ) -> None:
        self._to = Instruments(meter_of()) if instruments is None else instruments
        self._prices = {"put": usd_per_write, "list": usd_per_write, "get": usd_per_read}

    def __call__(self, request: ObservedRequest, /) -> None:
        """Count one request."""
        to = self._to
        to.count("flowli.storage.requests", request.verb, request.outcome.value)
        to.time("flowli.storage.duration", request.seconds, request.verb)
        if request.sent_bytes:
            to.count("flowli.storage.sent", request.verb, by=request.sent_bytes)
        if request.received_bytes:
            to.count("flowli.storage.received", request.verb, by=request.received_bytes)
        price = self._prices.get(request.verb, 0.0)
        if price and request.outcome is not RequestOutcome.THROTTLED:
            to.count("flowli.storage.cost", by=price)
