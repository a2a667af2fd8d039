"""What the executions of a workflow did, laid over each other; and lists of children."""

from __future__ import annotations

import json
from typing import Any

import pytest

from flowli import Context
from flowli.runtime.insight import EdgeStatus, Graph, GraphEdge, GraphNode, NodeStatus, shape, shape_mermaid

from .conftest import Stage

DONE, OPEN = EdgeStatus.SELECTED, EdgeStatus.PENDING


def double(n: int) -> int:
    if n > 8:
        raise ValueError("too much")
    return 2 * n


@pytest.fixture
async def loops(stage: Stage) -> Stage:
    @stage.fleet.registry.workflow
    async def leaf(ctx: Context, n: int) -> int:
        return await ctx.step(double, n)

    @stage.fleet.registry.workflow
    async def loops(ctx: Context, times: int) -> Any:
        total = 0
        for n in range(times):
            total += await ctx.step(double, n)
        with ctx.scope("items"):
            await ctx.gather(*(ctx.step(double, n) for n in range(3)))
        if times > 1:
            await ctx.child(leaf, total)
        return await ctx.receive("approval")

    stage.worker()
    return stage


async def test_frames_of_one_name_are_one_node_with_counts(loops: Stage) -> None:
    fleet = loops.fleet
    once = await fleet.engine.start("loops", 1)
    often = await fleet.engine.start("loops", 3)
    await loops.advance(3)
    await fleet.run(loops.cli.engine.signal(once, "approval", True))
    await loops.advance(3)
    found = json.loads(await loops.type("flowli graph --workflow loops --json"))
    nodes = {node["id"]: (node["kind"], node["executions"], node["times"]) for node in found["nodes"]}
    assert nodes == {
        "start": ("start", 2, 2),
        "double": ("step", 2, 4),
        "items/double": ("step", 2, 6),
        "leaf": ("child", 1, 1),
        "approval": ("receive", 2, 2),
        "end": ("end", 2, 2),
    }
    statuses = {node["id"]: node["statuses"] for node in found["nodes"]}
    assert statuses["approval"] == {"completed": 1, "waiting": 1}
    ways = {(edge["source"], edge["target"]): (edge["executions"], edge["times"]) for edge in found["edges"]}
    assert ways == {
        ("start", "double"): (2, 2),
        ("double", "double"): (1, 2),
        ("double", "items/double"): (2, 6),
        ("items/double", "approval"): (1, 3),
        ("items/double", "leaf"): (1, 3),
        ("leaf", "approval"): (1, 1),
        ("approval", "end"): (1, 1),
    }
    drawn = await loops.type("flowli graph --workflow loops --mermaid")
    assert drawn.startswith("flowchart TD\n")
    assert "items/double<br/>6 completed" in drawn
    assert drawn.count("-->|") == len(ways)
    table = await loops.type("flowli graph --workflow loops")
    assert "--> double x2" in table
    newest = json.loads(await loops.type("flowli graph --workflow loops --newest 1 --json"))
    assert newest["executions"] == 1
    assert newest["nodes"][1]["times"] == 3, f"that is {often}"


async def test_a_workflow_that_never_ran_has_no_shape(loops: Stage) -> None:
    await loops.type("flowli graph --workflow nothing", code=1)
    await loops.type("flowli graph", code=2)
    await loops.type("flowli graph 019b --workflow loops", code=2)


async def test_children_are_listed_by_their_parent(loops: Stage) -> None:
    eid = await loops.fleet.engine.start("loops", 2)
    await loops.advance(3)
    for parent in (str(eid), str(eid)[:13]):
        found = json.loads(await loops.type(f"flowli list --parent {parent} --json"))
        assert [(one["workflow"], one["parent"]["eid"]) for one in found] == [("leaf", str(eid))]
    await loops.type("flowli list --parent ffff", code=1)
    assert json.loads(await loops.type(f"flowli list --parent {found[0]['eid']} --json")) == []


def test_ways_go_straight_through_joins() -> None:
    names = ("start", "root/a#1", "root/a#2", "root/b#1", "root/c#1", "end")
    nodes = [GraphNode(name, "", "step", NodeStatus.COMPLETED) for name in names]
    join = GraphNode("join-1", "", "join", NodeStatus.COMPLETED)
    edges = [
        *(GraphEdge("start", name, DONE) for name in names[1:3]),
        *(GraphEdge(name, "join-1", DONE) for name in names[1:3]),
        *(GraphEdge("join-1", name, DONE) for name in names[3:5]),
        *(GraphEdge(name, "end", OPEN) for name in names[3:5]),
    ]
    found = shape("w", [Graph("w", (*nodes, join), tuple(edges))] * 2)
    assert {(one.source, one.target): one.times for one in found.edges} == {
        ("start", "a"): 4,
        ("a", "b"): 2,
        ("a", "c"): 2,
    }
    assert "join" not in shape_mermaid(found)
