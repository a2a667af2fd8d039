"""``graph``: what an execution did as nodes and edges, inferred from its journal.

An edge leads from a frame to each frame that the code made next after it knew the outcome: the code of the one ran
after the other, and nothing lies between them. Frames that ran beside each other have no edge. Where several frames
lead to several others, a join stands between them, so that a fan-out of n costs n edges.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from itertools import accumulate

from flowli.domain.data import Data
from flowli.domain.entries import ExecutionCompleted
from flowli.domain.frames import FrameKind, FrameStatus
from flowli.domain.memo import Frame
from flowli.runtime.insight.inspection import Inspection

__all__ = ["EdgeStatus", "Graph", "GraphEdge", "GraphNode", "NodeStatus", "graph"]

START, END = "start", "end"


class NodeStatus(StrEnum):
    """Where a node stands; of several that hold the first one."""

    PAUSED = "paused"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    RETRYING = "retrying"
    WAITING = "waiting"
    RUNNING = "running"
    PENDING = "pending"


class EdgeStatus(StrEnum):
    """Whether the way was gone."""

    SELECTED = "selected"
    PENDING = "pending"


@dataclass(frozen=True, slots=True)
class GraphNode:
    """A frame, ``start``, ``end``, or a join.

    Attributes:
        id: the frame's id.
        kind: the kind of the frame, or ``start``, ``end``, ``join``.
        current: the execution stands here now.
    """

    id: str
    label: str
    kind: str
    status: NodeStatus
    current: bool = False


@dataclass(frozen=True, slots=True)
class GraphEdge:
    """A way from one node to another."""

    source: str
    target: str
    status: EdgeStatus


@dataclass(frozen=True, slots=True)
class Graph:
    """See the module's docstring."""

    title: str
    nodes: tuple[GraphNode, ...]
    edges: tuple[GraphEdge, ...]

    def to_data(self) -> dict[str, Data]:
        """As JSON."""
        return {
            "title": self.title,
            "nodes": [
                {
                    "id": one.id,
                    "label": one.label,
                    "kind": one.kind,
                    "status": str(one.status),
                    "current": one.current,
                }
                for one in self.nodes
            ],
            "edges": [{"source": one.source, "target": one.target, "status": str(one.status)} for one in self.edges],
        }


def graph(seen: Inspection) -> Graph:
    """The graph of one execution."""
    frames = sorted(
        (one for one in seen.fold.frames.values() if one.kind is not FrameKind.ROOT), key=lambda one: one.started_seq
    )
    halted = seen.fold.parked is not None
    waits = {wait.fid for wait in seen.waits}
    live = [frame for frame in frames if not frame.status.ended]
    nodes = [GraphNode(START, seen.execution.workflow, START, NodeStatus.COMPLETED)]
    nodes += [_node(frame, waits, halted) for frame in frames]
    order = _Order(frames)
    joins, edges = _edges(frames, order)
    ended = seen.fold.end is not None
    last = [one.fid for one in live] or order.before(seen.fold.seq + 1) or [START]
    status = EdgeStatus.SELECTED if ended else EdgeStatus.PENDING
    edges += [GraphEdge(one, END, status) for one in last]
    here = not live and not ended
    return Graph(
        f"{seen.execution.workflow} {seen.eid}",
        (*nodes, *joins, GraphNode(END, _end(seen), END, _end_status(seen, halted and here), here)),
        tuple(edges),
    )


def _node(frame: Frame, waits: Iterable[str], halted: bool) -> GraphNode:
    return GraphNode(frame.fid, frame.fid.removeprefix("root/"), str(frame.kind), *_status(frame, waits, halted))


def _status(frame: Frame, waits: Iterable[str], halted: bool) -> tuple[NodeStatus, bool]:
    if frame.status.ended:
        return NodeStatus(str(frame.status)), False
    if halted:
        return NodeStatus.PAUSED, True
    if frame.kind is FrameKind.STEP and frame.error is not None:
        return NodeStatus.RETRYING, True
    return NodeStatus.WAITING if frame.fid in waits else NodeStatus.RUNNING, True


def _edges(frames: list[Frame], order: _Order) -> tuple[list[GraphNode], list[GraphEdge]]:
    joins: list[GraphNode] = []
    edges: list[GraphEdge] = []
    groups: dict[tuple[str, ...], list[Frame]] = {}
    for frame in frames:
        groups.setdefault(tuple(order.before(frame.started_seq)) or (START,), []).append(frame)
    for sources, targets in groups.items():
        if len(sources) > 1 and len(targets) > 1:
            join = f"join-{len(joins) + 1}"
            joins.append(GraphNode(join, "", "join", NodeStatus.COMPLETED))
            edges += [GraphEdge(source, join, EdgeStatus.SELECTED) for source in sources]
            sources = (join,)
        edges += [GraphEdge(source, one.fid, EdgeStatus.SELECTED) for one in targets for source in sources]
    return joins, edges


class _Order:
    """Which frames lead directly to a place in the journal."""

    def __init__(self, frames: Iterable[Frame]) -> None:
        ended = [(one.outcome_seq, one.started_seq, one.fid) for one in frames if one.outcome_seq is not None]
        ended.sort()
        self._outcomes = [outcome for outcome, _, _ in ended]
        self._fids = [fid for _, _, fid in ended]
        self._latest = list(accumulate((start for _, start, _ in ended), max))

    def before(self, seq: int) -> list[str]:
        """Those whose outcome lies between the start of the last one that ended before ``seq``, and ``seq``."""
        end = bisect_left(self._outcomes, seq)
        return self._fids[bisect_right(self._outcomes, self._latest[end - 1], hi=end) : end] if end else []


def _end(seen: Inspection) -> str:
    return str(seen.fold.status) if seen.fold.end is not None else END


def _end_status(seen: Inspection, paused: bool) -> NodeStatus:
    if isinstance(seen.fold.end, ExecutionCompleted):
        return NodeStatus.COMPLETED
    if seen.fold.end is not None:
        return NodeStatus(str(FrameStatus(str(seen.fold.status))))
    return NodeStatus.PAUSED if paused else NodeStatus.PENDING
