"""Why an execution stands where it stands: read from the bucket, never written.

``inspect`` reads everything about one execution at one instant; all else is made of what it found.
"""

from __future__ import annotations

from flowli.runtime.insight.explain import Explainer, explain, plugin_explainers
from flowli.runtime.insight.explanation import Explanation, Moves, NextAction, Pointers
from flowli.runtime.insight.graph import EdgeStatus, Graph, GraphEdge, GraphNode, NodeStatus, graph
from flowli.runtime.insight.inspection import ChannelView, ChildView, Inspection, QueueView, StepView, Wait
from flowli.runtime.insight.known import KnownCode
from flowli.runtime.insight.mermaid import mermaid
from flowli.runtime.insight.read import inspect
from flowli.runtime.insight.reasons import Reason
from flowli.runtime.insight.shape import Shape, ShapeEdge, ShapeNode, shape, shape_mermaid
from flowli.runtime.insight.timeline import Moment, timeline
from flowli.runtime.insight.tree import AttemptNode, FrameNode, frame_tree

__all__ = [
    "AttemptNode",
    "ChannelView",
    "ChildView",
    "EdgeStatus",
    "Explainer",
    "Explanation",
    "FrameNode",
    "Graph",
    "GraphEdge",
    "GraphNode",
    "Inspection",
    "KnownCode",
    "Moment",
    "Moves",
    "NextAction",
    "NodeStatus",
    "Pointers",
    "QueueView",
    "Reason",
    "Shape",
    "ShapeEdge",
    "ShapeNode",
    "StepView",
    "Wait",
    "explain",
    "frame_tree",
    "graph",
    "inspect",
    "mermaid",
    "plugin_explainers",
    "shape",
    "shape_mermaid",
    "timeline",
]
