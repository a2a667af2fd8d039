import { useState } from "react";
import { useRead } from "@/api/reads";
import type { Execution, Tree } from "@/api/types";
import { Empty } from "@/parts/Empty";
import { Loaded } from "@/parts/Loaded";
import { useNow } from "@/parts/useNow";
import { Axis } from "./Axis";
import { FrameRow } from "./FrameRow";
import classes from "./Frames.module.css";
import { rowsOf, spanOf } from "./rows";

interface Props {
  execution: Execution;
  live: boolean;
}

/** The frames below each other, each with a bar: when it ran, and for how long. */
export function Frames({ execution, live }: Props) {
  const tree = useRead<Tree>(`v1/executions/${execution.eid}/tree`, { live });
  const [open, setOpen] = useState<string | null>(null);
  const ticking = useNow();
  const now = execution.ended_at ? Date.parse(execution.ended_at) : ticking;
  return (
    <Loaded of={tree}>
      {({ frames }) => {
        if (frames.length === 0) return <Nothing />;
        const span = spanOf(frames, Date.parse(execution.created_at), now);
        return (
          <div className="card">
            <Axis span={span} />
            <ul className={classes.rows} aria-label="Frames">
              {rowsOf(frames, span, now).map((row) => (
                <FrameRow
                  key={row.node.fid}
                  row={row}
                  execution={execution}
                  open={open === row.node.fid}
                  onToggle={() => setOpen(open === row.node.fid ? null : row.node.fid)}
                />
              ))}
            </ul>
          </div>
        );
      }}
    </Loaded>
  );
}

function Nothing() {
  return (
    <div className="card">
      <Empty title="No frames yet">Nothing has been done so far: no worker has taken it, or its code awaits.</Empty>
    </div>
  );
}
