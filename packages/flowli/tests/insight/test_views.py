"""Inspecting, the timeline, the tree, the graph; archived and erased executions; explainers of patterns."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest

from flowli import Context, Explanation, Inspection, MemoryBackend, Moves, RetryPolicy, step_info
from flowli.domain import keys
from flowli.domain.ids import Eid
from flowli.domain.ports import Ports
from flowli.domain.provenance import Actor, ActorKind, Provenance, Site
from flowli.domain.tasks import DeadTask, Task, TaskKind, TaskView
from flowli.domain.timers import Timer
from flowli.runtime.insight import Explainer, Graph, KnownCode, explain, inspect, mermaid, places
from flowli.runtime.insight.inspection import TIMERS_LOOKED_AT
from flowli.runtime.insight.reasons.case import Case
from flowli.runtime.insight.reasons.lost import unclear
from flowli.timestamp import Timestamp

from .conftest import Stage

EID = Eid("019b76da-a800-7029-8cd9-c0d2dc682c85")
T0 = Timestamp.parse("2026-01-01T00:00:00.000000Z")


def double(n: int) -> int:
    return 2 * n


@pytest.fixture
async def fans(stage: Stage) -> Stage:
    tries: list[int] = []

    def flaky() -> str:
        tries.append(1)
        if len(tries) % 2:
            raise ValueError("not yet")
        return "done"

    @stage.fleet.registry.workflow
    async def fans_out(ctx: Context, order: str) -> Any:
        first = await ctx.step(double, 1)
        with ctx.scope("items"):
            await ctx.gather(*(ctx.step(double, n + first) for n in range(3)))
        await ctx.gather(ctx.step(flaky, retry=RetryPolicy(max_attempts=2, backoff=timedelta(0))), ctx.step(double, 9))
        return await ctx.receive("approval", timeout=600)

    stage.worker()
    return stage


async def test_the_tree_shows_scopes_attempts_waits_and_values_when_asked(fans: Stage) -> None:
    eid = await fans.fleet.engine.start("fans_out", "INV-1")
    await fans.advance(2)
    nodes = {node.name: node for node in await fans.fleet.run(fans.cli.engine.tree(eid))}
    assert list(nodes) == ["double#1", "items#1", "flaky#1", "double#2", "approval#1"]
    assert (nodes["items#1"].kind, [one.name for one in nodes["items#1"].frames]) == (
        None,
        ["double#1", "double#2", "double#3"],
    )
    assert nodes["items#1"].status == "completed"
    assert [(one.number, str(one.error)) for one in nodes["flaky#1"].attempts] == [
        (1, "ValueError: not yet"),
        (2, "None"),
    ]
    assert nodes["approval#1"].status == "waiting"
    deadline, began = nodes["approval#1"].deadline, nodes["approval#1"].started_at
    assert deadline is not None
    assert deadline - began == timedelta(seconds=600)
    assert nodes["double#1"].value is None
    shown = await fans.fleet.run(fans.cli.engine.tree(eid, values=True))
    assert shown[0].value == 2


async def test_the_graph_fans_out_and_in_with_a_join(fans: Stage) -> None:
    eid = await fans.fleet.engine.start("fans_out", "INV-1")
    await fans.advance(2)
    found: Graph = await fans.fleet.run(fans.cli.engine.graph(eid))
    ways = {(edge.source.removeprefix("root/"), edge.target.removeprefix("root/")) for edge in found.edges}
    items = [f"items#1/double#{n}" for n in (1, 2, 3)]
    assert ways == {
        ("start", "double#1"),
        *(("double#1", item) for item in items),
        *((item, "join-1") for item in items),
        ("join-1", "flaky#1"),
        ("join-1", "double#2"),
        ("flaky#1", "approval#1"),
        ("double#2", "approval#1"),
        ("approval#1", "end"),
    }
    assert [node.id for node in found.nodes if node.current] == ["root/approval#1"]
    assert {edge.target for edge in found.edges if edge.status == "pending"} == {"end"}
    text = mermaid(found)
    assert text.startswith("flowchart TD\n")
    assert "approval#35;1<br/>waiting" in text
    assert text.count("-->") + text.count("-.->") == len(found.edges)
    assert text in await fans.type(f"flowli graph {eid} --mermaid")
    assert json.loads(await fans.type(f"flowli graph {eid} --json")) == found.to_data()


async def test_the_timeline_is_in_order_and_hides_values_unless_asked(fans: Stage) -> None:
    eid = await fans.fleet.engine.start("fans_out", "INV-1")
    await fans.advance(2)
    moments = await fans.fleet.run(fans.cli.engine.timeline(eid))
    assert [one.at for one in moments] == sorted(one.at for one in moments)
    seqs = [one.seq for one in moments if one.seq is not None]
    assert seqs == list(range(1, len(seqs) + 1))
    assert all(not one.values for one in moments)
    plain = await fans.type(f"flowli timeline {eid}")
    assert "flaky#1 failed in attempt 1: ValueError: not yet; again at" in plain
    assert "INV-1" not in plain
    assert "INV-1" in await fans.type(f"flowli timeline {eid} --values")


async def test_inspecting_shows_what_was_sent_and_not_read(fans: Stage) -> None:
    eid = await fans.fleet.engine.start("fans_out", "INV-1")
    await fans.advance(2)
    for process in fans.fleet.processes:
        if process.worker is not None:
            process.worker.stop()
    await fans.advance(1)
    await fans.type(f"flowli signal {eid} approval --json 17")
    told = json.loads(await fans.type(f"flowli inspect {eid} --json"))
    assert [(one["seq"], "payload" in one) for one in told["unread"]] == [(1, False)]
    assert told["waits"][0]["has_come"] is True
    assert [task["task_id"].split(":")[0] for task in told["tasks"]] == ["RESUME"]
    assert len(told["timers"]) == 1
    plain = await fans.type(f"flowli inspect {eid} --values")
    assert "approval 1 by human ada" in plain
    assert ": 17" in plain
    await fans.type(f"flowli pause {eid} --reason audit")
    assert "human ada asked for pause: audit; not applied yet" in await fans.type(f"flowli timeline {eid}")


async def test_reading_writes_nothing(fans: Stage) -> None:
    """OPR-12."""
    eid = await fans.fleet.engine.start("fans_out", "INV-1")
    await fans.advance(2)
    reader = fans.fleet.process("reader")
    for verb in (reader.engine.inspect, reader.engine.explain, reader.engine.timeline, reader.engine.graph):
        await fans.fleet.run(verb(eid))
    writes = {
        "put",
        "append",
        "acquire",
        "renew",
        "request",
        "enqueue",
        "ack",
        "mark",
        "set",
        "send",
        "claim",
        "delete",
    }
    assert reader.calls
    assert {call.partition(".")[2] for call in reader.calls} & writes == set()


async def test_all_of_it_works_on_an_archived_execution(fans: Stage) -> None:
    eid = await fans.fleet.engine.start("fans_out", "INV-1")
    await fans.type(f"flowli signal {eid} approval --json true")
    await fans.advance(5)
    before = await fans.fleet.run(fans.cli.engine.timeline(eid))
    for process in fans.fleet.processes:
        await fans.fleet.run(process.stop())
    retention = fans.cli.engine.retention(0.0)
    await fans.fleet.run(retention.run_once())
    await fans.advance(90_000)
    await fans.fleet.run(retention.run_once())
    found = await fans.explain(eid)
    assert found.reason == "completed"
    assert found.evidence.keys == (f"wf/archive/{eid}.msgpack",)
    await fans.check_evidence(found)
    after = await fans.fleet.run(fans.cli.engine.timeline(eid))
    assert [one.text for one in after] == [*(one.text for one in before), "archived"]
    assert "archived" in await fans.type(f"flowli inspect {eid}")
    assert "completed" in await fans.type(f"flowli graph {eid}")


async def test_a_short_prefix_lists_near_ids_and_an_unknown_id_is_refused(fans: Stage) -> None:
    eids = [await fans.fleet.engine.start("fans_out", "INV-1") for _ in range(2)]
    await fans.advance(2)
    assert str(eids[0]) in await fans.type(f"flowli explain {str(eids[0])[:-1]}")
    assert await fans.type("flowli explain 019b76da-0000-7000-8000-000000000000", code=1) == ""
    for command in ("explain", "inspect", "timeline", "graph", "watch"):
        await fans.type(f"flowli {command} {str(eids[0])[:4]}", code=1)


# explainers of patterns


async def votes(inspection: Inspection, ports: Ports) -> Explanation | None:
    if not any(getattr(wait.on, "channel", "").endswith(".approval") for wait in inspection.waits):
        return None
    return Explanation(inspection.eid, "missing", "Ann and Bob have not voted.", Moves.OUTSIDE)


async def broken(inspection: Inspection, ports: Ports) -> Explanation | None:
    raise RuntimeError("no")


async def told(stage: Stage, eid: Eid, explainers: Mapping[str, Explainer]) -> Explanation:
    engine = stage.cli.engine
    seen = await stage.fleet.run(inspect(engine.services, eid, KnownCode()))
    return await stage.fleet.run(explain(seen, explainers, engine.ports))


async def test_what_a_pattern_says_comes_before_a_wait_and_after_what_is_wrong(
    fans: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    eid = await fans.fleet.engine.start("fans_out", "INV-1")
    await fans.advance(2)
    explainers: dict[str, Explainer] = {"votes": votes, "broken": broken}
    with caplog.at_level(logging.ERROR):
        found = await told(fans, eid, explainers)
    assert (found.reason, found.sentence) == ("votes.missing", "Ann and Bob have not voted.")
    assert [one.reason for one in found.others] == ["waiting_message", "no_sweeper"]
    assert "the explainer 'broken' failed" in caplog.text
    await fans.type(f"flowli pause {eid}")
    await fans.advance(2)
    assert (await told(fans, eid, explainers)).reason == "paused"


# detached steps


async def test_a_detached_step_waits_for_its_worker(stage: Stage) -> None:
    @stage.fleet.registry.step
    def render() -> str:
        print("rendering")
        return f"{step_info().fid} rendered"

    @stage.fleet.registry.workflow
    async def delegates(ctx: Context) -> str:
        return await ctx.step(render, queue="gpu")

    stage.worker()
    eid = await stage.fleet.engine.start("delegates")
    await stage.advance(2)
    found = await stage.explain(eid)
    assert (found.reason, found.moves) == ("waiting_step", "operator")
    assert found.sentence == (
        "Step root/render#1 waits in queue 'gpu', on which no worker has ever listened, since "
        "2026-01-01T00:00:00Z, attempt 1."
    )
    await stage.check_evidence(found)
    assert found.actions[0].command == "flowli worker --queue gpu"
    await stage.type(found.actions[0].command, "--until-idle")
    await stage.advance(3)
    assert (await stage.explain(eid)).reason == "completed"


# what else


async def test_a_timer_behind_many_that_are_due_is_told_as_due(stage: Stage) -> None:
    @stage.fleet.registry.workflow
    async def naps(ctx: Context) -> None:
        await ctx.sleep(60)

    stage.worker()
    eid = await stage.fleet.engine.start("naps")
    await stage.advance(1)
    for n in range(TIMERS_LOOKED_AT):
        other = Eid(int=(7 << 76) | (2 << 62) | n)
        await stage.fleet.run(stage.cli.ports.timers.set(Timer(T0 + timedelta(seconds=n / 10), other, "root/sleep#1")))
    await stage.advance(70)
    found = await stage.explain(eid)
    assert (found.reason, found.evidence.keys) == ("timer_due", ())
    assert found.sentence.endswith("no sweeper has been seen so far, 100 timers are due.")
    await stage.check_evidence(found)


async def test_an_execution_of_which_nothing_is_said_is_told_as_such(fans: Stage) -> None:
    eid = await fans.fleet.engine.start("fans_out", "INV-1")
    seen = await fans.fleet.run(fans.cli.engine.inspect(eid))
    found = unclear(Case(seen))
    assert found is not None
    assert (found.reason, found.moves) == ("unclear", Moves.OPERATOR)


def test_the_places_are_those_of_the_key_layout() -> None:
    by = Provenance(Actor(ActorKind.SYSTEM, "a"), Site("a"), T0)
    for key in ("", "message:x.y:3", "step:root/a b#1", "é", "long:" + "x" * 400):
        task = Task("q", TaskKind.RESUME, EID, T0, by, key=key, not_before=T0)
        assert places.task(TaskView(task)) == keys.ready(task)
        assert places.task(TaskView(task, delayed=True)) == keys.delayed(task)
        assert places.dead(DeadTask(task, "", 1, T0)) == keys.dead(task, T0)
    assert places.record(EID) == f"wf/exec/{EID}/meta"
    assert places.journal(EID) == f"logs/wf.exec.{EID}/"
    assert places.channel("x") == "logs/wf.ch.x/"


async def test_what_workers_announced_can_come_from_elsewhere() -> None:
    known = KnownCode()
    control = MemoryBackend().ports.control
    assert await known.knows(control, "x", "1") is None

    async def none() -> list[Any]:
        return []

    known.elsewhere = none
    assert await known.knows(control, "x", "1") is None
