"""Every metric: its name, kind, unit, labels. What is measured, documented and drawn on dashboards is this table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["METRICS", "Metric"]


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric.

    Attributes:
        kind: ``counter``, ``histogram`` or ``gauge``.
        unit: as OpenTelemetry writes it; empty for none.
        labels: names of its attributes.
        help: one line.
    """

    name: str
    kind: Literal["counter", "histogram", "gauge"]
    unit: str
    labels: tuple[str, ...]
    help: str

    @property
    def prometheus(self) -> str:
        """The name under which Prometheus scrapes it; of a histogram without ``_bucket``, ``_sum``, ``_count``."""
        unit = {"s": "_seconds", "By": "_bytes"}.get(self.unit, "")
        return f"{self.name.replace('.', '_')}{unit}{'_total' if self.kind == 'counter' else ''}"


METRICS: tuple[Metric, ...] = (
    Metric("flowli.execution.changes", "counter", "", ("workflow", "change"), "Lifecycle changes of executions"),
    Metric("flowli.execution.standing", "gauge", "", ("workflow", "status"), "Executions that have not ended"),
    Metric("flowli.task.wait", "histogram", "s", ("queue", "kind"), "From when a task could be taken until it was"),
    Metric("flowli.task.dead_letters", "counter", "", ("queue", "kind"), "Tasks that were set aside"),
    Metric("flowli.task.given_back", "counter", "", ("queue", "reason"), "Tasks that a worker gave back undone"),
    Metric("flowli.step.duration", "histogram", "s", ("workflow", "outcome"), "How long attempts of steps took"),
    Metric("flowli.step.errors", "counter", "", ("workflow", "error"), "Attempts that raised, by class of error"),
    Metric("flowli.step.retries", "counter", "", ("workflow",), "Attempts after which another one follows"),
    Metric("flowli.lease.lost", "counter", "", (), "Executions that another process took over"),
    Metric("flowli.warm.lookups", "counter", "", ("outcome",), "Coroutines that were looked for: hit or miss"),
    Metric("flowli.warm.kept", "gauge", "", (), "Coroutines that the worker kept warm when it last looked for one"),
    Metric("flowli.sweeper.actions", "counter", "", ("action",), "What sweepers did"),
    Metric("flowli.queue.backlog", "gauge", "", ("queue",), "Tasks that could be taken; 1000 means at least that"),
    Metric("flowli.queue.lag", "gauge", "s", ("queue",), "Age of the oldest task that could be taken"),
    Metric("flowli.queue.lag_threshold", "gauge", "s", ("queue",), "From which lag on somebody is to be told"),
    Metric("flowli.queue.desired_workers", "gauge", "", ("queue",), "Workers that the backlog and what is held need"),
    Metric("flowli.process.state", "gauge", "", ("state",), "1 for ready, unready or draining, 0 for the others"),
    Metric("flowli.storage.requests", "counter", "", ("verb", "outcome"), "Requests to the bucket"),
    Metric("flowli.storage.duration", "histogram", "s", ("verb",), "How long requests to the bucket took"),
    Metric("flowli.storage.sent", "counter", "By", ("verb",), "Bytes written to the bucket"),
    Metric("flowli.storage.received", "counter", "By", ("verb",), "Bytes read from the bucket"),
    Metric("flowli.storage.cost", "counter", "", (), "Estimated price of the requests in USD"),
)
"""All of them."""
