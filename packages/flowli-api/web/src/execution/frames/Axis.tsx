import { clock, duration } from "@/parts/times";
import classes from "./Frames.module.css";
import type { Span } from "./rows";

/** The scale above the bars. */
export function Axis({ span }: { span: Span }) {
  const seconds = (span.to - span.from) / 1000;
  return (
    <div className={classes.axis} aria-hidden>
      <span>{clock(new Date(span.from).toISOString())}</span>
      <span>+{duration(seconds / 2)}</span>
      <span>+{duration(seconds)}</span>
    </div>
  );
}
