import classes from "./chip.module.css";
import { type Tone, tone } from "./tone";

interface Props {
  status: string;
  as?: Tone;
}

export function StatusChip({ status, as }: Props) {
  return (
    <span className={`${classes.chip} ${classes[as ?? tone(status)]}`} data-status={status}>
      <span className={classes.dot} aria-hidden />
      {status}
    </span>
  );
}
