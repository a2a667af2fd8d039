import { ChevronRight } from "lucide-react";
import type { Execution } from "@/api/types";
import { Took } from "@/parts/Took";
import { duration } from "@/parts/times";
import { tone } from "@/parts/tone";
import { FrameDetail } from "./FrameDetail";
import classes from "./Frames.module.css";
import { KindIcon } from "./KindIcon";
import type { Row } from "./rows";

interface Props {
  row: Row;
  execution: Execution;
  open: boolean;
  onToggle: () => void;
}

export function FrameRow({ row, execution, open, onToggle }: Props) {
  const { node, depth, left, width } = row;
  const attempts = node.attempts.length;
  return (
    <li className={classes.row} data-open={open} data-fid={node.fid} data-status={node.status}>
      <button type="button" className={classes.line} aria-expanded={open} onClick={onToggle}>
        <span className={classes.name} style={{ paddingLeft: depth * 18 }}>
          <ChevronRight size={14} className={classes.arrow} aria-hidden />
          <KindIcon kind={node.kind} />
          <span className={classes.text}>{node.name.replace(/#1$/, "")}</span>
          {attempts > 1 && <span className={classes.attempts}>{attempts} attempts</span>}
        </span>
        <span className={classes.track} aria-hidden>
          <span
            className={classes.bar}
            data-tone={tone(node.status)}
            style={{ left: `${Math.min(left, 99.5)}%`, width: `${width}%` }}
          />
        </span>
        <span className={classes.state} data-tone={tone(node.status)}>
          {node.status}
        </span>
        <span className={classes.took}>
          {node.ended_at ? duration(node.took_s) : <Took from={node.started_at} to={null} />}
        </span>
      </button>
      {open && <FrameDetail node={node} execution={execution} />}
    </li>
  );
}
