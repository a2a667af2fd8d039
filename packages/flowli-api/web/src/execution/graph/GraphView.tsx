import "@xyflow/react/dist/style.css";
import { useComputedColorScheme } from "@mantine/core";
import { useMediaQuery } from "@mantine/hooks";
import { Background, Controls, ReactFlow } from "@xyflow/react";
import { useMemo } from "react";
import { useRead } from "@/api/reads";
import type { Graph } from "@/api/types";
import { Loaded } from "@/parts/Loaded";
import { GraphNodeBox } from "./GraphNodeBox";
import classes from "./GraphView.module.css";
import { layout } from "./layout";

/** Room above and below the nodes, in pixels. */
const AROUND = 200;

const TYPES = { frame: GraphNodeBox };

/** What it did as nodes and edges. The table of frames tells the same to whoever cannot see it. */
export default function GraphView({ eid, live }: { eid: string; live: boolean }) {
  const graph = useRead<Graph>(`v1/executions/${eid}/graph`, { live });
  return <Loaded of={graph}>{(found) => <Drawn graph={found} />}</Loaded>;
}

function Drawn({ graph }: { graph: Graph }) {
  const narrow = useMediaQuery("(max-width: 700px)");
  const { nodes, edges, height } = useMemo(() => layout(graph, narrow), [graph, narrow]);
  const scheme = useComputedColorScheme("light");
  return (
    <section className={`card ${classes.canvas}`} aria-label="Graph" style={{ height: height + AROUND }}>
      <ReactFlow
        nodes={nodes}
        edges={edges}
        nodeTypes={TYPES}
        colorMode={scheme}
        fitView
        fitViewOptions={{ minZoom: 0.7, maxZoom: 1, padding: 0.08 }}
        minZoom={0.1}
        nodesDraggable={false}
        nodesConnectable={false}
        edgesFocusable={false}
        nodesFocusable={false}
        preventScrolling={false}
      >
        <Background gap={20} />
        <Controls showInteractive={false} />
      </ReactFlow>
    </section>
  );
}
