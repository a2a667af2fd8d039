"""``Scrape``: the metrics of this process as Prometheus reads them.

It needs ``opentelemetry-sdk`` and ``opentelemetry-exporter-prometheus``, which ``flowli[otel]`` does not bring: an
application that has an SDK of its own exports by it, wherever it wants.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from flowli.telemetry.instruments import Instruments, meter_of

if TYPE_CHECKING:
    from opentelemetry.sdk.metrics import MeterProvider
    from prometheus_client import CollectorRegistry

__all__ = ["MISSING", "Scrape"]

MISSING = (
    "metrics are shown by opentelemetry-exporter-prometheus, which is not installed. "
    "Run: pip install 'flowli[otel]' opentelemetry-exporter-prometheus"
)
"""What is said where there are no metrics to be scraped."""


class Scrape:
    """A meter provider of its own and what it measures, as text.

    Attributes:
        provider: the provider, for other instruments of the process.
        instruments: those of flowli.
    """

    def __init__(self, provider: MeterProvider, registry: CollectorRegistry) -> None:
        self.provider = provider
        self.instruments = Instruments(meter_of(provider))
        self._registry = registry

    @classmethod
    def open(cls) -> Self | None:
        """Begin to measure; None if what it needs is not installed."""
        try:
            from opentelemetry.exporter.prometheus import PrometheusMetricReader
            from opentelemetry.sdk.metrics import MeterProvider
            from prometheus_client import CollectorRegistry
        except ImportError:
            return None
        own = CollectorRegistry()
        reader = PrometheusMetricReader(disable_target_info=True, scope_info_enabled=False, registry=own)
        return cls(MeterProvider(metric_readers=[reader]), own)

    def text(self) -> str:
        """The exposition format of Prometheus."""
        from prometheus_client import generate_latest

        return generate_latest(self._registry).decode()

    def close(self) -> None:
        """Measure no more."""
        self.provider.shutdown()
