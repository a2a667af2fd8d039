"""``--health-port`` of workers and sweepers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from flowli.cairn.observe import RequestObserver
    from flowli.cli.session import Session
    from flowli.telemetry.scrape import Scrape

__all__ = ["Pages", "health_options"]

F = TypeVar("F", bound=Callable[..., Any])


def health_options(function: F) -> F:
    """Add the options that say where the pages of health are."""
    port = click.option(
        "--health-port",
        type=click.IntRange(0, 65535),
        metavar="PORT",
        help="Answer /live, /ready, /metrics and /queues here; 0 takes a free port.",
    )
    host = click.option(
        "--health-host", default="127.0.0.1", show_default=True, metavar="HOST", help="Where --health-port listens."
    )
    lag = click.option(
        "--lag-alert",
        type=click.IntRange(min=1),
        default=300,
        show_default=True,
        metavar="SECONDS",
        help="From which lag of a queue on somebody is to be told; a metric that alert rules compare with.",
    )
    return port(host(lag(function)))


@dataclass(frozen=True, slots=True)
class Pages:
    """The pages of one process; none without a port.

    Attributes:
        scrape: what is measured, if there are pages and its library is installed.
        lag_alert_s: from which lag of a queue on somebody is to be told, in seconds.
    """

    host: str
    port: int | None
    scrape: Scrape | None
    lag_alert_s: float = 300.0

    @classmethod
    def at(cls, host: str, port: int | None, lag_alert_s: float = 300.0) -> Pages:
        """Begin to measure, if there is a port."""
        if port is None:
            return cls(host, None, None)
        from flowli.telemetry.scrape import Scrape

        return cls(host, port, Scrape.open(), lag_alert_s)

    @property
    def requests(self) -> RequestObserver | None:
        """What counts the requests to the bucket."""
        if self.scrape is None:
            return None
        from flowli.telemetry.metrics import RequestMetrics

        return RequestMetrics(self.scrape.instruments)

    @asynccontextmanager
    async def shown(
        self, session: Session, queues: Iterable[str] | None, concurrency: int = 50
    ) -> AsyncIterator[Callable[[], None]]:
        """Show them while the block runs, which gets what tells that the process drains."""
        if self.port is None:
            yield lambda: None
            return
        import structlog

        from flowli.telemetry.health import Health
        from flowli.telemetry.metrics import Metrics

        engine, scrape = session.engine, self.scrape
        if scrape is not None:
            engine.observers.add(Metrics(scrape.instruments))
        async with Health(
            engine,
            queues=queues,
            concurrency=concurrency,
            lag_alert_s=self.lag_alert_s,
            scrape=scrape,
            host=self.host,
            port=self.port,
        ) as health:
            structlog.get_logger("flowli.health").info("health is shown", url=f"http://{self.host}:{health.port}/ready")

            def drains() -> None:
                health.draining = True

            yield drains
