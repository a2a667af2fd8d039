import { Handle, type Node, type NodeProps, Position } from "@xyflow/react";
import { tone } from "@/parts/tone";
import { KindIcon } from "../frames/KindIcon";
import classes from "./GraphView.module.css";
import type { GraphNodeData } from "./layout";

export function GraphNodeBox({ data, sourcePosition, targetPosition }: NodeProps<Node<GraphNodeData>>) {
  const edge = data.kind === "start" || data.kind === "end" || data.kind === "join";
  return (
    <div className={classes.node} data-tone={tone(data.status)} data-current={data.current} title={data.id}>
      <Handle
        type="target"
        position={targetPosition ?? Position.Left}
        className={classes.handle ?? ""}
        isConnectable={false}
      />
      {!edge && <KindIcon kind={data.kind} />}
      <span className={classes.label}>
        <b>{data.label.replace(/#1$/, "")}</b>
        <span>{data.status}</span>
      </span>
      <Handle
        type="source"
        position={sourcePosition ?? Position.Right}
        className={classes.handle ?? ""}
        isConnectable={false}
      />
    </div>
  );
}
