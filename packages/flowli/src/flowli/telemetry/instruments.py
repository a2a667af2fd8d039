"""Instruments from the table of metrics, with labels whose number of values is bounded."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from flowli.domain.errors import UsageError
from flowli.telemetry.names import METRICS

__all__ = ["OTHER", "Instruments", "MeterLike", "meter_of"]

OTHER = "other"
"""Stands for every value of a label beyond those that are kept apart."""

_VALUES = 200
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800, 7200)


class _Adds(Protocol):
    def add(self, amount: float, attributes: Mapping[str, str]) -> None: ...


class _Records(Protocol):
    def record(self, amount: float, attributes: Mapping[str, str]) -> None: ...


class _Sets(Protocol):
    def set(self, amount: float, attributes: Mapping[str, str]) -> None: ...


class MeterLike(Protocol):
    """The part of ``opentelemetry.metrics.Meter`` that is used."""

    def create_counter(self, name: str, unit: str, description: str) -> _Adds:
        """A counter."""

    def create_histogram(
        self, name: str, unit: str, description: str, *, explicit_bucket_boundaries_advisory: Sequence[float]
    ) -> _Records:
        """A histogram."""

    def create_gauge(self, name: str, unit: str, description: str) -> _Sets:
        """A gauge."""


class Instruments:
    """All metrics of the table, made by one meter.

    A label has at most ``values`` different values in one process; what comes after them is counted as ``other``. So
    neither workflows made up at run time nor classes of errors can flood who stores the series.
    """

    def __init__(self, meter: MeterLike, *, values: int = _VALUES) -> None:
        self._values = values
        self._seen: dict[tuple[str, str], set[str]] = {}
        self._shown: dict[str, set[tuple[str, ...]]] = {}
        self._lock = threading.Lock()
        self._labels = {one.name: one.labels for one in METRICS}
        self._counters = {
            one.name: meter.create_counter(one.name, one.unit, one.help) for one in METRICS if one.kind == "counter"
        }
        self._histograms = {
            one.name: meter.create_histogram(one.name, one.unit, one.help, explicit_bucket_boundaries_advisory=_SECONDS)
            for one in METRICS
            if one.kind == "histogram"
        }
        self._gauges = {
            one.name: meter.create_gauge(one.name, one.unit, one.help) for one in METRICS if one.kind == "gauge"
        }

    def count(self, name: str, *values: str, by: float = 1) -> None:
        """Add to a counter; ``values`` are those of its labels, in order."""
        self._counters[name].add(by, self._named(name, values))

    def time(self, name: str, seconds: float, *values: str) -> None:
        """Record into a histogram."""
        self._histograms[name].record(seconds, self._named(name, values))

    def gauge(self, name: str, value: float, *values: str) -> None:
        """Set a gauge."""
        self._gauges[name].set(value, self._named(name, values))

    def gauges(self, name: str, values: Iterable[tuple[tuple[str, ...], float]]) -> None:
        """Set all series of a gauge: those that are not among ``values`` any more become 0."""
        sums: dict[tuple[str, ...], float] = dict.fromkeys(self._shown.get(name, ()), 0.0)
        for labels, value in values:
            kept = tuple(self._named(name, labels).values())
            sums[kept] = sums.get(kept, 0.0) + value
        self._shown[name] = {labels for labels, value in sums.items() if value}
        for labels, value in sums.items():
            self._gauges[name].set(value, dict(zip(self._labels[name], labels, strict=True)))

    def _named(self, name: str, values: tuple[str, ...]) -> dict[str, str]:
        labels = zip(self._labels[name], values, strict=True)
        return {label: self._bounded(name, label, value) for label, value in labels}

    def _bounded(self, name: str, label: str, value: str) -> str:
        with self._lock:
            seen = self._seen.setdefault((name, label), set())
            if value not in seen:
                if len(seen) >= self._values:
                    return OTHER
                seen.add(value)
        return value


def meter_of(provider: object = None) -> MeterLike:
    """The meter ``flowli`` of a ``MeterProvider``, or of the global one.

    Raises:
        UsageError: opentelemetry-api is not installed.
    """
    try:
        from opentelemetry import metrics
    except ImportError:
        raise UsageError(
            "metrics go through opentelemetry-api, which is not installed. Run: pip install 'flowli[otel]'"
        ) from None
    meter: MeterLike = metrics.get_meter("flowli", meter_provider=provider)  # type: ignore[arg-type]
    return meter
