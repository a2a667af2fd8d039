"""A graph as the text of a Mermaid flowchart, which many viewers of Markdown draw."""

from __future__ import annotations

from collections.abc import Sequence

from flowli.runtime.insight.graph import EdgeStatus, Graph, GraphNode, NodeStatus

__all__ = ["drawn", "mermaid"]

_COLOURS = {
    NodeStatus.PAUSED: "fill:#fde68a,stroke:#b45309",
    NodeStatus.COMPLETED: "fill:#bbf7d0,stroke:#15803d",
    NodeStatus.FAILED: "fill:#fecaca,stroke:#b91c1c",
    NodeStatus.CANCELLED: "fill:#e5e7eb,stroke:#6b7280",
    NodeStatus.RETRYING: "fill:#fed7aa,stroke:#c2410c",
    NodeStatus.WAITING: "fill:#a5f3fc,stroke:#0e7490",
    NodeStatus.RUNNING: "fill:#bfdbfe,stroke:#1d4ed8",
    NodeStatus.PENDING: "fill:#f9fafb,stroke:#9ca3af",
}
_SHAPES = {
    "start": ("([", "])"),
    "end": ("([", "])"),
    "join": ("((", "))"),
    "receive": ("[/", "/]"),
    "sleep": ("{{", "}}"),
    "child": ("[[", "]]"),
}


def mermaid(graph: Graph) -> str:
    """The flowchart, from the top down; ways not gone yet are dotted."""
    names = {node.id: f"n{number}" for number, node in enumerate(graph.nodes)}
    lines = ["flowchart TD", *(f"    {names[node.id]}{_shown(node)}:::{node.status}" for node in graph.nodes)]
    for edge in graph.edges:
        arrow = "-->" if edge.status is EdgeStatus.SELECTED else "-.->"
        lines.append(f"    {names[edge.source]} {arrow} {names[edge.target]}")
    used = sorted({node.status for node in graph.nodes})
    lines += [f"    classDef {status} {_COLOURS[status]}" for status in used]
    return "\n".join(lines) + "\n"


def drawn(nodes: Sequence[tuple[str, str, str]], edges: Sequence[tuple[str, str, str]]) -> str:
    """A flowchart of nodes (id, kind, label of lines) and of edges (source, target, label)."""
    names = {node: f"n{number}" for number, (node, _, _) in enumerate(nodes)}
    lines = ["flowchart TD"]
    for node, kind, label in nodes:
        before, after = _SHAPES.get(kind, ("[", "]"))
        lines.append(f'    {names[node]}{before}"{"<br/>".join(map(_text, label.splitlines()))}"{after}')
    lines += [f'    {names[source]} -->|"{_text(label)}"| {names[target]}' for source, target, label in edges]
    return "\n".join(lines) + "\n"


def _shown(node: GraphNode) -> str:
    before, after = _SHAPES.get(node.kind, ("[", "]"))
    status = "" if node.kind in ("start", "end", "join") else f"<br/>{node.status}"
    return f'{before}"{_text(node.label)}{status}"{after}'


def _text(label: str) -> str:
    """Mermaid reads ``#`` as the beginning of an entity, and ends the text at a quote."""
    return label.replace("&", "&amp;").replace("#", "#35;").replace('"', "#quot;").replace("<", "&lt;") or " "
