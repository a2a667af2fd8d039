"""Metrics as a real Prometheus parser reads them, and the table that they, the docs, dashboard and alerts share."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from opentelemetry.sdk.metrics import MeterProvider

from flowli.adapters.cairndb import CairnBackend
from flowli.cairn.observe import ObservedRequest, RequestOutcome, observed
from flowli.domain.ids import Eid
from flowli.domain.provenance import Site
from flowli.domain.retry import RetryPolicy
from flowli.runtime import Context, Engine, EngineConfig, Registry
from flowli.runtime.observe.events import (
    AttemptEnded,
    AttemptOutcome,
    LeaseWasLost,
    Standing,
    Swept,
    TaskGivenBack,
    TaskSetAside,
)
from flowli.stores.memory import MemoryStore
from flowli.telemetry.health import Health
from flowli.telemetry.instruments import OTHER, Instruments, meter_of
from flowli.telemetry.metrics import Metrics, RequestMetrics
from flowli.telemetry.names import METRICS
from flowli.telemetry.queues import queue_load
from flowli.telemetry.scrape import Scrape

ROOT = Path(__file__).parents[4]
EID = Eid("0197a1b2-0000-7000-8000-000000000001")
registry = Registry()
tries: list[int] = []


def flaky() -> None:
    tries.append(1)
    if len(tries) == 1:
        raise ValueError("not yet")


@registry.workflow
async def waits(ctx: Context) -> None:
    await ctx.receive("answer")


@registry.workflow
async def works(ctx: Context) -> None:
    await ctx.step(flaky, retry=RetryPolicy(max_attempts=2, backoff=timedelta(0)))


class Scraped:
    """What Prometheus would keep after one scrape."""

    def __init__(self, text: str) -> None:
        from prometheus_client.parser import text_string_to_metric_families

        self.families = {one.name: one for one in text_string_to_metric_families(text)}
        self.samples = [sample for one in self.families.values() for sample in one.samples]

    def value(self, name: str, **labels: str) -> float:
        (found,) = (one.value for one in self.samples if one.name == name and labels.items() <= one.labels.items())
        return found

    def labels(self, name: str) -> set[str]:
        mine = [one for one in self.samples if one.name in (name, f"{name}_count")]
        assert mine, f"{name} was not scraped"
        return {label for one in mine for label in one.labels}


@pytest.fixture
def scrape() -> Iterator[Scrape]:
    tries.clear()
    found = Scrape.open()
    assert found is not None
    yield found
    found.close()


async def all_measured(scrape: Scrape) -> None:
    """Have every metric measured once: most of them by a real run."""
    to = scrape.instruments
    store = observed(MemoryStore(), RequestMetrics(to))
    backend = CairnBackend(store)
    metrics = Metrics(to)
    config = EngineConfig(hold_s=0.0)
    async with Engine(backend.ports, Site.local("w"), registry=registry, config=config, observers=[metrics]) as engine:
        now = engine.world.now()
        await engine.start(works)
        waiting = await engine.start(waits)
        async with Health(engine, scrape=scrape, lag_alert_s=60) as health, engine.worker() as worker:
            await health.look()
            await worker.run_until_idle()
            await engine.announcer.drain()
            await engine.sweeper().sweep_once()
            await engine.signal(waiting, "answer")
            await worker.run_until_idle()
            assert health.answer("GET", "/metrics")[0] == 200
    await metrics.observe(TaskGivenBack(EID, "default", "RESUME", "RESUME:x", now, "elsewhere"))
    await metrics.observe(TaskSetAside(EID, "default", "START", "START:x", now, "it died"))
    await metrics.observe(LeaseWasLost(EID, now, "gone"))
    await metrics.observe(Swept(now, {"timers": 3}))


async def test_a_run_is_scraped_by_a_real_prometheus_parser(scrape: Scrape) -> None:
    await all_measured(scrape)
    scraped = Scraped(scrape.text())
    for one in METRICS:
        assert scraped.labels(one.prometheus) - {"le"} == set(one.labels), one.name
    mine = {name for name in scraped.families if name.startswith("flowli")}
    assert mine == {one.prometheus.removesuffix("_total") for one in METRICS}
    changes = "flowli_execution_changes_total"
    assert scraped.value(changes, workflow="works", change="completed") == 1
    assert scraped.value("flowli_step_duration_seconds_count", workflow="works", outcome="returned") == 1
    assert scraped.value("flowli_step_errors_total", error="builtins.ValueError") == 1
    assert scraped.value("flowli_step_retries_total", workflow="works") == 1
    assert scraped.value("flowli_sweeper_actions_total", action="timers") == 3
    assert scraped.value("flowli_execution_standing", workflow="waits", status="suspended") == 1
    assert scraped.value("flowli_warm_lookups_total", outcome="hit") == 1
    assert scraped.value("flowli_warm_kept") == 0
    assert scraped.value("flowli_task_given_back_total", queue="default", reason="elsewhere") == 1
    states = {"ready": 1, "unready": 0, "draining": 0}
    assert {state: scraped.value("flowli_process_state", state=state) for state in states} == states
    assert scraped.value("flowli_storage_requests_total", verb="put", outcome="done") > 3
    assert scraped.value("flowli_storage_sent_bytes_total", verb="put") > 100
    assert 0 < scraped.value("flowli_storage_cost_total") < 0.01


async def test_throttled_requests_are_counted_and_cost_nothing(scrape: Scrape) -> None:
    metrics = RequestMetrics(scrape.instruments, usd_per_read=1.0)
    metrics(ObservedRequest("get", "k", RequestOutcome.THROTTLED, 0.1))
    metrics(ObservedRequest("get", "k", RequestOutcome.DONE, 0.1, received_bytes=10))
    scraped = Scraped(scrape.text())
    assert scraped.value("flowli_storage_requests_total", verb="get", outcome="throttled") == 1
    assert scraped.value("flowli_storage_cost_total") == 1.0


async def test_labels_have_a_bounded_number_of_values(scrape: Scrape) -> None:
    metrics = Metrics(Instruments(meter_of(scrape.provider), values=3))
    at = Engine(CairnBackend(MemoryStore()).ports, Site.local("w")).world.now()
    for n in range(10):
        await metrics.observe(AttemptEnded(EID, "root/x#1", 1, 1, f"w{n}", at, AttemptOutcome.RETURNED, 0.1))
    scraped = Scraped(scrape.text())
    count = "flowli_step_duration_seconds_count"
    assert {one.labels["workflow"] for one in scraped.samples if one.name == count} == {"w0", "w1", "w2", OTHER}
    assert scraped.value(count, workflow=OTHER) == 7


async def test_a_gauge_of_what_is_gone_is_zero_and_what_has_no_series_of_its_own_is_summed(scrape: Scrape) -> None:
    metrics = Metrics(Instruments(meter_of(scrape.provider), values=2))
    at = Engine(CairnBackend(MemoryStore()).ports, Site.local("w")).world.now()
    await metrics.observe(Standing(at, {("a", "running"): 1, ("b", "running"): 2, ("c", "running"): 3}))
    await metrics.observe(Standing(at, {("a", "running"): 4, ("c", "running"): 5, ("d", "running"): 6}))
    scraped = Scraped(scrape.text())
    shown = {name: scraped.value("flowli_execution_standing", workflow=name) for name in ("a", "b", OTHER)}
    assert shown == {"a": 4, "b": 0, OTHER: 11}


async def test_the_process_says_when_it_drains_and_from_which_lag_on_it_is_too_late(scrape: Scrape) -> None:
    engine = Engine(CairnBackend(MemoryStore()).ports, Site.local("w"), registry=registry)
    await engine.start(works)
    health = Health(engine, scrape=scrape, lag_alert_s=60)
    health.answer("GET", "/metrics")
    assert Scraped(scrape.text()).value("flowli_process_state", state="unready") == 1
    await health.look()
    health.draining = True
    health.answer("GET", "/metrics")
    scraped = Scraped(scrape.text())
    assert scraped.value("flowli_process_state", state="draining") == 1
    assert scraped.value("flowli_queue_lag_threshold_seconds", queue="default") == 60
    assert scraped.value("flowli_queue_backlog", queue="default") == 1
    assert scraped.value("flowli_queue_desired_workers", queue="default") == 1


async def test_without_an_sdk_nothing_is_kept_and_nothing_fails() -> None:
    metrics = Metrics()
    at = Engine(CairnBackend(MemoryStore()).ports, Site.local("w")).world.now()
    await metrics.observe(LeaseWasLost(EID, at, "gone"))


async def test_an_empty_queue_wants_no_worker() -> None:
    engine = Engine(CairnBackend(MemoryStore()).ports, Site.local("w"), registry=registry)
    load = await queue_load(engine.ports, "default", engine.world.now())
    assert (load.backlog, load.lag_s, load.desired_workers) == (0, 0.0, 0)
    for _ in range(5):
        await engine.start(works)
    load = await queue_load(engine.ports, "default", engine.world.now(), concurrency=2)
    assert (load.backlog, load.desired_workers) == (5, 3)
    assert load.lag_s >= 0


def test_the_page_tells_every_metric_with_its_labels() -> None:
    page = ROOT / "docs/how-to/metrics.md"
    if not page.exists():
        pytest.skip("the wheel is tested without the docs")
    told = re.findall(r"^\| `(flowli_\w+)` \| (\w+) \| (.+?) \| (.+?) \|$", page.read_text(), re.MULTILINE)
    assert told == [
        (one.prometheus, one.kind, ", ".join(f"`{label}`" for label in one.labels) or "-", one.help) for one in METRICS
    ]


@pytest.mark.parametrize("file", ["dashboard.json", "alerts.yml"])
def test_dashboard_and_alerts_use_metrics_and_labels_that_exist(file: str) -> None:
    path = ROOT / "docs/examples/monitoring" / file
    if not path.exists():
        pytest.skip("the wheel is tested without the docs")
    known = {
        f"{one.prometheus}{suffix}": one
        for one in METRICS
        for suffix in (("_bucket", "_sum", "_count") if one.kind == "histogram" else ("",))
    }
    text = path.read_text()
    used = set(re.findall(r"\bflowli_\w+", text))
    assert used
    assert used - known.keys() == set()
    for name, labels in re.findall(r"\b(flowli_\w+)\{([^}]*)\}", text):
        given = set(re.findall(r"(\w+)\s*(?:=~?|!=|!~)", labels))
        assert given <= set(known[name].labels), f"{name} has no labels {given}"


def test_the_dashboard_shows_every_metric() -> None:
    path = ROOT / "docs/examples/monitoring/dashboard.json"
    if not path.exists():
        pytest.skip("the wheel is tested without the docs")
    text = path.read_text()
    assert [one.name for one in METRICS if one.prometheus not in text] == []


def test_the_scrape_is_its_own() -> None:
    first = Scrape.open()
    assert first is not None
    assert isinstance(first.provider, MeterProvider)
    first.instruments.count("flowli.lease.lost")
    first.close()
    second = Scrape.open()
    assert second is not None
    assert "flowli_lease_lost_total" not in second.text()
    second.close()
