"""``shape``: what the recorded executions of a workflow did, laid over each other.

Frames of one name are one node, whichever turn of a loop made them, and a scope's frames stand under its name: so the
shape is that of the code, as far as it was ever gone through, with how often each way was gone.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from flowli.domain.data import Data
from flowli.runtime.insight.graph import EdgeStatus, Graph
from flowli.runtime.insight.mermaid import drawn

__all__ = ["Shape", "ShapeEdge", "ShapeNode", "shape", "shape_mermaid"]

_TURN = re.compile(r"#\d+(?=/|$)", re.ASCII)
_JOIN = "join"


@dataclass(frozen=True, slots=True)
class ShapeNode:
    """Frames of one name, ``start``, or ``end``.

    Attributes:
        id: their name, after those of their scopes.
        kind: the kind of the frames, or ``start``, ``end``.
        executions: how many executions had at least one.
        times: how many frames.
        statuses: how many stand where.
    """

    id: str
    kind: str
    executions: int
    times: int
    statuses: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ShapeEdge:
    """A way from one node to another, gone by ``executions`` executions, ``times`` times in all."""

    source: str
    target: str
    executions: int
    times: int


@dataclass(frozen=True, slots=True)
class Shape:
    """See the module's docstring.

    Attributes:
        executions: how many were laid over each other.
    """

    workflow: str
    executions: int
    nodes: tuple[ShapeNode, ...]
    edges: tuple[ShapeEdge, ...]

    def to_data(self) -> dict[str, Data]:
        """As JSON."""
        return {
            "workflow": self.workflow,
            "executions": self.executions,
            "nodes": [
                {
                    "id": one.id,
                    "kind": one.kind,
                    "executions": one.executions,
                    "times": one.times,
                    "statuses": dict(one.statuses),
                }
                for one in self.nodes
            ],
            "edges": [
                {"source": one.source, "target": one.target, "executions": one.executions, "times": one.times}
                for one in self.edges
            ],
        }


@dataclass(slots=True)
class _Laid:
    """What is counted. Nodes and edges stay in the order in which they were met."""

    kinds: dict[str, str] = field(default_factory=dict)
    had: Counter[str] = field(default_factory=Counter)
    times: Counter[str] = field(default_factory=Counter)
    statuses: dict[str, Counter[str]] = field(default_factory=dict)
    went: Counter[tuple[str, str]] = field(default_factory=Counter)
    ways: Counter[tuple[str, str]] = field(default_factory=Counter)

    def add(self, one: Graph) -> None:
        names = {node.id: _name(node.id) for node in one.nodes}
        for node in one.nodes:
            if node.kind != _JOIN:
                name = names[node.id]
                self.kinds.setdefault(name, node.kind)
                self.times[name] += 1
                self.statuses.setdefault(name, Counter())[str(node.status)] += 1
        self.had.update({names[node.id] for node in one.nodes if node.kind != _JOIN})
        ways = [(names[source], names[target]) for source, target in _direct(one)]
        self.ways.update(ways)
        self.went.update(set(ways))


def shape(workflow: str, graphs: Iterable[Graph]) -> Shape:
    """The shape that some executions of a workflow make."""
    laid, count = _Laid(), 0
    for one in graphs:
        laid.add(one)
        count += 1
    order = sorted(laid.kinds, key=lambda name: laid.kinds[name] == "end")
    nodes = [
        ShapeNode(name, laid.kinds[name], laid.had[name], laid.times[name], dict(sorted(laid.statuses[name].items())))
        for name in order
    ]
    edges = [ShapeEdge(*way, laid.went[way], times) for way, times in laid.ways.items()]
    return Shape(workflow, count, tuple(nodes), tuple(edges))


def shape_mermaid(found: Shape) -> str:
    """A Mermaid flowchart, whose edges say how often they were gone."""
    nodes = [(one.id, one.kind, _label(found, one)) for one in found.nodes]
    edges = [(one.source, one.target, str(one.times)) for one in found.edges]
    return drawn(nodes, edges)


def _label(found: Shape, node: ShapeNode) -> str:
    if node.kind == "start":
        return f"{found.workflow}\n{found.executions} executions"
    told = ", ".join(f"{many} {status}" for status, many in node.statuses.items())
    return f"{node.id}\n{told}"


def _name(fid: str) -> str:
    return _TURN.sub("", fid.removeprefix("root/"))


def _direct(one: Graph) -> list[tuple[str, str]]:
    """The ways that were gone, straight through joins; of those that are open nobody knows yet where they lead."""
    joins = {node.id for node in one.nodes if node.kind == _JOIN}
    gone = [edge for edge in one.edges if edge.status is EdgeStatus.SELECTED]
    into = {join: [edge.source for edge in gone if edge.target == join] for join in joins}
    ways: list[tuple[str, str]] = []
    for edge in gone:
        if edge.source in joins:
            # who waited for all of several came from each name among them once
            sources = {_name(source): source for source in into[edge.source]}
            ways += [(source, edge.target) for source in sources.values()]
        elif edge.target not in joins:
            ways.append((edge.source, edge.target))
    return ways
