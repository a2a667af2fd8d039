"""Traces, as a collector that speaks OTLP receives them: one over start, steps, child, delegate and signal."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

import pytest
from opentelemetry import trace
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags, TraceState

from flowli import codec
from flowli.adapters.cairndb import CairnBackend
from flowli.domain.data import Data
from flowli.domain.delegate import Delegate
from flowli.domain.entries import FrameCompleted, JournalEntry
from flowli.domain.errors import UsageError
from flowli.domain.ports import Ports
from flowli.domain.provenance import Actor, ActorKind, Provenance, Site
from flowli.domain.retry import RetryPolicy
from flowli.runtime import Consumer, Context, Engine, EngineConfig, Registry
from flowli.runtime.observe.trace_context import carried, current_trace, joined, parted
from flowli.stores.memory import MemoryStore
from flowli.telemetry.traces import Traces
from flowli.timestamp import Timestamp

from .collector import Collector, collecting

TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
HELD = EngineConfig(hold_s=0.0)
registry = Registry()
tries: list[str] = []


@registry.step
def flaky() -> str:
    tries.append(current_trace())
    if len(tries) == 1:
        raise ValueError("not yet")
    return "done"


@registry.workflow
async def small(ctx: Context) -> str:
    return await ctx.step(flaky, retry=RetryPolicy(max_attempts=2, backoff=timedelta(0)))


@registry.workflow
async def large(ctx: Context) -> list[Data]:
    first = await ctx.child(small)
    await ctx.enqueue("agents", "do it", reply_to="reply")
    answer = await ctx.receive("reply")
    told = await ctx.receive("approved")
    return [first, answer["value"], told]


@registry.workflow
async def detached(ctx: Context) -> str:
    return await ctx.step(flaky, queue="gpu", retry=RetryPolicy(max_attempts=2, backoff=timedelta(0)))


@registry.workflow
async def falls(ctx: Context) -> None:
    raise ValueError("it fell")


@registry.workflow
async def waits(ctx: Context) -> None:
    await ctx.receive("approved")


@pytest.fixture
def collector() -> Iterator[Collector]:
    tries.clear()
    with collecting() as found:
        yield found


def bucket() -> Ports:
    return CairnBackend(MemoryStore()).ports


def engine(ports: Ports, collector: Collector | None, name: str = "w") -> Engine:
    observers = () if collector is None else (Traces(collector.provider),)
    return Engine(ports, Site.local(name), registry=registry, config=HELD, observers=observers)


async def work(ports: Ports, collector: Collector | None, *queues: str) -> None:
    """A process of its own works until there is nothing to do."""
    async with engine(ports, collector) as working, working.worker(queues or ("default",)) as worker:
        await worker.run_until_idle()


async def answers(ports: Ports, collector: Collector) -> list[Delegate]:
    """A consumer of its own process."""
    taken = list[Delegate]()

    async def handler(delegate: Delegate) -> Data:
        taken.append(delegate)
        with collector.provider.get_tracer("agent").start_as_current_span("ask the model"):
            return "done"

    consumer = Consumer(ports, "agents", handler, site=Site.local("c"), tracer=Traces(collector.provider))
    assert await consumer.run_once() == 1
    return taken


async def test_one_trace_leads_over_start_child_delegate_and_signal(collector: Collector) -> None:
    ports = bucket()
    with collector.provider.get_tracer("host").start_as_current_span("POST /orders"):
        async with engine(ports, collector, "web") as web:
            eid = await web.start(large)
            await work(ports, collector)
            (delegate,) = await answers(ports, collector)
            await work(ports, collector)
            await web.signal(eid, "approved", "yes")
            await work(ports, collector)
            assert await web.result(eid) == ["done", "done", "yes"]
    spans = collector.spans()
    assert len({span.trace_id for span in spans}) == 1
    by_id = {span.span_id: span for span in spans}
    path = {span.name: by_id[span.parent_id].name for span in spans if span.parent_id}
    assert path == {
        "start large": "POST /orders",
        "start small": "start large",
        "step flaky": "start small",
        "execution small": "start small",
        "delegate agents": "start large",
        "work agents": "delegate agents",
        "ask the model": "work agents",
        "send": "POST /orders",
        "receive": "start large",
        "execution large": "start large",
    }
    assert delegate.trace.split("-")[2] == collector.one("work agents").span_id
    send, work_span = collector.one("send"), collector.one("work agents")
    assert [one.links for one in collector.named("receive")] == [(work_span.span_id,), (send.span_id,)]


async def test_each_attempt_is_a_span_and_is_current_in_its_step(collector: Collector) -> None:
    ports = bucket()
    eid = await engine(ports, collector).start(small)
    await work(ports, collector)
    first, second = collector.named("step flaky")
    assert [first.failed, second.failed] == [True, False]
    assert (first.told["error.type"], first.told["flowli.outcome"]) == ("builtins.ValueError", "raised")
    assert (second.told["flowli.attempt"], second.told["flowli.outcome"]) == (2, "returned")
    assert first.told["flowli.eid"] == str(eid)
    assert [one.split("-")[2] for one in tries] == [first.span_id, second.span_id]
    whole = collector.one("execution small")
    assert set(whole.links) == {first.span_id, second.span_id}
    assert whole.began_ns <= collector.one("start small").ended_ns
    assert (whole.told["flowli.outcome"], whole.failed) == ("completed", False)


async def test_replay_makes_no_spans(collector: Collector) -> None:
    ports = bucket()
    async with engine(ports, collector) as web:
        eid = await web.start(large)
        for _ in range(3):  # each worker replays what those before it did
            await work(ports, collector)
        assert len(collector.named("step flaky")) == 2
        await answers(ports, collector)
        await work(ports, collector)
        await web.signal(eid, "approved")
        await work(ports, collector)
    names = sorted(span.name for span in collector.spans())
    assert names.count("step flaky") == 2
    assert [names.count(name) for name in ("start large", "start small", "delegate agents", "execution large")] == [
        1,
        1,
        1,
        1,
    ]


async def test_a_detached_step_is_of_the_trace_of_its_execution(collector: Collector) -> None:
    ports = bucket()
    await engine(ports, collector).start(detached)
    for _ in range(3):
        await work(ports, collector, "default", "gpu")
    start = collector.one("start detached")
    found = collector.named("step flaky")
    assert {(span.trace_id, span.parent_id) for span in found} == {(start.trace_id, start.span_id)}
    assert {span.kind for span in found} == {5}
    assert len(found) == 2


async def test_who_has_no_opentelemetry_hands_the_context_on(collector: Collector) -> None:
    ports = bucket()
    with carried(PARENT, "vendor=1"):
        await engine(ports, None).start(large)
    await work(ports, None)  # starts the child
    (task,) = (view.task for view in await ports.queue.list("agents"))
    assert task.enqueued_by.trace == f"{PARENT} vendor=1"
    (delegate,) = await answers(ports, collector)
    made = collector.one("work agents")
    assert (made.trace_id, made.parent_id) == (TRACE, "b7ad6b7169203331")
    assert delegate.trace == f"00-{TRACE}-{made.span_id}-01 vendor=1"


async def test_what_nobody_traced_when_it_was_started_is_one_trace_all_the_same(collector: Collector) -> None:
    ports = bucket()
    eid = await engine(ports, None).start(small)
    await work(ports, collector)
    assert {span.trace_id for span in collector.spans()} == {eid.hex}
    assert len(collector.spans()) == 3


async def test_a_host_that_decided_not_to_sample_is_heard(collector: Collector) -> None:
    ports = bucket()
    unsampled = SpanContext(int(TRACE, 16), 5, is_remote=True, trace_flags=TraceFlags(0), trace_state=TraceState())
    with trace.use_span(NonRecordingSpan(unsampled)):
        eid = await engine(ports, collector).start(small)
    await work(ports, collector)
    assert await engine(ports, None).result(eid) == "done"
    assert collector.spans() == []
    assert {one.split("-")[1] for one in tries} == {TRACE}


async def test_failed_and_terminated_executions_have_a_span_that_says_so(collector: Collector) -> None:
    ports = bucket()
    async with engine(ports, collector) as operator:
        await operator.start(falls)
        waiting = await operator.start(waits)
        await work(ports, collector)
        await operator.terminate(waiting, reason="enough")
    fell, stopped = collector.one("execution falls"), collector.one("execution waits")
    assert (fell.told["flowli.outcome"], fell.told["error.type"], fell.failed) == (
        "failed",
        "builtins.ValueError",
        True,
    )
    assert (stopped.told["flowli.outcome"], stopped.failed) == ("cancelled", False)


async def test_a_signal_of_another_trace_is_linked(collector: Collector) -> None:
    ports = bucket()
    web = engine(ports, collector)
    eid = await web.start(waits)
    await web.signal(eid, "approved")
    await work(ports, collector)
    receive, send = collector.one("receive"), collector.one("send")
    assert receive.trace_id == collector.one("start waits").trace_id != send.trace_id
    assert receive.links == (send.span_id,)


def test_contexts_that_are_none_are_left_out() -> None:
    assert joined(PARENT) == PARENT
    assert joined(PARENT, "a=1,b=2") == f"{PARENT} a=1,b=2"
    assert joined(PARENT, "x" * 513) == PARENT
    assert joined(PARENT, "a=1\nb") == PARENT
    for wrong in ("", "nonsense", PARENT.upper(), f"ff{PARENT[2:]}", f"00-{'0' * 32}-b7ad6b7169203331-01"):
        assert joined(wrong, "a=1") == ""
    assert parted("") == {}
    assert parted(f"{PARENT} a=1") == {"traceparent": PARENT, "tracestate": "a=1"}


def test_entries_keep_the_context_and_those_without_one_cost_nothing() -> None:
    by = Provenance(Actor(ActorKind.SYSTEM, "s"), Site("s"), codec.load(Provenance, _old()).at, trace=PARENT)
    assert codec.load(Provenance, codec.dump(by)) == by
    assert codec.load(Provenance, _old()).trace == ""
    assert "trace" not in codec.dump(codec.load(Provenance, _old()))


def test_entries_of_one_commit_tell_the_context_once() -> None:
    at = codec.load(Provenance, _old())
    traced = replace(at, trace=PARENT)
    later = replace(traced, at=Timestamp(at.at.us + 5))
    entries = [JournalEntry(FrameCompleted("root", 1, n), by, n) for n, by in enumerate((at, traced, later, at), 1)]
    records = codec.dump_entries(entries)
    assert codec.canonical(records).count(PARENT.encode()) == 1
    assert codec.load_journal(records) == tuple(entries)


def _old() -> dict[str, Data]:
    return {"actor": {"kind": "system", "id": "s"}, "site": {"worker_id": "s"}, "at": "2026-01-01T00:00:00.000000Z"}


def test_two_tracers_are_refused(collector: Collector) -> None:
    tracers = (Traces(collector.provider), Traces(collector.provider))
    with pytest.raises(UsageError, match="is a second tracer"):
        Engine(bucket(), Site.local("w"), observers=tracers)


async def test_without_an_sdk_nothing_is_made_and_contexts_are_handed_on() -> None:
    tries.clear()
    ports = bucket()
    plain = Engine(ports, Site.local("w"), registry=registry, observers=[Traces()])
    with carried(PARENT):
        eid = await plain.start(small)
    async with plain, plain.worker() as worker:
        await worker.run_until_idle()
    assert await plain.result(eid) == "done"
    assert {one.split("-")[1] for one in tries} == {TRACE}
