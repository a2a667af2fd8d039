import dagre from "@dagrejs/dagre";
import { type Edge, MarkerType, type Node, Position } from "@xyflow/react";
import type { Graph, GraphNode } from "@/api/types";

export const WIDTH = 200;
export const HEIGHT = 46;

export type GraphNodeData = GraphNode & Record<string, unknown>;

/** Places for nodes: from left to right, or downwards where there is little room. */
export function layout(graph: Graph, narrow: boolean): { nodes: Node<GraphNodeData>[]; edges: Edge[]; height: number } {
  const drawn = new dagre.graphlib.Graph();
  drawn.setGraph({ rankdir: narrow ? "TB" : "LR", nodesep: 26, ranksep: narrow ? 34 : 64 });
  drawn.setDefaultEdgeLabel(() => ({}));
  for (const one of graph.nodes) drawn.setNode(one.id, { width: WIDTH, height: HEIGHT });
  for (const one of graph.edges) drawn.setEdge(one.source, one.target);
  dagre.layout(drawn);
  const nodes = graph.nodes.map((one) => {
    const { x, y } = drawn.node(one.id);
    return {
      id: one.id,
      type: "frame",
      position: { x: x - WIDTH / 2, y: y - HEIGHT / 2 },
      sourcePosition: narrow ? Position.Bottom : Position.Right,
      targetPosition: narrow ? Position.Top : Position.Left,
      data: one as GraphNodeData,
    };
  });
  const edges = graph.edges.map((one) => ({
    id: `${one.source} ${one.target}`,
    source: one.source,
    target: one.target,
    markerEnd: { type: MarkerType.ArrowClosed },
    ...(one.status === "selected" ? {} : { style: { strokeDasharray: "5 5" } }),
  }));
  return { nodes, edges, height: drawn.graph().height ?? 0 };
}
